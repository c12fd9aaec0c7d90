// agent/node_service.cpp - see node_service.h.
#include "agent/node_service.h"

#include <algorithm>

#include "agent/pod_plan.h"
#include "base/text.h"
#include "net/relay.h"

namespace muster::agent {

namespace {

class Service final : public NodeService {
public:
    Service(std::shared_ptr<Agent::State> state, Loop& caller)
        : state_(std::move(state)), caller_(caller) {
        net::ClientOptions options;
        // Nobody vouches for what a pod serves; kube-apiserver's proxy does not ask either.
        options.response_limit =
            1 << 20;                    // Of a refused upgrade; other answers pass by as they come.
        options.response_timeout = {};  // The client's own patience counts.
        options.reuse = net::ClientOptions::Reuse::repeatable_only;
        options.tls.verify = net::ClientTls::Verify::no;
        options.dial = [network = &state_->network](const std::string& host, int port) {
            return network->dial(host, port);
        };
        client_ = std::make_unique<net::Client>(state_->loop, caller_, std::move(options));
    }

    void logs(const net::Request& request, const std::string& ns, const std::string& pod,
              std::shared_ptr<net::Responder> responder) override {
        auto back = std::make_shared<WayBack>(caller_, std::move(responder));
        back->watch_client();
        on_agent(back, [=, state = state_] {
            const LogQuery query = log_query_of(request, state->loop.now());
            send_log(state, query, choose_container(*state, ns, pod, query.container), back);
        });
    }

    void stream(const net::Request& request, const std::string& verb, const std::string& ns,
                const std::string& pod, std::shared_ptr<net::Responder> responder) override {
        auto back = std::make_shared<WayBack>(caller_, std::move(responder));
        on_agent(back, [=, state = state_] {
            const std::string container(request.query_value("container"));
            if (verb == "portforward") {
                const PodWorker* worker = state->find_worker(ns, pod);
                if (!worker || worker->seen().ip.empty())
                    throw Error(Reason::not_found, "pod " + pod + " does not run");
                return run_port_forward(state, request, ns, worker->seen().ip, back);
            }
            const Chosen chosen = choose_container(*state, ns, pod, container);
            if (!chosen.running)
                throw Error(Reason::bad_request,
                            "container not found (\"" + chosen.container + "\" does not run)");
            if (verb == "exec") return run_exec(state, request, chosen, back);
            run_attach(state, request, chosen, back);
        });
    }

    void proxy(net::Request request, net::Target target,
               std::shared_ptr<net::Responder> responder) override {
        net::relay(*client_, std::move(target), std::move(request), responder);
    }

private:
    /// Runs on the agent's loop; what is thrown there is the answer.
    template <typename Function>
    void on_agent(std::shared_ptr<WayBack> back, Function function) {
        state_->loop.post([back, function] {
            try {
                function();
            } catch (const Error& error) {
                back->refuse(error.reason(), error.what());
            }
        });
    }

    std::shared_ptr<Agent::State> state_;
    Loop& caller_;
    std::unique_ptr<net::Client> client_;
};

}  // namespace

Chosen choose_container(Agent::State& state, const std::string& ns, const std::string& pod,
                        const std::string& container) {
    const PodWorker* worker = state.find_worker(ns, pod);
    if (!worker) throw Error(Reason::not_found, "pods \"" + pod + "\" not found on this node");
    Chosen chosen;
    chosen.ns = ns;
    chosen.uid = worker->uid();
    chosen.directory = state.machine.pod_directory(chosen.uid);
    chosen.container = container;
    const std::vector<ContainerSpec> specs = containers_of(worker->pod());
    std::vector<std::string> names;
    for (const ContainerSpec& spec : specs)
        if (spec.kind == ContainerKind::main) names.push_back(spec.name);
    if (chosen.container.empty())
        chosen.container =
            worker->pod()["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"]
                .text();
    if (chosen.container.empty()) {
        if (names.size() != 1)
            throw Error(Reason::bad_request, "a container name must be specified for pod " + pod +
                                                 ", choose one of: [" + join(names, " ") + "]");
        chosen.container = names[0];
    }
    const auto meant = std::find_if(specs.begin(), specs.end(), [&](const ContainerSpec& spec) {
        return spec.name == chosen.container;
    });
    if (meant == specs.end())
        throw Error(Reason::bad_request,
                    "container " + chosen.container + " is not valid for pod " + pod);
    chosen.has_terminal = (*meant->value)["tty"].boolean_or(false);
    chosen.has_input = (*meant->value)["stdin"].boolean_or(false);
    chosen.input_once = (*meant->value)["stdinOnce"].boolean_or(false);
    const auto seen = worker->seen().containers.find(chosen.container);
    if (seen != worker->seen().containers.end()) {
        chosen.attempt = seen->second.attempt;
        chosen.running = seen->second.phase == ContainerSeen::Phase::running;
        const std::string& problem = seen->second.image_problem;
        if (!problem.empty() && chosen.attempt < 0)
            throw Error(Reason::bad_request, "container \"" + chosen.container + "\" in pod \"" +
                                                 pod +
                                                 "\" is waiting to start: trying and failing to "
                                                 "pull image: " +
                                                 problem);
    }
    if (chosen.attempt < 0)
        throw Error(Reason::bad_request, "container \"" + chosen.container + "\" in pod \"" + pod +
                                             "\" is waiting to start: ContainerCreating");
    return chosen;
}

std::shared_ptr<void> take_stream(Agent::State& state, const std::string& ns, std::size_t count) {
    auto ticket = state.streams.take(ns, count);
    if (!ticket)
        throw Error(Reason::too_many_requests,
                    "the pods of namespace " + ns +
                        " have as many open streams (exec, attach, port-forward, logs) as this "
                        "server has files for; end some, or raise its limit of open files");
    return ticket;
}

std::string choose_protocol(const net::Request& request,
                            std::initializer_list<std::string_view> known) {
    const std::string_view offered = request.headers.get("Sec-WebSocket-Protocol");
    for (const std::string_view each : known)
        for (const std::string_view offer : split(offered, ','))
            if (trim(offer) == each) return std::string(each);
    return "";
}

std::unique_ptr<NodeService> Agent::make_service(Loop& caller) {
    return std::make_unique<Service>(state_, caller);
}

}  // namespace muster::agent

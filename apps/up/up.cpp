// apps/up/up.cpp - puts the parts of `muster up` together, each on its own thread, and takes them
// apart again.
#include "apps/up/up.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include <signal.h>

#include "agent/agent.h"
#include "agent/disk_keeper.h"
#include "agent/network.h"
#include "agent/node_keeper.h"
#include "apiserver/route.h"
#include "apiserver/server.h"
#include "apps/up/config.h"
#include "apps/up/controllers.h"
#include "apps/up/data_directory.h"
#include "apps/up/listen.h"
#include "apps/up/machine.h"
#include "apps/up/outside.h"
#include "apps/up/process.h"
#include "apps/up/process_metrics.h"
#include "apps/up/shared_users.h"
#include "apps/up/webhook_client.h"
#include "base/error.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text.h"
#include "control/runner.h"
#include "kube/in_process_transport.h"
#include "kube/kubeconfig.h"
#include "net/asio_loop.h"
#include "net/dial.h"
#include "net/secret.h"
#include "net/server.h"
#include "store/rocksdb_journal.h"
#include "store/store.h"

namespace muster::up {
namespace {

/// What changes in a burst is reconciled and decided in bundles: a sixth less work in all.
constexpr Duration control_bundle = milliseconds(5);
constexpr auto nodes_patience = std::chrono::seconds(15);
constexpr auto pods_patience = std::chrono::seconds(15);  // Beyond what pods are given to end.

Listen parse_address(const std::string& text) {
    const auto listen = parse_listen(text);
    if (!listen || listen->address.empty())
        throw Error(Reason::bad_request,
                    "--listen " + text + ": give ADDRESS:PORT, such as 127.0.0.1:6443");
    return *listen;
}

/// Everything a client may call this server.
net::Subject server_subject(const Listen& listen) {
    net::Subject subject;
    subject.common_name = "muster";
    subject.names = {"localhost",
                     "kubernetes",
                     "kubernetes.default",
                     "kubernetes.default.svc",
                     "kubernetes.default.svc.cluster.local",
                     machine_name()};
    subject.addresses = {"127.0.0.1", "::1", agent::api_service_address};
    if (listen.address == "0.0.0.0" || listen.address == "::") {
        for (std::string& address : machine_addresses())
            subject.addresses.push_back(std::move(address));
    } else {
        subject.addresses.push_back(listen.address);
    }
    return subject;
}

/// Runs a step on a loop's thread and waits for it.
void run_on(net::AsioLoop& loop, const std::function<void()>& step) {
    std::promise<void> done;
    loop.post([&] {
        step();
        done.set_value();
    });
    done.get_future().wait();
}

/// The agent behind the API server's idea of a node.
class NodeAdapter final : public apiserver::Node {
public:
    explicit NodeAdapter(std::unique_ptr<agent::NodeService> service)
        : service_(std::move(service)) {}
    void logs(const net::Request& request, const std::string& ns, const std::string& pod,
              std::shared_ptr<net::Responder> responder) override {
        service_->logs(request, ns, pod, std::move(responder));
    }
    void stream(const net::Request& request, const std::string& verb, const std::string& ns,
                const std::string& pod, std::shared_ptr<net::Responder> responder) override {
        service_->stream(request, verb, ns, pod, std::move(responder));
    }
    void proxy(net::Request request, net::Target target,
               std::shared_ptr<net::Responder> responder) override {
        service_->proxy(std::move(request), std::move(target), std::move(responder));
    }

private:
    std::unique_ptr<agent::NodeService> service_;
};

/// What can fail because of what the user said, done before anything is started.
struct Prepared {
    Config config;
    std::vector<agent::NodeDeclaration> nodes;
    Listen listen;
    int listening_fd = -1;
    Keys keys;
};

Prepared prepare(const UpOptions& options, const DataDirectory& data) {
    Prepared prepared;
    prepared.config = parse_config(
        options.config, options.config.empty() ? std::string() : read_file(options.config),
        options.feature_gates);
    for (const std::string& warning : prepared.config.queues.warnings)
        log_warning("config", warning);
    for (const agent::HostPath& each : prepared.config.host_paths)
        if (const auto problem = agent::host_path_problem(each.path, data.path()); !problem.empty())
            throw Error(Reason::bad_request, "--config " + options.config +
                                                 ": hostPaths: " + each.path + ": " + problem);
    for (const std::string& section : prepared.config.process.given)
        log_warning("config", section +
                                  ": without effect: `muster up` serves everything on "
                                  "--listen, with keys of its own");
    std::set<std::string> names;
    for (const std::string& text : options.nodes) {
        prepared.nodes.push_back(agent::parse_node_declaration(text));
        if (const std::string& name = prepared.nodes.back().name; !names.insert(name).second)
            throw Error(Reason::bad_request, "--node: node " + name + " is declared twice");
    }
    if (prepared.nodes.empty())
        prepared.nodes.push_back(agent::parse_node_declaration(machine_declaration()));
    const agent::DiskSpace disk = agent::disk_space_of(data.path());
    agent::share_disk(prepared.nodes, disk.size - agent::disk_reserve(disk));
    prepared.listen = parse_address(options.listen);
    prepared.listening_fd = net::open_listener(prepared.listen.address, prepared.listen.port);
    const Time now = net::AsioLoop().now();
    prepared.keys = load_keys(data, server_subject(prepared.listen), now);
    return prepared;
}

/// All parts of a running Muster. Each lives on the loop named in its comment; the loops are last
/// to go.
class Parts {
public:
    Parts(const UpOptions& options, const Prepared& prepared, DataDirectory& data,
          agent::Network& network);
    ~Parts();
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

    /// From nothing to serving, nodes included.
    void start();
    /// Ends the pods, then everything else. `end_pods` no: pods are left for the next start.
    enum class Pods { end, leave };
    void stop(Pods pods);

private:
    void make_server();
    void make_controllers();
    void make_agent();
    void write_kubeconfig() const;
    void wait_for_nodes();

    const UpOptions& options_;
    const Prepared& prepared_;
    DataDirectory& data_;
    agent::Network& network_;
    net::AsioLoop state_loop_;  // Store and API server.
    net::AsioLoop control_loop_;
    net::AsioLoop agent_loop_;
    std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();  // Any thread.
    std::unique_ptr<store::Store> store_;
    std::unique_ptr<WebhookClient> webhooks_;  // state_loop_
    std::unique_ptr<apiserver::Server> server_;
    std::unique_ptr<net::Server> front_;  // Has threads of its own; requests go to state_loop_.
    std::unique_ptr<kube::InProcessTransport> control_transport_;  // control_loop_
    std::unique_ptr<control::Runner> runner_;                      // control_loop_
    std::unique_ptr<Outside> outside_;                             // control_loop_
    std::unique_ptr<kube::InProcessTransport> agent_transport_;    // agent_loop_
    std::unique_ptr<agent::Agent> agent_;                          // agent_loop_
    std::unique_ptr<NodeAdapter> node_;                            // state_loop_
    bool started_ = false;
};

Parts::Parts(const UpOptions& options, const Prepared& prepared, DataDirectory& data,
             agent::Network& network)
    : options_(options), prepared_(prepared), data_(data), network_(network) {
    make_server();
    make_controllers();
    make_agent();
    write_kubeconfig();
}

Parts::~Parts() {
    if (started_) stop(Pods::leave);
}

void Parts::make_server() {
    const Keys& keys = prepared_.keys;
    net::ServerOptions front;
    front.listening_fd = prepared_.listening_fd;
    front.tls = net::ServerTls{keys.server.certificate_pem, keys.server.key_pem,
                               keys.authority.certificate_pem};
    front.streamed_body = apiserver::passes_body_on;
    // Half of the descriptors are left for pods, their networks and the store.
    front.connection_limit = std::min(front.connection_limit, raise_descriptor_limit() / 2);
    front.anonymous_limit = std::min(front.anonymous_limit, front.connection_limit * 2 / 5);
    front.gate = [this](net::Request head, const std::function<void(net::Verdict)>& decided) {
        server_->admit(std::move(head), decided);
    };
    front_ = std::make_unique<net::Server>(
        std::move(front), state_loop_,
        [this](net::Request request, std::shared_ptr<net::Responder> responder) {
            server_->handle(std::move(request), std::move(responder));
        });
    store_ = std::make_unique<store::Store>(
        std::make_unique<store::RocksdbJournal>(data_.store_path(), state_loop_));
    apiserver::Options options;
    options.random = Random(net::secret_seed());
    options.service_account_key_pem = keys.token_signing_key;
    options.certificate_authority_pem = keys.authority.certificate_pem;
    options.secure_port = front_->port();
    options.metrics = metrics_;
    options.pod_security = prepared_.config.pod_security;
    options.event_bounds = prepared_.config.event_bounds;
    options.object_bounds.bytes_per_namespace =
        prepared_.config.bytes_per_namespace.value_or(usual_bytes_per_namespace());
    add_process_metrics(metrics_);
    server_ = std::make_unique<apiserver::Server>(*store_, state_loop_, std::move(options));
    if (network_.users().kind == agent::PodUsers::shared && !options_.allow_shared_uid) {
        server_->add_admission(refuse_pods_of_others());
        server_->add_connection_check(&refuse_connections_of_others);
    }
    webhooks_ = std::make_unique<WebhookClient>(
        state_loop_, WebhookClient::Ways{[this](const std::string& host, int port) {
                                             return network_.dial(host, port);
                                         },
                                         &net::find_address});
    server_->set_webhook_caller(webhooks_.get());
    front_->add_listener(network_.listen(agent::api_service_address, 443));
}

void Parts::make_controllers() {
    const net::Handler handler = [this](net::Request request,
                                        std::shared_ptr<net::Responder> responder) {
        server_->handle(std::move(request), std::move(responder));
    };
    control_transport_ = std::make_unique<kube::InProcessTransport>(handler, state_loop_,
                                                                    control_loop_, "controllers");
    runner_ = std::make_unique<control::Runner>(
        *control_transport_, control_loop_,
        [this](const control::Call& call, auto done) { outside_->ask(call, std::move(done)); });
    outside_ = std::make_unique<Outside>(
        control_loop_,
        [this](const std::string& host, int port) { return network_.dial(host, port); },
        [this]() -> const kube::Cache& { return runner_->seen(); });
    control::ControlPlaneOptions options;
    options.cluster.certificate_authority_pem = prepared_.keys.authority.certificate_pem;
    options.queues = prepared_.config.queues;
    options.metrics = metrics_;
    options.stopwatch = steady_time;
    using control::queue::Controllers;
    add_controllers(*runner_, control_loop_, *server_, state_loop_, options,
                    options_.api_only ? Controllers::none : Controllers::run);
}

void Parts::make_agent() {
    const net::Handler handler = [this](net::Request request,
                                        std::shared_ptr<net::Responder> responder) {
        server_->handle(std::move(request), std::move(responder));
    };
    agent_transport_ =
        std::make_unique<kube::InProcessTransport>(handler, state_loop_, agent_loop_, "agent");
    agent::Options options;
    options.data_directory = data_.path();
    options.nodes = prepared_.nodes;
    options.certificate_authority_pem = prepared_.keys.authority.certificate_pem;
    options.network_renewed = [this] {
        front_->add_listener(network_.listen(agent::api_service_address, 443));
    };
    if (const char* python = std::getenv("MUSTER_PYTHON_HOME"); python && *python != '\0') {
        const auto ray = agent::ray_images(python);
        options.images.insert(options.images.begin(), ray.begin(), ray.end());
    }
    options.host_paths = prepared_.config.host_paths;
    options.pids_limit = prepared_.config.pids_limit.value_or(options.pids_limit);
    const auto& configured = prepared_.config.images;
    options.images.insert(options.images.begin(), configured.begin(), configured.end());
    agent_ = std::make_unique<agent::Agent>(std::move(options), network_, agent_loop_,
                                            *agent_transport_);
    node_ = std::make_unique<NodeAdapter>(agent_->make_service(state_loop_));
    server_->set_node(node_.get());
}

void Parts::write_kubeconfig() const {
    const Listen& listen = prepared_.listen;
    const Keys& keys = prepared_.keys;
    kube::Connection connection;
    const bool any = listen.address == "0.0.0.0" || listen.address == "::";
    const bool six = listen.address.find(':') != std::string::npos && !any;
    const std::string host = any ? "127.0.0.1" : six ? "[" + listen.address + "]" : listen.address;
    connection.server = "https://" + host + ":" + std::to_string(front_->port());
    connection.tls.authority_pem = keys.authority.certificate_pem;
    connection.tls.certificate_pem = keys.admin.certificate_pem;
    connection.tls.key_pem = keys.admin.key_pem;
    const std::string text = kube::kubeconfig_text(connection, "muster", "kubernetes-admin");
    // Also in the data folder, where the other verbs look for it.
    write_secret_file(data_.kubeconfig_path(), text);
    if (!options_.kubeconfig.empty()) write_secret_file(options_.kubeconfig, text);
}

void Parts::start() {
    std::promise<void> bootstrapped;
    state_loop_.post([this, &bootstrapped] {
        try {
            server_->bootstrap([&bootstrapped] { bootstrapped.set_value(); });
        } catch (const std::exception&) {
            bootstrapped.set_exception(std::current_exception());
        }
    });
    state_loop_.start("state");
    try {
        bootstrapped.get_future().get();
    } catch (const std::exception&) {
        state_loop_.stop();
        throw;
    }
    started_ = true;
    control_loop_.gather(control_bundle);
    control_loop_.start("control");
    agent_loop_.start("agent");
    if (options_.api_only) return;
    control_loop_.post([this] { runner_->start(); });
    agent_loop_.post([this] { agent_->start(); });
    wait_for_nodes();
}

/// Until each declared node is there and Ready; then `muster get nodes` shows them at once.
void Parts::wait_for_nodes() {
    const auto until = std::chrono::steady_clock::now() + nodes_patience;
    std::size_t ready = 0;
    while (ready < prepared_.nodes.size() && std::chrono::steady_clock::now() < until) {
        run_on(control_loop_, [&] {
            ready = 0;
            for (const agent::NodeDeclaration& declared : prepared_.nodes) {
                const auto node = runner_->seen().find({{"", "nodes"}, "", declared.name});
                if (!node) continue;
                for (const api::Value& condition : node->value["status"]["conditions"].items()) {
                    if (condition["type"].text_or("") == "Ready" &&
                        condition["status"].text_or("") == "True")
                        ++ready;
                }
            }
        });
        if (ready < prepared_.nodes.size())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (ready < prepared_.nodes.size())
        log_warning("up", "not all nodes are ready yet; serving without them");
}

void Parts::stop(Pods pods) {
    started_ = false;
    if (pods == Pods::end) {
        auto ended = std::make_shared<std::promise<void>>();
        const std::int64_t grace = options_.shutdown_grace;
        agent_loop_.post([this, ended, grace] {
            agent_->end_all(seconds(grace), [ended] { ended->set_value(); });
        });
        const auto patience = pods_patience + std::chrono::seconds(grace);
        if (ended->get_future().wait_for(patience) != std::future_status::ready)
            log_warning("up", "some pods have not ended in time; the next start clears them up");
    }
    run_on(control_loop_, [this] { runner_->stop(); });
    run_on(agent_loop_, [this] { agent_->stop(); });
    run_on(state_loop_, [this] {
        server_->set_node(nullptr);
        node_ = nullptr;
        server_->stop();
    });
    front_->stop();
    run_on(agent_loop_, [this] {
        agent_ = nullptr;
        agent_transport_ = nullptr;
    });
    run_on(control_loop_, [this] {
        runner_ = nullptr;
        outside_ = nullptr;
        control_transport_ = nullptr;
    });
    run_on(state_loop_, [this] {
        server_ = nullptr;
        webhooks_ = nullptr;
    });
    agent_loop_.stop();
    control_loop_.stop();
    // The journal writes what is still under way before it goes.
    run_on(state_loop_, [this] { store_ = nullptr; });
    state_loop_.stop();
}

int wait_for_signal(const sigset_t& signals) {
    int received = 0;
    while (sigwait(&signals, &received) != 0) {
    }
    return received;
}

}  // namespace

int run_up(const UpOptions& options) {
    DataDirectory data(options.data.empty() ? usual_data_directory() : options.data);
    if (const std::string lost = explain_lost_store(data.path()); !lost.empty())
        throw Error(Reason::invalid, lost);
    const Prepared prepared = prepare(options, data);
    // Before there are threads: it makes namespaces.
    const std::unique_ptr<agent::Network> network = agent::Network::open(data.path());
    const sigset_t signals = take_signals();
    if (network->users().kind == agent::PodUsers::shared)
        log_warning("up", network->users().sentence);
    Parts parts(options, prepared, data, *network);
    parts.start();
    std::printf("ready\n");
    std::fflush(stdout);
    log_info("up", "serving; stop with Ctrl-C");
    wait_for_signal(signals);
    log_info("up", "stopping: ending pods (a second signal leaves them to the next start)");
    std::thread([signals] {
        wait_for_signal(signals);
        std::_Exit(130);
    }).detach();
    parts.stop(options.api_only ? Parts::Pods::leave : Parts::Pods::end);
    network->end();
    return 0;
}

}  // namespace muster::up

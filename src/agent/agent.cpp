// agent/agent.cpp - see agent.h.
#include "agent/agent.h"

#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

#include "agent/agent_state.h"
#include "base/error.h"
#include "base/log.h"

namespace muster::agent {

namespace {

constexpr Duration kNetworkRetry = seconds(2);

std::string home_folder() {
    if (const char* home = std::getenv("HOME"); home && *home == '/') return home;
    const passwd* user = ::getpwuid(::getuid());
    return user && user->pw_dir ? user->pw_dir : "/root";
}

}  // namespace

Agent::State::State(Options its_options, Network& its_network, net::AsioLoop& its_loop,
                    kube::Transport& its_transport)
    : options(std::move(its_options)),
      network(its_network),
      loop(its_loop),
      transport(its_transport),
      machine(network, loop),
      nodes(options, network, loop, transport),
      events(loop, transport),
      names([this](const std::string& ns, const std::string& service) {
          forward_table.changed(ns, service);
      }),
      forward_table(names),
      gpus(options.nodes),
      host{loop,
           transport,
           machine,
           options,
           home_folder(),
           network.users().kind,
           gpus,
           [this](const std::string& ns) { return names.services_in(ns); },
           [this](const std::string& node) { return nodes.address_of(node); },
           [this](const std::string& ns) { return addresses.take(ns); },
           [this](const std::string& ip) { addresses.free(ip); },
           [this](const api::Value& pod, const PodEvent& event) { events.record(pod, event); },
           [this](const std::string& uid) { worker_over(uid); }} {}

void Agent::State::start() {
    find_old_pods();
    dns = std::make_unique<DnsServer>(network, loop, names);
    // Its thread ends before the addresses do.
    forwarder = std::make_unique<Forwarder>(
        network, [this](const std::string& ip) { return addresses.namespace_of(ip); });
    nodes.start();
    watch_network();
    watch();
    disk = std::make_unique<DiskKeeper>(
        network, loop, [this] { return running_pods(); }, machine.removals(),
        [this](const std::string& uid, const Verdict& verdict) {
            const auto worker = workers.find(uid);
            if (worker != workers.end()) worker->second->evict(verdict);
        });
    disk->start();
}

std::vector<DiskKeeper::Pod> Agent::State::running_pods() const {
    std::vector<DiskKeeper::Pod> pods;
    for (const auto& [uid, worker] : workers)
        if (const PodSeen& seen = worker->seen();
            seen.sandbox == PodSeen::Sandbox::up || seen.sandbox == PodSeen::Sandbox::ending)
            pods.push_back({uid, machine.pod_directory(uid), worker->pod(),
                            seen.sandbox == PodSeen::Sandbox::ending ||
                                (seen.verdict && seen.verdict->reason == "Evicted")});
    return pods;
}

void Agent::State::watch_network() {
    network_watch = loop.watch(network.sign_of_life(), {.read = true, .write = false},
                               [this](net::AsioLoop::Interest) { network_lost(); });
}

/// The process that held the pods' network has ended, and all pods with it: they tell of that
/// themselves.
void Agent::State::network_lost() {
    loop.unwatch(*network_watch);
    network_watch.reset();
    log_warning("agent",
                "the process that held the pods' network was ended from outside: pods are "
                "started again in a new one");
    make_network_again();
}

/// The start decided which people may run pods. A new holder that has no users for pods is refused:
/// everybody's pods would run as Muster's own user.
void Agent::State::demand_users() {
    const bool has_less = host.users == PodUsers::own && network.users().kind == PodUsers::shared;
    if (!has_less) return;
    const std::string why = network.users().sentence;
    network.end();
    throw Error(Reason::forbidden, "pods had users of their own, and now " + why);
}

/// Waits some milliseconds for the new holder; without it there is nothing else to do.
void Agent::State::make_network_again() {
    if (stopped) return;
    try {
        network.reopen();
        demand_users();
        for (const auto& [uid, worker] : workers)
            worker->holder_changed();
        dns.reset();
        dns = std::make_unique<DnsServer>(network, loop, names);
        forwarder->renew();
        options.network_renewed();
        watch_network();
    } catch (const Error& error) {
        log_warning("agent", std::string("the pods' network cannot be made: ") + error.what());
        loop.after(kNetworkRetry, [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->make_network_again();
        });
    }
}

void Agent::State::find_old_pods() {
    MachineEvents told;
    told.run = [this](const std::string& uid, const RunReport& report) { take_run(uid, report); };
    told.lost = [this](const std::string& uid, const std::string& why) {
        const auto worker = workers.find(uid);
        if (worker != workers.end()) return worker->second->sandbox_lost(why);
        const auto pod = found.find(uid);
        if (pod != found.end()) pod->second.alive = false;
    };
    for (FoundPod& pod : machine.find_pods(std::move(told))) {
        if (pod.alive) addresses.note(pod.sandbox["ip"].text(), pod.sandbox["namespace"].text());
        found.emplace(pod.uid, std::move(pod));
    }
    if (!found.empty())
        log_info("agent", "found " + std::to_string(found.size()) + " pods of an earlier life");
}

void Agent::State::watch() {
    const auto add = [this](kube::Target target, kube::WatchEvents told) {
        watchers.push_back(
            std::make_unique<kube::Watcher>(transport, loop, std::move(target), std::move(told)));
        watchers.back()->start();
    };
    add({{"", "services"}, "v1"}, {[this](const kube::ObjectPtr& service) {
                                       names.put_service(service);
                                       names_changed();
                                   },
                                   [this](const api::Key& key, std::int64_t) {
                                       names.remove_service(key);
                                       names_changed();
                                   },
                                   [] {}});
    add({{"discovery.k8s.io", "endpointslices"}, "v1"}, {[this](const kube::ObjectPtr& slice) {
                                                             names.put_slice(slice);
                                                             names_changed();
                                                         },
                                                         [this](const api::Key& key, std::int64_t) {
                                                             names.remove_slice(key);
                                                             names_changed();
                                                         },
                                                         [] {}});
    add({{"", "nodes"}, "v1"}, {[this](const kube::ObjectPtr& node) {
                                    if (!stopped) nodes.observe(*node);
                                },
                                [](const api::Key&, std::int64_t) {}, [] {}});
    add({{"", "pods"}, "v1"}, {[this](const kube::ObjectPtr& pod) { take_pod(pod); },
                               [this](const api::Key& key, std::int64_t) { drop_pod(key); },
                               [this] {
                                   tell_strangers();
                                   end_orphans();
                               }});
}

void Agent::State::take_pod(const kube::ObjectPtr& pod) {
    const std::string node = pod->value["spec"]["nodeName"].text();
    if (!stopped && !told_strangers && !node.empty() && !nodes.is_ours(node)) ++strangers[node];
    if (stopped || !nodes.is_ours(node)) return;
    std::string& uid = uids[{pod->key.ns, pod->key.name}];
    if (uid != pod->uid) {
        // The same name, another pod: what ran under the name before is ended.
        const auto old = workers.find(uid);
        if (old != workers.end()) old->second->object_gone();
        uid = pod->uid;
    }
    const auto known = workers.find(pod->uid);
    if (known != workers.end()) return known->second->update(pod);
    const auto old = found.extract(pod->uid);
    auto& worker = workers[pod->uid];
    worker = old.empty() ? std::make_unique<PodWorker>(host, pod)
                         : std::make_unique<PodWorker>(host, pod, old.mapped());
    worker->step();
}

void Agent::State::drop_pod(const api::Key& key) {
    const auto uid = uids.find({key.ns, key.name});
    if (uid == uids.end()) return;
    const auto worker = workers.find(uid->second);
    uids.erase(uid);
    if (worker != workers.end()) worker->second->object_gone();
}

/// Pods of nodes that an earlier start had declared, and this one has not: nobody runs or ends
/// them.
void Agent::State::tell_strangers() {
    told_strangers = true;
    for (const auto& [node, pods] : strangers)
        log_warning("agent", "node " + node + " is not declared any more: its " +
                                 std::to_string(pods) + (pods == 1 ? " pod stays" : " pods stay") +
                                 " as they are, without processes; start muster up with --node " +
                                 node +
                                 ":... again, or remove them with `kubectl delete pod NAME "
                                 "--force` and the node with `kubectl delete node " +
                                 node + "`");
    strangers.clear();
}

/// Pods of an earlier life whose objects are gone.
void Agent::State::end_orphans() {
    for (auto& [uid, pod] : found) {
        const std::string ip = pod.sandbox["ip"].text();
        machine.end_sandbox(uid, [this, orphan = uid, ip] {
            addresses.free(ip);
            machine.forget(orphan);
        });
    }
    found.clear();
}

void Agent::State::take_run(const std::string& uid, const RunReport& report) {
    const auto worker = workers.find(uid);
    if (worker != workers.end()) return worker->second->take(report);
    const auto pod = found.find(uid);
    if (pod == found.end()) return;
    for (RunReport& known : pod->second.runs)
        if (known.container == report.container && known.attempt == report.attempt) {
            known = report;
            return;
        }
    pod->second.runs.push_back(report);
}

/// Many changes come at once, and are passed on piece by piece.
void Agent::State::names_changed() {
    if (names_posted) return;
    names_posted = true;
    loop.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->names_posted = false;
        if (!self->forwarder) return;
        ForwardTable::Piece piece = self->forward_table.take();
        for (const ServiceOver& over : piece.over)
            self->tell_left_out(over);
        if (!piece.services.empty()) self->forwarder->set(std::move(piece.services));
        if (self->forward_table.waits()) self->names_changed();
    });
}

void Agent::State::tell_left_out(const ServiceOver& over) {
    const kube::ObjectPtr service = names.service(over.ns, over.name);
    if (!service) return;
    const api::Value about =
        api::Value::object({{"kind", "Service"}, {"metadata", service->value["metadata"]}});
    events.record(about, {"Warning", "PortsNotServed",
                          std::to_string(over.left_out) +
                              " ports refuse connections: the services of a namespace may have " +
                              std::to_string(kAddressesMax) +
                              " ports together; remove others, or use clusterIP: None"});
}

void Agent::State::worker_over(const std::string& uid) {
    // Called by the worker itself.
    loop.post([weak = weak_from_this(), uid] {
        const auto self = weak.lock();
        if (!self) return;
        self->workers.erase(uid);
        self->machine.forget(uid);
    });
}

PodWorker* Agent::State::find_worker(const std::string& ns, const std::string& pod) {
    const auto uid = uids.find({ns, pod});
    if (uid == uids.end()) return nullptr;
    const auto worker = workers.find(uid->second);
    return worker == workers.end() ? nullptr : worker->second.get();
}

Agent::Agent(Options options, Network& network, net::AsioLoop& loop, kube::Transport& transport)
    : state_(std::make_shared<State>(std::move(options), network, loop, transport)) {}

Agent::~Agent() {
    stop();
}

void Agent::start() {
    state_->start();
}

void Agent::stop() {
    state_->stopped = true;
    if (state_->network_watch) state_->loop.unwatch(*state_->network_watch);
    state_->network_watch.reset();
    state_->watchers.clear();
    state_->disk.reset();
    state_->workers.clear();
    state_->machine.let_go();
    state_->dns.reset();
    state_->forwarder.reset();
}

void Agent::end_all(Duration most, std::function<void()> done) {
    State& state = *state_;
    state.stopped = true;
    state.watchers.clear();
    if (state.disk) state.disk->stop();
    std::vector<PodWorker*> running;  // Or about to run, or being ended.
    for (const auto& [uid, worker] : state.workers) {
        const PodSeen::Sandbox sandbox = worker->seen().sandbox;
        if (sandbox != PodSeen::Sandbox::none && sandbox != PodSeen::Sandbox::gone)
            running.push_back(worker.get());
    }
    state.ending = static_cast<int>(running.size());
    if (running.empty()) return state.loop.post(std::move(done));
    log_info("agent", "waiting for " + std::to_string(running.size()) +
                          (running.size() == 1 ? " pod" : " pods") + " to end, at most " +
                          go_duration(most));
    for (PodWorker* worker : running)
        worker->shut_down(most, [self = state_, done] {
            if (--self->ending == 0) done();
        });
}

}  // namespace muster::agent

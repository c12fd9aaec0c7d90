// agent/agent_state.h - the agent's parts, joined; shared by agent.cpp and node_service.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/disk_keeper.h"
#include "agent/dns_server.h"
#include "agent/event_writer.h"
#include "agent/forward_table.h"
#include "agent/forwarder.h"
#include "agent/gpus.h"
#include "agent/local_machine.h"
#include "agent/names.h"
#include "agent/node_keeper.h"
#include "agent/pod_addresses.h"
#include "agent/pod_worker.h"
#include "agent/shares.h"
#include "kube/watcher.h"

namespace muster::agent {

struct Agent::State : std::enable_shared_from_this<Agent::State> {
    State(Options its_options, Network& its_network, net::AsioLoop& its_loop,
          kube::Transport& its_transport);

    void start();
    void find_old_pods();
    void watch();
    void take_pod(const kube::ObjectPtr& pod);
    void drop_pod(const api::Key& key);
    void end_orphans();
    void take_run(const std::string& uid, const RunReport& report);
    void names_changed();
    void tell_left_out(const ServiceOver& over);
    std::vector<DiskKeeper::Pod> running_pods() const;
    void watch_network();
    void network_lost();
    void make_network_again();
    void demand_users();
    void tell_strangers();
    void worker_over(const std::string& uid);
    PodWorker* find_worker(const std::string& ns, const std::string& pod);

    Options options;
    Network& network;
    net::AsioLoop& loop;
    kube::Transport& transport;
    LocalMachine machine;
    NodeKeeper nodes;
    EventWriter events;
    NameTable names;
    ForwardTable forward_table;
    GpuTable gpus;
    PodAddresses addresses;
    /// Descriptors of exec, attach, port-forward and logs that are followed.
    Shares streams{descriptors_max() / 8};
    Shares log_searches{16};  // For the last lines of a log; each reads 1 MiB in its turn.
    std::unique_ptr<DnsServer> dns;
    std::unique_ptr<Forwarder> forwarder;
    std::unique_ptr<DiskKeeper> disk;
    PodHost host;
    std::map<std::string, std::unique_ptr<PodWorker>> workers;  // By uid.
    std::map<std::pair<std::string, std::string>, std::string> uids;
    std::map<std::string, FoundPod> found;  // Not yet claimed by an object.
    std::vector<std::unique_ptr<kube::Watcher>> watchers;
    std::map<std::string, int> strangers;  // Pods of nodes that are not declared, until told.
    std::optional<net::AsioLoop::WatchId> network_watch;
    bool told_strangers = false;
    bool names_posted = false;
    int ending = 0;
    bool stopped = false;
};

}  // namespace muster::agent

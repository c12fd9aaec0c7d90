// control/cluster/node_lifecycle.h - which nodes are alive, and what becomes of the pods of those
// that are not.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/cluster/cluster.h"
#include "control/controller.h"

namespace muster::control::cluster {

/// Marks nodes whose Lease (kube-node-lease/NAME) is not renewed any more as Unknown, and keeps the
/// taints not-ready, unreachable and unschedulable in step with their conditions. A node that never
/// had one was declared by hand: its status is what somebody wrote, and stays.
///
/// What counts is when a renewal was seen, not what time the lease names: after a restart or a jump
/// of the clock each node has the whole grace again. While this process stood still, nobody could
/// be heard: that time counts for no node, once for each heartbeat. (A plan may come late for other
/// reasons too, such as writes that fail; a dead node is found all the same.)
class NodeLifecycle : public Planner {
public:
    explicit NodeLifecycle(Duration grace) : grace_(grace) {}

    std::string name() const override { return "node-controller"; }
    std::vector<std::pair<api::GroupResource, std::string>> watches() const override;
    void observe(const kube::Object* before, const kube::Object* after) override;
    void failed(const Write& write) override;
    Reconciled plan(const kube::Cache& seen, Time now) override;

private:
    struct Heartbeat {
        std::string text;  // The lease's renewTime.
        Time seen_at;
        bool is_forgiven;  // A pause was left out of account since; that happens once.
    };

    /// Absent: there has never been one.
    std::optional<Duration> since_heartbeat(const kube::Cache& seen, const std::string& node,
                                            Time now);

    void forgive_own_pause(Time now);

    Duration grace_;
    Time planned_at_;  // The plan before.
    std::map<std::string, Heartbeat> heartbeats_;
    std::set<std::string> dirty_;          // Nodes.
    std::map<std::string, Time> look_at_;  // Node -> when its grace ends.
};

/// Deletes pods from nodes with NoExecute taints that they do not tolerate (any more). The two
/// taints of lost nodes are tolerated for 300 s by pods that do not say otherwise.
Controller taint_eviction_controller();

/// Removes what nobody else would: pods bound to nodes that are gone (after a quarantine, and when
/// the server says so too), terminating pods that never had a node, and the oldest finished pods
/// beyond a limit.
class PodCollector : public Planner {
public:
    explicit PodCollector(const ClusterOptions& options)
        : quarantine_(options.lost_node_quarantine), finished_max_(options.finished_pods_max) {}

    std::string name() const override { return "pod-garbage-collector"; }
    std::vector<std::pair<api::GroupResource, std::string>> watches() const override;
    void observe(const kube::Object* before, const kube::Object* after) override;
    void failed(const Write& write) override;
    void looked(const api::Key& key, const kube::Object* found) override;
    Reconciled plan(const kube::Cache& seen, Time now) override;

private:
    /// A node that pods name and that is not seen.
    struct Missing {
        Time since;
        bool asked = false;
        bool confirmed = false;
    };

    void forget(const api::Key& pod);
    void collect_finished(const kube::Cache& seen, Reconciled& result);
    void collect_unplaced(const kube::Cache& seen, Time now, Reconciled& result);
    void collect_lost(const kube::Cache& seen, Time now, Reconciled& result);
    void remove(const kube::Object& pod, const std::string& why, Time now, Reconciled& result);

    Duration quarantine_;
    std::int64_t finished_max_;
    std::map<std::string, std::set<api::Key>> by_node_;
    std::map<api::Key, std::string> node_of_;
    std::set<api::Key> unplaced_;                          // Terminating, without node.
    std::set<std::pair<std::string, api::Key>> finished_;  // By creation time.
    std::map<api::Key, std::string> finished_at_;
    std::map<std::string, Missing> missing_;
    std::set<api::Key> removing_;
};

}  // namespace muster::control::cluster

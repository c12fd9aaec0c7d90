// decide/change.h - everything that can happen to the state, one plain struct each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "decide/place/pod.h"
#include "decide/workload.h"

namespace muster::decide {

// Each `...Set` creates or replaces the whole thing; setting what is already so changes nothing.

struct QueueSet {
    ClusterQueue queue;
};
struct QueueRemoved {
    std::string name;
};
struct CohortSet {
    Cohort cohort;
};
struct CohortRemoved {
    std::string name;
};
struct LocalQueueSet {
    LocalQueue queue;
};
struct LocalQueueRemoved {
    std::string ns;
    std::string name;
};
struct FlavorSet {
    Flavor flavor;
};
struct FlavorRemoved {
    std::string name;
};
struct NamespaceSet {
    std::string name;
    Labels labels;
};
struct NamespaceRemoved {
    std::string name;
};
struct TopologySet {
    Topology topology;
};
struct TopologyRemoved {
    std::string name;
};
struct AdmissionCheckSet {
    AdmissionCheck check;
};
struct AdmissionCheckRemoved {
    std::string name;
};
struct NodeSet {
    Node node;
};
struct NodeRemoved {
    std::string name;
};

/// A pod sits on a node, whoever made it. When it belongs to an admitted workload it takes up one
/// of the pods promised to it: of `pod_set` if named, else of the pod set with equal requests.
struct PodBound {
    std::string name;  // "ns/name"
    std::string node;
    PodShape shape;
    std::string workload;  // Its workload's id; empty: none.
    std::string pod_set;
};
/// The pod's processes are gone (it finished or was removed).
struct PodGone {
    std::string name;
};

/// A workload exists with this content. Of one that holds quota only activity, stage, readiness and
/// reclaimable pods count until it is released; the rest is kept for its next turn. Stage and
/// readiness count once WorkloadAdmitted has shown that the objects know of its quota.
struct WorkloadSet {
    Workload workload;
};
/// The object is gone. A waiting one is forgotten; one that holds quota holds it until released.
struct WorkloadRemoved {
    std::string id;
};
/// The objects say that it has quota: what `decide` decided came true, or a restart.
struct WorkloadAdmitted {
    std::string id;
    Assignment assignment;
    Time reserved = {};  // Since when: of equal priorities the newest is preempted first.
};
/// The objects say that it is being evicted; it still holds all it had until WorkloadReleased, and
/// stands first among those that others may preempt.
struct WorkloadEvicted {
    std::string id;
};
/// Its processes are gone: what it held is free. It waits again unless it was removed or finished.
struct WorkloadReleased {
    std::string id;
};
/// It is done for good, and what it held is free at once.
struct WorkloadFinished {
    std::string id;
};
/// The write of the last decision about it failed: the decision is taken back.
struct WorkloadFailed {
    std::string id;
};

/// Order among the local queues of one queue: those go first that have used less of late.
struct AdmissionSharing {
    Duration half_life;              // After this long half of a use counts; 0: nothing does.
    Duration sampling = minutes(5);  // How often uses are added up.
    std::map<std::string, std::int64_t, std::less<>> weight_nanos{};  // By resource; absent: 1.
    friend auto operator<=>(const AdmissionSharing&, const AdmissionSharing&) = default;
};

/// How the state decides where the objects leave a choice.
struct Options {
    /// `per_node` seats every pod of a gang; `aggregate` compares sums over all nodes, as MCAD.
    enum class Capacity { per_node, aggregate };
    /// Order of what has no queue. `fifo` ignores priorities.
    enum class Order { priority, fifo };
    /// Resources that no group of the queue covers: an obstacle, or of no interest.
    enum class Undeclared { block, ignore };
    /// The rules by which fair sharing picks victims, in the order tried.
    enum class Strategy { less_than_or_equal_to_final_share, less_than_initial_share };
    /// `until_pods_ready`: nobody gets quota while a workload of any queue that has some is not
    /// ready.
    enum class Blocking { never, until_pods_ready };
    /// Why everyone waits is found out and told; or never, where only starts and evictions count
    /// (replay, forecasts): then there are no `waits`, and reasons are not kept up to date.
    enum class Reasons { told, left_out };
    Capacity capacity = Capacity::per_node;
    Order order = Order::priority;
    Undeclared undeclared = Undeclared::block;
    Blocking blocking = Blocking::never;
    Reasons reasons = Reasons::told;
    /// Absent: classical preemption and order. An empty list stands for both strategies.
    std::optional<std::vector<Strategy>> fair_sharing;
    std::optional<AdmissionSharing> admission_sharing{};  // Absent: nobody's use is counted.
    TopologyProfile topologies;
    friend auto operator<=>(const Options&, const Options&) = default;
};
struct OptionsSet {
    Options options;
};

using Change =
    std::variant<QueueSet, QueueRemoved, CohortSet, CohortRemoved, LocalQueueSet, LocalQueueRemoved,
                 FlavorSet, FlavorRemoved, NamespaceSet, NamespaceRemoved, TopologySet,
                 TopologyRemoved, AdmissionCheckSet, AdmissionCheckRemoved, NodeSet, NodeRemoved,
                 PodBound, PodGone, WorkloadSet, WorkloadRemoved, WorkloadAdmitted, WorkloadEvicted,
                 WorkloadReleased, WorkloadFinished, WorkloadFailed, OptionsSet>;

}  // namespace muster::decide

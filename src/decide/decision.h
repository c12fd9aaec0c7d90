// decide/decision.h - what comes out of a decision: who starts with what, who must go, who waits
// and why.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "base/time.h"
#include "decide/place/place.h"
#include "decide/workload.h"

namespace muster::decide {

/// Someone who holds some of what is short.
struct Holder {
    std::string workload;  // Its id, or "pod ns/name" for a pod that belongs to none.
    Amount amount;
    friend auto operator<=>(const Holder&, const Holder&) = default;
};

/// Why one flavor does not serve one resource of one pod set.
struct Obstacle {
    enum class Rule {
        flavor_missing,
        untolerated_taint,
        node_affinity,
        exceeds_maximum,    // More than the quota can ever give.
        insufficient,       // More than is free now.
        not_covered,        // No resource group of the queue has the resource.
        no_topology,        // The pods ask for places; the flavor has no topology,
        no_topology_level,  // or its topology lacks the level.
        topology_only,      // The flavor is only for pods that ask for places.
    };
    Rule rule = Rule::insufficient;
    std::string pod_set;
    std::string resource;  // Empty for the first three.
    std::string flavor;    // Empty for not_covered.
    Taint taint;           // For untolerated_taint.
    Amount needed;         // By this pod set.
    Amount earlier;        // By pod sets before it in the same workload.
    Amount maximum;        // The most that this queue can ever give.
    Amount free;           // What it could give now; at least 0.
    Amount short_by;
    friend auto operator<=>(const Obstacle&, const Obstacle&) = default;
};

/// Why a workload waits. Status text, event, `muster why`, SDK and dashboard are made from this
/// value (why_text.h) and nothing else.
struct WaitReason {
    enum class Rule {
        // Someone must act:
        deactivated,
        local_queue_missing,
        cluster_queue_missing,
        local_queue_stopped,
        cluster_queue_stopped,
        flavor_missing,  // The cluster queue names a flavor that does not exist: it is inactive.
        cohort_cycle,    // The cluster queue's cohorts form a circle.
        namespace_mismatch,
        wrong_requests,      // `detail` is wrong with what its pods ask for.
        not_covered,         // A resource that no group of the queue covers.
        no_matching_flavor,  // Taints or affinity rule out every flavor.
        exceeds_maximum,     // Needs more than the quota can ever give.
        exceeds_nodes,       // Does not fit the nodes even when they are empty.
        exceeds_topology,    // Nor the topology.
        topology_missing,    // A flavor's topology does not exist: the queue is inactive.
        check_missing,       // An admission check of the queue does not exist: it is inactive.
        check_inactive,      // Nobody answers an admission check of the queue: it is inactive.
        admission_gated,     // `detail` have not opened their admission gates.
        checks_failed,       // One of its admission checks says Retry or Rejected.
        // Goes away by itself:
        backoff,           // Until `until`.
        being_ended,       // Its earlier run still has processes.
        quota,             // Waits for others to give back.
        nodes,             // The gang does not fit what is free on the nodes.
        topology,          // Its pods find no place in the topology now.
        behind_head,       // Waits behind `head` in a StrictFIFO queue.
        behind_preemptor,  // Waits behind `head`, whose victims are ending.
        preempting,        // Waits for `victims` to end, which it preempted.
        overtaken,         // Would fit, but room is kept for others that go first.
        deferred,          // Fits once `victims`, preempted for others, have ended.
        pods_not_ready,    // Would fit, but waits until all that are admitted are ready.
        // Someone must act again:
        preemption_gated,   // Could preempt `victims`, but its gate is closed.
        preemption_circle,  // Would preempt `victims` again that win their place back each time.
    };
    Rule rule = Rule::quota;
    /// What Kueue's condition names where that is another rule: of all flavors of the pod set that
    /// fits nowhere, also of those that were not needed.
    std::optional<Rule> named = {};
    std::string local_queue;
    std::string cluster_queue;
    std::string detail;                // What is missing or wrong, or who holds a gate closed.
    std::string head;                  // For behind_...: the workload in front.
    Time until;                        // For backoff.
    std::vector<Obstacle> obstacles;   // For quota rules: in the order tried.
    std::string pod_set;               // For nodes: the pod set that found no place.
    std::vector<std::string> victims;  // For the rules about preemption, by name.
    std::int64_t placed = 0;           // For nodes: how many pods of the gang did.
    std::int64_t pods = 0;             // For nodes: how many pods the gang has.
    std::vector<Refusal> refusals;     // For nodes: why, per node.
    std::vector<Refusal::Lack> lacks;  // For nodes with the aggregate check, and sums otherwise.
    std::optional<TopologyRefusal> places = {};  // For topology and exceeds_topology.
    friend auto operator<=>(const WaitReason&, const WaitReason&) = default;
};

/// It may start now, whole. The state treats it as admitted from here on.
struct Admit {
    std::string workload;
    Assignment assignment;
};

/// Why a workload was preempted: the reasons of Kueue's condition Preempted.
enum class PreemptionCause {
    in_cluster_queue,                  // By one of its own queue.
    in_cohort_reclamation,             // Its queue borrowed what another one's own is.
    in_cohort_fair_sharing,            // Its queue's share of what is borrowed is the larger one.
    in_cohort_reclaim_while_borrowing  // By one of higher priority that borrows as well.
};

/// It must stop now. It holds what it has until WorkloadReleased. A workload that is being evicted
/// already is not named a second time, whoever else wants it gone. One that is to be preempted
/// although this same decision admits it is named after WorkloadAdmitted has been applied.
///
/// With `preempted` the conditions are Evicted (reason Preempted) and Preempted (reason `cause`).
struct Evict {
    enum class Reason {
        deactivated,
        local_queue_stopped,
        cluster_queue_stopped,
        preempted,
        node_failures,  // No place was found for the pods of `node`, or several nodes failed.
    };
    std::string workload;
    Reason reason = Reason::deactivated;
    std::string queue;  // The queue that was stopped; with `preempted` the preemptor's.
    PreemptionCause cause = PreemptionCause::in_cluster_queue;  // For preempted.
    std::string preemptor = {};                                 // For preempted: its id.
    std::string preemptor_path = {};                            // "/cohort/queue", from the root.
    std::string path = {};                                      // The same of the victim.
    std::string node = {};                                      // For node_failures.
};

/// Pods of a failed node have other places now; the rest of the assignment stays as it was.
struct Move {
    std::string workload;
    Assignment assignment;
};

/// It waits, and the reason is news: it is the first one, or another rule, flavor or resource than
/// the last. Mere numbers are news only for the first of those that need the same, and in trees of
/// more than 64 queues for nobody; `why` has them fresh for all.
struct Wait {
    std::string workload;
    std::shared_ptr<const WaitReason> reason;  // Never null; shared by all that need the same.
};

/// What to change, and nothing else: what stays as it was is not in it.
struct Decision {
    std::vector<Admit> admits;                              // In the order they were decided.
    std::vector<Move> moves;                                // The same.
    std::vector<Evict> evicts;                              // By workload id.
    std::vector<Wait> waits;                                // By workload id.
    std::vector<std::pair<std::string, std::string>> uses;  // Local queues whose use was added up.
    /// Cluster queues and local queues whose reports may be others by now, because of quotas,
    /// flavors, topologies or checks. Not those where only workloads have moved.
    std::vector<std::string> changed_queues;
    std::vector<std::pair<std::string, std::string>> changed_local_queues;
    std::optional<Time> look_again;  // When a backoff ends or uses are added up.
};

}  // namespace muster::decide

// decide/why_text.cpp - words for reasons: Kueue's in conditions, plain ones with numbers for
// people.
#include "decide/why_text.h"

#include <algorithm>

#include "base/quantity.h"
#include "base/text.h"
#include "base/time.h"

namespace muster::decide {

namespace {

using Rule = WaitReason::Rule;
using Verdict = Explanation::Verdict;

std::string taint_text(const Taint& taint) {
    const char* effect = taint.effect == Taint::Effect::no_schedule  ? "NoSchedule"
                         : taint.effect == Taint::Effect::no_execute ? "NoExecute"
                                                                     : "PreferNoSchedule";
    return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + effect;
}

// In Kueue's words.
std::string obstacle_text(const Obstacle& o) {
    switch (o.rule) {
        case Obstacle::Rule::flavor_missing:
            return "flavor " + o.flavor + " not found";
        case Obstacle::Rule::untolerated_taint:
            return "untolerated taint " + taint_text(o.taint) + " in flavor " + o.flavor;
        case Obstacle::Rule::node_affinity:
            return "flavor " + o.flavor + " doesn't match node affinity";
        case Obstacle::Rule::no_topology:
            return "Flavor \"" + o.flavor + "\" does not support TopologyAwareScheduling";
        case Obstacle::Rule::no_topology_level:
            return "Flavor \"" + o.flavor + "\" does not contain the requested level";
        case Obstacle::Rule::topology_only:
            return "Flavor \"" + o.flavor + "\" supports only TopologyAwareScheduling";
        case Obstacle::Rule::not_covered:
            return "resource " + o.resource + " unavailable in ClusterQueue";
        case Obstacle::Rule::exceeds_maximum:
            return "insufficient quota for " + o.resource + " in flavor " + o.flavor +
                   ", previously considered podsets requests (" +
                   amount_text(o.resource, o.earlier) + ") + current podset request (" +
                   amount_text(o.resource, o.needed) + ") > maximum capacity (" +
                   amount_text(o.resource, o.maximum) + ")";
        case Obstacle::Rule::insufficient:
            return "insufficient unused quota for " + o.resource + " in flavor " + o.flavor + ", " +
                   amount_text(o.resource, o.short_by) + " more needed";
    }
    return {};
}

std::string obstacles_text(const WaitReason& reason) {
    std::vector<std::string> pod_sets;
    for (const Obstacle& obstacle : reason.obstacles) {
        if (pod_sets.empty() || pod_sets.back() != obstacle.pod_set)
            pod_sets.push_back(obstacle.pod_set);
    }
    if (pod_sets.empty()) pod_sets.emplace_back("main");
    std::vector<std::string> parts;
    for (const std::string& pod_set : pod_sets) {
        std::vector<std::string> texts;
        for (const Obstacle& obstacle : reason.obstacles) {
            if (obstacle.pod_set == pod_set) texts.push_back(obstacle_text(obstacle));
        }
        std::sort(texts.begin(), texts.end());
        parts.push_back("couldn't assign flavors to pod set " + pod_set + ": " + join(texts, ", "));
    }
    return join(parts, "; ");
}

// "3 cpu, of which 1950m is free"
std::string lack_text(const Refusal::Lack& lack) {
    return amount_text(lack.resource, lack.needed) + " " + lack.resource + ", of which " +
           amount_text(lack.resource, lack.free) + " is free";
}

std::string nodes_text(const WaitReason& reason) {
    std::vector<std::string> parts;
    for (const Refusal::Lack& lack : reason.lacks)
        parts.push_back(lack_text(lack));
    const std::string pods = std::to_string(reason.pods);
    if (!parts.empty()) return "together its pods (" + pods + ") need " + join(parts, "; ");
    Seat seat;
    seat.refusals = reason.refusals;
    return "there is room for " + std::to_string(reason.placed) + " of its " + pods +
           " pods; for the next, of pod set " + reason.pod_set + ", " + refusal_text(seat);
}

std::string holders_text(const Constraint& constraint) {
    std::vector<std::string> parts;
    for (const Holder& holder : constraint.holders) {
        parts.push_back(holder.workload + " (" + amount_text(constraint.resource, holder.amount) +
                        ")");
    }
    if (constraint.more_holders > 0) {
        parts.push_back(std::to_string(constraint.more_holders) + " more");
    }
    return parts.empty() ? "nobody holds any" : "held by " + join(parts, ", ");
}

std::string place_text(const Constraint& constraint) {
    if (constraint.place == Constraint::Place::quota) {
        return "quota of queue " + constraint.queue + ", flavor " + constraint.flavor;
    }
    return constraint.node.empty() ? "all nodes together" : "node " + constraint.node;
}

std::string constraint_text(const Constraint& c) {
    const auto amount = [&](Amount a) { return amount_text(c.resource, a); };
    return c.resource + (c.pod_set.empty() ? "" : " for pod set " + c.pod_set) + ": needs " +
           amount(c.needed) + ", free " + amount(c.free) + " of " + amount(c.capacity) +
           ", short by " + amount(c.short_by) + " (" + place_text(c) + ")" +
           (c.place == Constraint::Place::empty_nodes ? "" : "; " + holders_text(c));
}

// Kueue's words.
std::string cause_text(PreemptionCause cause) {
    switch (cause) {
        case PreemptionCause::in_cluster_queue:
            return "prioritization in the ClusterQueue";
        case PreemptionCause::in_cohort_reclamation:
            return "reclamation within the cohort";
        case PreemptionCause::in_cohort_fair_sharing:
            return "Fair Sharing within the cohort";
        case PreemptionCause::in_cohort_reclaim_while_borrowing:
            return "reclamation within the cohort while borrowing";
    }
    return {};
}

std::string why_inactive(const WaitReason& reason) {
    switch (reason.rule) {
        case Rule::flavor_missing:
            return "its flavor " + reason.detail + " does not exist";
        case Rule::topology_missing:
            return "topology " + reason.detail + " does not exist";
        case Rule::check_missing:
            return "admission checks that it names do not exist: " + reason.detail;
        case Rule::check_inactive:
            return "nobody answers its admission checks: " + reason.detail;
        default:
            return "its cohorts form a circle";
    }
}

// What is the matter, without who is meant.
std::string matter(const WaitReason& reason) {
    switch (reason.rule) {
        case Rule::deactivated:
            return "it is deactivated (spec.active is false)";
        case Rule::local_queue_missing:
            return reason.local_queue.empty() ? "it names no queue"
                                              : "queue " + reason.local_queue + " does not exist";
        case Rule::cluster_queue_missing:
            return "queue " + reason.local_queue + " leads to cluster queue " +
                   reason.cluster_queue + ", which does not exist";
        case Rule::local_queue_stopped:
            return "queue " + reason.local_queue + " is stopped";
        case Rule::cluster_queue_stopped:
            return "cluster queue " + reason.cluster_queue + " is stopped";
        case Rule::flavor_missing:
        case Rule::topology_missing:
        case Rule::check_missing:
        case Rule::check_inactive:
        case Rule::cohort_cycle:
            return "cluster queue " + reason.cluster_queue +
                   " is inactive: " + why_inactive(reason);
        case Rule::wrong_requests:
            return "nothing may start that asks for what it does: " + reason.detail;
        case Rule::admission_gated:
            return "its admission gates are closed by " + reason.detail;
        case Rule::checks_failed:
            return "one of its admission checks has failed";
        case Rule::pods_not_ready:
            return "it starts when the pods of all that are admitted are ready";
        case Rule::namespace_mismatch:
            return "cluster queue " + reason.cluster_queue + " does not admit its namespace";
        case Rule::not_covered:
        case Rule::no_matching_flavor:
            return obstacles_text(reason);
        case Rule::exceeds_maximum:
            return "it asks for more than the queue can ever give";
        case Rule::exceeds_nodes:
            return "it does not fit the nodes even when they are empty";
        case Rule::topology:
        case Rule::exceeds_topology:
            return topology_text(*reason.places);
        case Rule::backoff:
            return "it was sent back and waits until " + to_rfc3339(reason.until);
        case Rule::being_ended:
            return "its earlier run is still being ended";
        case Rule::quota:
            return "not enough of its queue's quota is free";
        case Rule::nodes:
            return "not enough is free on the nodes";
        case Rule::behind_head:
            return "the queue is strict, and " + reason.head + " in front of it does not fit";
        case Rule::behind_preemptor:
            return reason.head + " of the same queue is to start first";
        case Rule::overtaken:
            return "what it needs is kept for others that go first";
        case Rule::preempting:
            return "it waits until those that it preempted have ended: " +
                   join(reason.victims, ", ");
        case Rule::deferred:
            return "it starts when those that others preempted have ended: " +
                   join(reason.victims, ", ");
        case Rule::preemption_gated:
            return "it could preempt " + join(reason.victims, ", ") +
                   ", but its preemption gate is closed";
        case Rule::preemption_circle:
            return "it would preempt " + join(reason.victims, ", ") +
                   " again, and they would win their place back";
    }
    return {};
}

}  // namespace

std::string condition_reason(const WaitReason& reason) {
    switch (reason.named.value_or(reason.rule)) {
        case Rule::deactivated:
            return "Deactivated";
        case Rule::local_queue_missing:
        case Rule::cluster_queue_missing:
        case Rule::namespace_mismatch:
        case Rule::wrong_requests:
            return "Misconfigured";
        case Rule::local_queue_stopped:
        case Rule::cluster_queue_stopped:
        case Rule::flavor_missing:
        case Rule::check_missing:
        case Rule::check_inactive:
        case Rule::cohort_cycle:
            return "Suspended";
        case Rule::not_covered:
        case Rule::no_matching_flavor:
            return "NoMatchingFlavor";
        case Rule::exceeds_maximum:
            return "ExceedsMaxQuota";
        case Rule::quota:
            return "WaitingForQuota";
        case Rule::nodes:
        case Rule::exceeds_nodes:
        case Rule::exceeds_topology:
            return "TopologyPlacementFailed";
        case Rule::topology_missing:
            return "Suspended";
        case Rule::topology:
            return "WaitingForQuota";
        case Rule::backoff:
        case Rule::being_ended:
        case Rule::behind_head:
        case Rule::behind_preemptor:
        case Rule::checks_failed:
            return "PendingEvaluation";
        case Rule::pods_not_ready:
            return "WaitingForPodsReady";
        case Rule::preempting:
        case Rule::deferred:
            return "WaitingForPreemptedWorkloads";
        case Rule::preemption_gated:
        case Rule::admission_gated:
            return "AdmissionGated";
        case Rule::overtaken:
        case Rule::preemption_circle:
            return "WaitingForQuota";
    }
    return {};
}

std::string condition_message(const WaitReason& reason) {
    switch (reason.rule) {
        case Rule::deactivated:
            return "The workload is deactivated";
        case Rule::local_queue_missing:
            return "LocalQueue " + reason.local_queue + " doesn't exist";
        case Rule::cluster_queue_missing:
            return "ClusterQueue " + reason.cluster_queue + " doesn't exist";
        case Rule::namespace_mismatch:
            return "Workload namespace doesn't match ClusterQueue selector";
        case Rule::local_queue_stopped:
            return "LocalQueue " + reason.local_queue + " is inactive";
        case Rule::cluster_queue_stopped:
        case Rule::flavor_missing:
        case Rule::check_missing:
        case Rule::check_inactive:
        case Rule::cohort_cycle:
            return "ClusterQueue " + reason.cluster_queue + " is inactive";
        case Rule::wrong_requests:
            return reason.detail;
        case Rule::admission_gated:
            return "Admission is gated by: " + reason.detail;
        case Rule::checks_failed:
            return "The workload has failed admission checks";
        case Rule::pods_not_ready:
            return "waiting for all admitted workloads to be in PodsReady condition";
        case Rule::not_covered:
        case Rule::no_matching_flavor:
        case Rule::exceeds_maximum:
        case Rule::quota:
            return obstacles_text(reason);
        case Rule::nodes:
        case Rule::exceeds_nodes:
            return "couldn't place the gang: " + nodes_text(reason);
        case Rule::topology_missing:
            return "ClusterQueue " + reason.cluster_queue + " is inactive";
        case Rule::topology:
        case Rule::exceeds_topology:
            return "couldn't assign flavors to pod set " + reason.places->pod_set + ": " +
                   topology_text(*reason.places);
        case Rule::backoff:
            return "Waits until " + to_rfc3339(reason.until) + " before its next try";
        case Rule::being_ended:
            return "Waits for its earlier run to end";
        case Rule::behind_head:
            return "Waits behind " + reason.head + " in StrictFIFO ClusterQueue " +
                   reason.cluster_queue;
        case Rule::behind_preemptor:
            return "Waits behind " + reason.head + ", which is to start first in ClusterQueue " +
                   reason.cluster_queue;
        case Rule::overtaken:
            return "Workload no longer fits after processing another workload";
        case Rule::preempting:
            return obstacles_text(reason) + ". Pending the preemption of " +
                   std::to_string(reason.victims.size()) + " workload(s)";
        case Rule::deferred:
            return "Waits for workloads that were preempted for others: " +
                   join(reason.victims, ", ");
        case Rule::preemption_gated:
            return "Workload requires preemption, but it's gated";
        case Rule::preemption_circle:
            return obstacles_text(reason) + ". Preempting " + join(reason.victims, ", ") +
                   " would go on without end";
    }
    return {};
}

std::string eviction_reason(const Evict& evict) {
    switch (evict.reason) {
        case Evict::Reason::deactivated:
            return "Deactivated";
        case Evict::Reason::local_queue_stopped:
            return "LocalQueueStopped";
        case Evict::Reason::cluster_queue_stopped:
            return "ClusterQueueStopped";
        case Evict::Reason::preempted:
            return "Preempted";
        case Evict::Reason::node_failures:
            return "NodeFailures";
    }
    return {};
}

std::string preemption_reason(PreemptionCause cause) {
    switch (cause) {
        case PreemptionCause::in_cluster_queue:
            return "InClusterQueue";
        case PreemptionCause::in_cohort_reclamation:
            return "InCohortReclamation";
        case PreemptionCause::in_cohort_fair_sharing:
            return "InCohortFairSharing";
        case PreemptionCause::in_cohort_reclaim_while_borrowing:
            return "InCohortReclaimWhileBorrowing";
    }
    return {};
}

std::string eviction_message(const Evict& evict) {
    switch (evict.reason) {
        case Evict::Reason::deactivated:
            return "The workload is deactivated";
        case Evict::Reason::local_queue_stopped:
            return "The LocalQueue is stopped";
        case Evict::Reason::cluster_queue_stopped:
            return "The ClusterQueue is stopped";
        case Evict::Reason::preempted:
            return "Preempted to accommodate " + evict.preemptor + " due to " +
                   cause_text(evict.cause) + "; preemptor path: " + evict.preemptor_path +
                   "; preemptee path: " + evict.path;
        case Evict::Reason::node_failures:
            return "Workload was evicted as there was no replacement for a failed node: " +
                   evict.node;
    }
    return {};
}

std::string sentence(const Explanation& explanation) {
    const std::string& name = explanation.workload;
    switch (explanation.verdict) {
        case Verdict::unknown:
            return explanation.reason ? name + " waits."
                                      : name + " has not been looked at yet, or does not exist.";
        case Verdict::finished:
            return name + " has finished.";
        case Verdict::runs:
            return name + " is admitted.";
        case Verdict::reserved:
            return name + " has its quota and waits for its admission checks.";
        default:
            break;
    }
    const WaitReason& reason = *explanation.reason;
    std::string what = matter(reason);
    if (what.ends_with('.')) what.pop_back();  // Kueue's own sentences have one.
    std::string text = name + " waits: " + what;
    if (!explanation.constraints.empty()) {
        if (reason.rule == Rule::exceeds_nodes && reason.lacks.empty()) {
            text += ": there is room for " + std::to_string(reason.placed) + " of its " +
                    std::to_string(reason.pods) + " pods";
        }
        text += "; " + constraint_text(explanation.constraints.front());
    } else if (reason.rule == Rule::nodes || reason.rule == Rule::exceeds_nodes) {
        text += "; " + nodes_text(reason);
    }
    return text.ends_with('.') ? text : text + ".";
}

std::vector<std::string> lines(const Explanation& explanation) {
    std::vector<std::string> all = {sentence(explanation)};
    if (!explanation.reason) return all;
    const WaitReason& reason = *explanation.reason;
    if (explanation.position > 0) {
        all.push_back("  place: " + std::to_string(explanation.position) + " of " +
                      std::to_string(explanation.waiting) + " waiting" +
                      (reason.cluster_queue.empty() ? "" : " in " + reason.cluster_queue));
    }
    for (std::size_t i = 1; i < explanation.constraints.size(); ++i) {
        all.push_back("  also: " + constraint_text(explanation.constraints[i]));
    }
    if (reason.rule != Rule::not_covered && reason.rule != Rule::no_matching_flavor) {
        for (const Obstacle& o : reason.obstacles) {
            if (o.rule == Obstacle::Rule::insufficient) continue;
            if (o.rule == Obstacle::Rule::exceeds_maximum) continue;
            all.push_back("  also: " + obstacle_text(o));
        }
    }
    switch (explanation.verdict) {
        case Verdict::starts_by_itself:
            all.push_back("  outlook: starts by itself" +
                          (explanation.starts_at
                               ? ", not before " + to_rfc3339(*explanation.starts_at)
                               : std::string(" when that is given back")));
            break;
        case Verdict::needs_someone:
            all.push_back("  outlook: someone must act");
            break;
        case Verdict::never:
            all.push_back("  outlook: can never start as it is; what comes after it may pass");
            break;
        default:
            break;
    }
    all.push_back("  " + remedy_text(explanation));
    return all;
}

std::string amount_text(std::string_view resource, Amount amount) {
    if (is_unlimited(amount)) return "unlimited";
    if (resource == "cpu") return Quantity::from_milli(amount.value).text();
    const std::string decimal = Quantity::from_units(amount.value).text();
    if (resource != "memory" && !resource.ends_with("storage") &&
        !resource.starts_with("hugepages-")) {
        return decimal;
    }
    const std::string binary =
        Quantity::from_units(amount.value, Quantity::Format::binary_si).text();
    return decimal.size() < binary.size() ? decimal : binary;
}

}  // namespace muster::decide

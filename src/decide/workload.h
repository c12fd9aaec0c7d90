// decide/workload.h - the things that queues hold, as plain values with names: workloads, queues,
// cohorts, flavors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/amount.h"
#include "base/time.h"
#include "decide/place/pod.h"
#include "decide/place/topology.h"

namespace muster::decide {

/// Equal pods that start together.
struct PodSet {
    std::string name = "main";
    std::int64_t count = 1;
    /// Partial admission: as few of them as this may start. At most one pod set has it.
    std::optional<std::int64_t> min_count;
    std::int64_t reclaimable = 0;  // Of `count`, those that are done and need nothing any more.
    std::string group;             // Pod sets of one group get the same flavors; empty: alone.
    PodShape pod;
    TopologyRequest topology = {};
    std::optional<Resources> counted = {};  // Of one pod against quotas; absent: what it asks for.
    std::vector<std::string> only_flavors = {};  // Sorted; empty: any.
    friend auto operator<=>(const PodSet&, const PodSet&) = default;
};

/// Something that waits to start whole: a Kueue Workload, an AppWrapper, or both in one.
struct Workload {
    enum class Activity { active, deactivated };
    /// `quota`: only its queue's quota binds it; once admitted its pods count as promised.
    /// `quota_and_nodes`: its pods must also fit the nodes now, all of them together. Without a
    /// local queue only the nodes bind.
    enum class Binds { quota, quota_and_nodes };
    /// A closed gate keeps it from preempting others, not from being admitted.
    enum class PreemptionGate { open, closed };
    /// What keeps it from being tried, whatever is free.
    enum class Barrier : std::uint8_t { none, wrong_requests, admission_gates, failed_checks };
    /// Of one that holds quota: it may run, or waits for its admission checks first.
    enum class Stage : std::uint8_t { admitted, reserved };
    /// Of one that holds quota.
    enum class PodsReady : std::uint8_t { yes, no };

    std::string id;           // Unique among all workloads; breaks ties.
    std::string ns;           // Kubernetes namespace.
    std::string local_queue;  // Name in `ns`; empty: none.
    Binds binds = Binds::quota;
    Activity activity = Activity::active;
    PreemptionGate gate = PreemptionGate::open;
    std::int64_t priority = 0;
    std::int64_t slope_millionths = 0;  // Priority gained per 1,000,000 s; only without a queue.
    Time created;
    Time queued;      // Orders equal priorities, may be an eviction's time; not set: `created`.
    Time not_before;  // Backoff: waits at least until then.
    std::vector<PodSet> pod_sets;
    Barrier barrier = Barrier::none;
    std::string barred_by = {};  // Who closed the admission gates, or what is wrong.
    Stage stage = Stage::admitted;
    PodsReady pods_ready = PodsReady::yes;
    friend auto operator<=>(const Workload&, const Workload&) = default;
};

enum class StopPolicy { none, hold, hold_and_drain };

struct Flavor {
    std::string name;
    Labels node_labels;
    std::vector<Taint> taints;
    std::vector<Toleration> tolerations;
    std::string topology = {};  // Its topology; empty: none.
    friend auto operator<=>(const Flavor&, const Flavor&) = default;
};

struct Quota {
    Amount nominal;
    std::optional<Amount> borrowing_limit;
    std::optional<Amount> lending_limit;
    friend auto operator<=>(const Quota&, const Quota&) = default;
};

struct FlavorQuotas {
    std::string flavor;
    std::map<std::string, Quota, std::less<>> resources;
    friend auto operator<=>(const FlavorQuotas&, const FlavorQuotas&) = default;
};

/// Resources that are given out together, from the first flavor that has all of them.
struct ResourceGroup {
    std::vector<std::string> resources;
    std::vector<FlavorQuotas> flavors;  // In the order in which they are tried.
    friend auto operator<=>(const ResourceGroup&, const ResourceGroup&) = default;
};

/// A weight in the sharing of what is borrowed, in billionths: 1,000,000,000 is the usual 1. With 0
/// whoever borrows anything stands behind everybody.
struct FairWeight {
    std::int64_t nanos = 1'000'000'000;
    friend auto operator<=>(const FairWeight&, const FairWeight&) = default;
};

/// Whom a queue's workloads may preempt.
struct Preemption {
    enum class WithinQueue { never, lower_priority, lower_or_newer_equal_priority };
    enum class Reclaim { never, lower_priority, any };
    enum class WhileBorrowing { never, lower_priority };
    WithinQueue within_queue = WithinQueue::never;
    Reclaim reclaim_within_cohort = Reclaim::never;
    WhileBorrowing borrow_within_cohort = WhileBorrowing::never;
    std::optional<std::int64_t> max_priority_threshold;  // For borrow_within_cohort.
    friend auto operator<=>(const Preemption&, const Preemption&) = default;
};

/// Whether the search for a flavor goes on after one that would do.
struct FlavorFungibility {
    enum class Search { may_stop, try_next_flavor };
    enum class Preference { none, borrowing_over_preemption, preemption_over_borrowing };
    Search when_can_borrow = Search::may_stop;
    Search when_can_preempt = Search::try_next_flavor;
    Preference preference = Preference::none;
    friend auto operator<=>(const FlavorFungibility&, const FlavorFungibility&) = default;
};

/// An AdmissionCheck: whoever is to answer it is there, or not.
struct AdmissionCheck {
    enum class State { inactive, active };
    std::string name;
    State state = State::inactive;
    friend auto operator<=>(const AdmissionCheck&, const AdmissionCheck&) = default;
};

/// A check that must be Ready before what got quota is admitted.
struct CheckRule {
    std::string name;
    std::vector<std::string> flavors;  // Only for these; empty: for every flavor.
    friend auto operator<=>(const CheckRule&, const CheckRule&) = default;
};

struct ClusterQueue {
    enum class Strategy { best_effort_fifo, strict_fifo };
    /// `usage_based`: among its local queues those go first that have used less.
    enum class AdmissionMode { none, usage_based };
    std::string name;
    std::string cohort;  // Empty: none.
    Strategy strategy = Strategy::best_effort_fifo;
    std::optional<Selector> namespaces;  // Absent selects none; an empty one selects all.
    StopPolicy stop = StopPolicy::none;
    std::vector<ResourceGroup> groups;
    Preemption preemption;
    FlavorFungibility fungibility;
    FairWeight weight = {};
    AdmissionMode admission_mode = AdmissionMode::none;
    std::vector<CheckRule> checks;
    friend auto operator<=>(const ClusterQueue&, const ClusterQueue&) = default;
};

struct Cohort {
    std::string name;
    std::string parent;  // Empty: a root.
    std::vector<ResourceGroup> groups;
    FairWeight weight = {};
    friend auto operator<=>(const Cohort&, const Cohort&) = default;
};

struct LocalQueue {
    std::string ns;
    std::string name;
    std::string cluster_queue;
    StopPolicy stop = StopPolicy::none;
    FairWeight weight = {};  // Counts with AdmissionMode::usage_based.
    /// What it had used when that was last written down, in thousandths of amounts; counts once.
    std::map<std::string, std::int64_t, std::less<>> used_thousandths = {};
    Time use_updated = {};
    friend auto operator<=>(const LocalQueue&, const LocalQueue&) = default;
};

/// What one pod set got: a flavor for each resource, and how much of it in all.
struct PodSetAssignment {
    std::string name;
    std::int64_t count = 0;
    std::map<std::string, std::string, std::less<>> flavors;  // Resource -> flavor.
    Resources usage;                                          // For `count` pods together.
    std::optional<TopologyAssignment> topology = {};
    friend auto operator<=>(const PodSetAssignment&, const PodSetAssignment&) = default;
};

/// What an admitted workload holds. Without a queue `cluster_queue` and the flavors are empty.
struct Assignment {
    std::string cluster_queue;
    std::vector<PodSetAssignment> pod_sets;
    friend auto operator<=>(const Assignment&, const Assignment&) = default;
};

}  // namespace muster::decide

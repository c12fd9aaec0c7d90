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

namespace muster::decide {

/// Equal pods that start together.
struct PodSet {
    std::string name = "main";
    std::int64_t count = 1;
    std::int64_t reclaimable = 0;  // Of `count`, those that are done and need nothing any more.
    PodShape pod;
    friend auto operator<=>(const PodSet&, const PodSet&) = default;
};

/// Something that waits to start whole: a Kueue Workload, an AppWrapper, or both in one.
struct Workload {
    enum class Activity { active, deactivated };
    /// `quota`: only its queue's quota binds it; once admitted its pods count as promised.
    /// `quota_and_nodes`: its pods must also fit the nodes now, all of them together. Without a
    /// local queue only the nodes bind.
    enum class Binds { quota, quota_and_nodes };

    std::string id;           // Unique among all workloads; breaks ties.
    std::string ns;           // Kubernetes namespace.
    std::string local_queue;  // Name in `ns`; empty: none.
    Binds binds = Binds::quota;
    Activity activity = Activity::active;
    std::int64_t priority = 0;
    std::int64_t slope_millionths = 0;  // Priority gained per 1,000,000 s; only without a queue.
    Time created;
    Time queued;      // Orders equal priorities; not set: `created`.
    Time not_before;  // Backoff: waits at least until then.
    std::vector<PodSet> pod_sets;
    friend auto operator<=>(const Workload&, const Workload&) = default;
};

enum class StopPolicy { none, hold, hold_and_drain };

struct Flavor {
    std::string name;
    Labels node_labels;
    std::vector<Taint> taints;
    std::vector<Toleration> tolerations;
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

struct ClusterQueue {
    enum class Strategy { best_effort_fifo, strict_fifo };
    std::string name;
    std::string cohort;  // Empty: none.
    Strategy strategy = Strategy::best_effort_fifo;
    std::optional<Selector> namespaces;  // Absent selects none; an empty one selects all.
    StopPolicy stop = StopPolicy::none;
    std::vector<ResourceGroup> groups;
    friend auto operator<=>(const ClusterQueue&, const ClusterQueue&) = default;
};

struct Cohort {
    std::string name;
    std::string parent;  // Empty: a root.
    std::vector<ResourceGroup> groups;
    friend auto operator<=>(const Cohort&, const Cohort&) = default;
};

struct LocalQueue {
    std::string ns;
    std::string name;
    std::string cluster_queue;
    StopPolicy stop = StopPolicy::none;
    friend auto operator<=>(const LocalQueue&, const LocalQueue&) = default;
};

/// What one pod set got: a flavor for each resource, and how much of it in all.
struct PodSetAssignment {
    std::string name;
    std::int64_t count = 0;
    std::map<std::string, std::string, std::less<>> flavors;  // Resource -> flavor.
    Resources usage;                                          // For `count` pods together.
    friend auto operator<=>(const PodSetAssignment&, const PodSetAssignment&) = default;
};

/// What an admitted workload holds. Without a queue `cluster_queue` and the flavors are empty.
struct Assignment {
    std::string cluster_queue;
    std::vector<PodSetAssignment> pod_sets;
    friend auto operator<=>(const Assignment&, const Assignment&) = default;
};

}  // namespace muster::decide

// control/queue/queue_metrics.h - counts what happens in the queues: from the changes of Workloads
// that are seen, and from what queues' status is going to say.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/metrics.h"
#include "base/time.h"
#include "control/queue/metric_families.h"
#include "control/queue/settings.h"
#include "decide/cycle.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// Keeps Kueue's metrics. Lives on the planner's thread; what it counts in may be read on any.
///
/// Everything follows from differences: a Workload counts by how it differs from what it was, a
/// queue by how its report differs from the last one.
class QueueMetrics {
public:
    /// Requires: the first one for these Metrics.
    QueueMetrics(std::shared_ptr<Metrics> metrics, MetricsSettings settings);

    /// A Workload, LocalQueue or ClusterQueue was seen to change; others are of no interest.
    void saw(const kube::Object* before, const kube::Object* after);
    /// A Workload was made for a job of that age.
    void made(const kube::Object& workload, const kube::Object& job);
    /// What was decided, and how long that took when it is known.
    void decided(const decide::Decision& decision, std::optional<Duration> took);

    /// A queue with the status that it is to have.
    void show_cluster_queue(const kube::Object& queue, const api::Value& status,
                            const decide::QueueReport& report, const decide::State& state);
    void show_local_queue(const kube::Object& queue, const api::Value& status,
                          const decide::QueueReport& report);
    /// The tree of cohorts has changed.
    void show_cohorts(const decide::State& state);
    /// The share of every cohort may have changed.
    void show_cohort_shares(const decide::State& state);

private:
    using FlavorResource = std::pair<std::string, std::string>;
    using Amounts = std::map<FlavorResource, std::int64_t>;

    /// Of the Workloads of a local queue, by what they say themselves.
    struct Tally {
        std::int64_t finished = 0;
        std::map<std::pair<std::string, std::string>, std::int64_t> unadmitted;
    };
    struct ShownLocal {
        std::string cluster_queue;
        bool selected = false;
    };
    struct ShownQueue {
        std::vector<std::string> cohorts;  // From the root.
        Amounts reserved;
        std::int64_t admitted = 0;
        std::map<FlavorResource, decide::QueueReport::Use> quotas;
    };

    void saw_workload(const kube::Object* before, const kube::Object* after);
    void saw_local_queue(const kube::Object* before, const kube::Object* after);
    void forget_cluster_queue(const std::string& name);
    void forget_local_queue(const api::Key& key);
    void tally(const kube::Object& workload, std::int64_t times);
    void tally_at(const api::Key& local_queue, const Tally& what, std::int64_t times);
    void count_quota(const kube::Object& before, const kube::Object& after);
    void count_readiness(const kube::Object& before, const kube::Object& after);
    void count_end(const kube::Object& before, const kube::Object& after);
    void count_evictions(const kube::Object& before, const kube::Object& after);
    void count_eviction(const kube::Object& before, const kube::Object& after,
                        const std::string& reason, const std::string& cause);
    std::string cluster_queue_of(const kube::Object& workload) const;
    bool selects(const api::Key& local_queue) const;
    void show_place(const std::string& name, ShownQueue& shown, const decide::QueueReport& report,
                    std::int64_t admitted);
    void add_to_cohorts(const ShownQueue& shown, std::int64_t times);
    void show_quotas(const kube::Object& queue, const api::Value& status);

    template <class Metric, class Count>
    void count(const Twin<Metric>& twin, const kube::Object& workload,
               const std::vector<std::string>& labels, const Count& how);

    std::shared_ptr<Metrics> metrics_;
    MetricsSettings settings_;
    MetricFamilies of_;
    std::map<api::Key, Tally> tallies_;                   // By local queue, existing or not.
    std::map<api::Key, ShownLocal> locals_;               // Those that exist.
    std::map<std::string, ShownQueue> queues_;            // Those that were shown.
    std::map<std::string, Amounts> below_;                // What is reserved below each cohort,
    std::map<std::string, std::int64_t> admitted_below_;  // and how many are admitted.
};

}  // namespace muster::control::queue

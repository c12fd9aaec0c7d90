// control/queue/metric_families.cpp - the table of Kueue's metrics.
#include "control/queue/metric_families.h"

#include <utility>

namespace muster::control::queue {
namespace {

using Labels = std::vector<std::string>;

/// 1, 2.5, 5, 10, 20, ... seconds: `count` of them.
std::vector<double> doubling(std::size_t count) {
    std::vector<double> bounds = {1};
    for (double bound = 2.5; bounds.size() < count; bound *= 2)
        bounds.push_back(bound);
    return bounds;
}

constexpr std::size_t usual_buckets = 14;
constexpr std::size_t more_buckets = 16;

std::vector<double> usual() {
    return doubling(usual_buckets);
}

Labels joined(Labels first, const Labels& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    first.emplace_back("replica_role");
    return first;
}

/// Makes families with Kueue's prefix.
struct Maker {
    Metrics& metrics;
    Kept local_queues;
    Kept resources;

    MetricName named(const char* name, const char* help, Labels labels) const {
        return {"kueue_" + std::string(name), help, std::move(labels)};
    }

    MetricFamily<Gauge>& gauge(const char* name, const char* help, const Labels& labels) const {
        return metrics.gauges(named(name, help, joined({}, labels)));
    }
    MetricFamily<Counter>& counter(const char* name, const char* help, const Labels& labels) const {
        return metrics.counters(named(name, help, joined({}, labels)));
    }
    MetricFamily<Histogram>& histogram(const char* name, const char* help, const Labels& labels,
                                       std::vector<double> bounds) const {
        return metrics.histograms(named(name, help, joined({}, labels)), std::move(bounds));
    }

    MetricFamily<Gauge>* resource(const char* name, const char* help, const Labels& labels) const {
        return resources == Kept::yes ? &gauge(name, help, labels) : nullptr;
    }
    MetricFamily<Gauge>* local(const char* name, const char* help, const Labels& labels) const {
        if (local_queues == Kept::no) return nullptr;
        return &gauge(name, help, labels);
    }

    template <class Metric, class Make>
    Twin<Metric> twin(const char* name, const std::string& help, const Labels& labels,
                      const Make& make) const {
        const std::string local_name = "local_queue_" + std::string(name);
        auto& of_queue = make(
            named(name, (help + ", by ClusterQueue.").c_str(), joined({"cluster_queue"}, labels)));
        if (local_queues == Kept::no) return {of_queue, nullptr};
        return {of_queue, &make(named(local_name.c_str(), (help + ", by LocalQueue.").c_str(),
                                      joined({"name", "namespace"}, labels)))};
    }
    Twin<Gauge> gauges(const char* name, const char* help, const Labels& labels) const {
        return twin<Gauge>(name, help, labels, [&](MetricName made) -> MetricFamily<Gauge>& {
            return metrics.gauges(std::move(made));
        });
    }
    Twin<Counter> counters(const char* name, const char* help, const Labels& labels) const {
        return twin<Counter>(name, help, labels, [&](MetricName made) -> MetricFamily<Counter>& {
            return metrics.counters(std::move(made));
        });
    }
    Twin<Histogram> waits(const char* name, const char* help) const {
        return twin<Histogram>(
            name, help, {"priority_class"}, [&](MetricName made) -> MetricFamily<Histogram>& {
                const bool long_one = made.name == "kueue_admission_wait_time_seconds";
                return metrics.histograms(std::move(made),
                                          doubling(long_one ? more_buckets : usual_buckets));
            });
    }
    Twin<Gauge> unadmitted() const {
        const char* name = "unadmitted_workloads";
        const char* local_name = "local_queue_unadmitted_workloads";
        const char* help = "Workloads that are not admitted, by what keeps them.";
        return {gauge(name, help, {"cluster_queue", "reason", "underlying_cause"}),
                local(local_name, help,
                      {"name", "namespace", "cluster_queue", "reason", "underlying_cause"})};
    }
};

const Labels by_class = {"priority_class"};
const Labels by_eviction = {"reason", "underlying_cause", "priority_class"};
const Labels by_quota = {"cohort", "cluster_queue", "flavor", "resource"};
const Labels by_local_quota = {"name", "namespace", "flavor", "resource"};

WorkloadFamilies workload_families(const Maker& make) {
    return {
        .attempts = make.counter("admission_attempts_total",
                                 "Decisions over the queues, by whether one admitted anything.",
                                 {"result"}),
        .attempt_seconds =
            make.histogram("admission_attempt_duration_seconds", "How long decisions took.",
                           {"result"}, {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}),
        .pending = make.gauges("pending_workloads",
                               "Waiting workloads: 'active' ones are still to be tried, "
                               "'inadmissible' ones were tried in vain or cannot be tried",
                               {"status"}),
        .pending_classes =
            make.gauge("pending_scheduling_hashes",
                       "Kinds of waiting workloads: those that need the same are one.",
                       {"cluster_queue", "status"}),
        .finished = make.gauges("finished_workloads", "Finished workloads that still exist", {}),
        .finished_total =
            make.counters("finished_workloads_total", "Workloads that finished", by_class),
        .reserved_total =
            make.counters("quota_reserved_workloads_total", "Workloads that got quota", by_class),
        .reserved_wait = make.waits("quota_reserved_wait_time_seconds",
                                    "From creation or requeuing to the quota"),
        .admitted_total =
            make.counters("admitted_workloads_total", "Workloads that were admitted", by_class),
        .admitted_wait = make.waits("admission_wait_time_seconds",
                                    "From creation or requeuing to the admission"),
        .checks_wait = make.waits("admission_checks_wait_time_seconds",
                                  "From the quota to the admission, where there are checks"),
        .ready_wait = make.waits("ready_wait_time_seconds",
                                 "From creation or requeuing until all pods are ready"),
        .admitted_until_ready = make.waits("admitted_until_ready_wait_time_seconds",
                                           "From the admission until all pods are ready"),
        .execution = make.waits("execution_time_seconds",
                                "How long finished workloads were admitted, all times together"),
        .evicted_total =
            make.counters("evicted_workloads_total", "Evictions of workloads", by_eviction),
        .evicted_once = make.counter(
            "evicted_workloads_once_total", "Workloads that were evicted, each reason once.",
            {"cluster_queue", "reason", "underlying_cause", "priority_class"}),
        .ready_until_evicted =
            make.histogram("pods_ready_to_evicted_time_seconds", "From ready pods to the eviction.",
                           {"cluster_queue", "reason", "underlying_cause"}, usual()),
        .eviction_latency = make.histogram("workload_eviction_latency_seconds",
                                           "From the eviction until the quota is given back.",
                                           {"cluster_queue", "reason"}, usual()),
        .replaced_slices =
            make.counter("replaced_workload_slices_total",
                         "Slices of elastic jobs that others have replaced.", {"cluster_queue"}),
        .preempted_total =
            make.counter("preempted_workloads_total",
                         "Workloads that were preempted, by the queue of who preempted them.",
                         {"preempting_cluster_queue", "reason"}),
        .creation_latency = make.histogram("workload_creation_latency_seconds",
                                           "From the creation of a job to that of its Workload.",
                                           {"job_kind"}, usual()),
    };
}

QueueFamilies queue_families(const Maker& make) {
    return {
        .reserving = make.gauges("reserving_active_workloads", "Workloads that hold quota", {}),
        .admitted = make.gauges("admitted_active_workloads",
                                "Admitted workloads that are not finished", {}),
        .unadmitted = make.unadmitted(),
        .queue_status =
            make.gauge("cluster_queue_status", "1 for the status that a ClusterQueue has.",
                       {"cluster_queue", "status"}),
        .local_status =
            make.local("local_queue_status", "1 for the status of a LocalQueue's condition Active.",
                       {"name", "namespace", "active"}),
        .queue_info = make.gauge("cluster_queue_info", "Where a ClusterQueue stands: 1.",
                                 {"cluster_queue", "parent_cohort", "root_cohort"}),
        .queue_share = make.gauge("cluster_queue_weighted_share",
                                  "The share of fair sharing; NaN for one that borrows with a "
                                  "weight of 0.",
                                  {"cluster_queue", "cohort"}),
        .queue_reservation = make.resource("cluster_queue_resource_reservation",
                                           "What holds quota in a ClusterQueue.", by_quota),
        .queue_usage = make.resource("cluster_queue_resource_usage",
                                     "What is admitted in a ClusterQueue.", by_quota),
        .nominal =
            make.resource("cluster_queue_nominal_quota", "A ClusterQueue's own quota.", by_quota),
        .borrowing = make.resource("cluster_queue_borrowing_limit",
                                   "The most that it may borrow; +Inf: no limit.", by_quota),
        .lending = make.resource("cluster_queue_lending_limit",
                                 "The most that it lends; +Inf: no limit.", by_quota),
        .queue_pending = make.resource("cluster_queue_resource_pending",
                                       "What a ClusterQueue's waiting workloads ask for.",
                                       {"cohort", "cluster_queue", "resource"}),
        .local_use = make.local("local_queue_admission_fair_sharing_usage",
                                "What a LocalQueue has used of late, by the weights of resources "
                                "and its own.",
                                {"name", "namespace"}),
        .local_reservation = make.local("local_queue_resource_reservation",
                                        "What holds quota of a LocalQueue.", by_local_quota),
        .local_usage = make.local("local_queue_resource_usage", "What is admitted of a LocalQueue.",
                                  by_local_quota),
    };
}

CohortFamilies cohort_families(const Maker& make) {
    return {
        .cohort_info = make.gauge("cohort_info", "Where a Cohort stands: 1.",
                                  {"cohort", "parent_cohort", "root_cohort"}),
        .cohort_share = make.gauge("cohort_weighted_share",
                                   "The share of fair sharing; NaN for one that borrows with a "
                                   "weight of 0.",
                                   {"cohort"}),
        .cohort_quota =
            make.gauge("cohort_subtree_quota", "The quota of a Cohort and of all below it.",
                       {"cohort", "flavor", "resource"}),
        .cohort_reservation = make.gauge("cohort_subtree_resource_reservations",
                                         "What holds quota in a Cohort and below it.",
                                         {"cohort", "flavor", "resource"}),
        .cohort_admitted = make.gauge("cohort_subtree_admitted_active_workloads",
                                      "Admitted workloads in a Cohort and below it.", {"cohort"}),
        .cohort_admitted_total = make.counter(
            "cohort_subtree_admitted_workloads_total",
            "Workloads that were admitted in a Cohort and below it.", {"cohort", "priority_class"}),
    };
}

}  // namespace

MetricFamilies make_metric_families(Metrics& metrics, Kept local_queues, Kept resources) {
    const Maker make{metrics, local_queues, resources};
    return {workload_families(make), queue_families(make), cohort_families(make)};
}

}  // namespace muster::control::queue

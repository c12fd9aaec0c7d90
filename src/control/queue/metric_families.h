// control/queue/metric_families.h - Kueue's metrics by their names: the families, their labels and
// buckets.
#pragma once

#include <string>
#include <vector>

#include "base/metrics.h"

namespace muster::control::queue {

/// The value of the label `replica_role`: there is one of us.
inline constexpr const char* replica_role = "standalone";

/// One number for each ClusterQueue and the same for each LocalQueue. The local one is null when
/// metrics of local queues are not kept.
template <class Metric>
struct Twin {
    MetricFamily<Metric>& of_queue;
    MetricFamily<Metric>* of_local;
};

/// Whether a family has a twin for local queues, or is there at all.
enum class Kept { no, yes };

/// Of decisions and Workloads.
struct WorkloadFamilies {
    // result
    MetricFamily<Counter>& attempts;
    MetricFamily<Histogram>& attempt_seconds;
    // cluster_queue | name, namespace; then:
    Twin<Gauge> pending;                           // status
    MetricFamily<Gauge>& pending_classes;          // status
    Twin<Gauge> finished;                          // -
    Twin<Counter> finished_total;                  // priority_class
    Twin<Counter> reserved_total;                  // priority_class
    Twin<Histogram> reserved_wait;                 // priority_class
    Twin<Counter> admitted_total;                  // priority_class
    Twin<Histogram> admitted_wait;                 // priority_class
    Twin<Histogram> checks_wait;                   // priority_class
    Twin<Histogram> ready_wait;                    // priority_class
    Twin<Histogram> admitted_until_ready;          // priority_class
    Twin<Histogram> execution;                     // priority_class
    Twin<Counter> evicted_total;                   // reason, underlying_cause, priority_class
    MetricFamily<Counter>& evicted_once;           // the same
    MetricFamily<Histogram>& ready_until_evicted;  // reason, underlying_cause
    MetricFamily<Histogram>& eviction_latency;     // reason
    MetricFamily<Counter>& replaced_slices;        // -
    MetricFamily<Counter>& preempted_total;        // of the preemptor's queue; reason
    MetricFamily<Histogram>& creation_latency;     // job_kind only
};

/// Of queues.
struct QueueFamilies {
    Twin<Gauge> reserving;              // -
    Twin<Gauge> admitted;               // -
    Twin<Gauge> unadmitted;             // reason, underlying_cause; local: cluster_queue first
    MetricFamily<Gauge>& queue_status;  // status
    MetricFamily<Gauge>* local_status;  // active
    MetricFamily<Gauge>& queue_info;    // parent_cohort, root_cohort
    MetricFamily<Gauge>& queue_share;   // cohort
    // cohort, cluster_queue, flavor, resource; null when they are not kept.
    MetricFamily<Gauge>* queue_reservation;
    MetricFamily<Gauge>* queue_usage;
    MetricFamily<Gauge>* nominal;
    MetricFamily<Gauge>* borrowing;
    MetricFamily<Gauge>* lending;
    MetricFamily<Gauge>* queue_pending;  // cohort, cluster_queue, resource
    MetricFamily<Gauge>* local_use;      // name, namespace
    // name, namespace, flavor, resource
    MetricFamily<Gauge>* local_reservation;
    MetricFamily<Gauge>* local_usage;
};

/// Of cohorts.
struct CohortFamilies {
    // cohort; then:
    MetricFamily<Gauge>& cohort_info;              // parent_cohort, root_cohort
    MetricFamily<Gauge>& cohort_share;             // -
    MetricFamily<Gauge>& cohort_quota;             // flavor, resource
    MetricFamily<Gauge>& cohort_reservation;       // flavor, resource
    MetricFamily<Gauge>& cohort_admitted;          // -
    MetricFamily<Counter>& cohort_admitted_total;  // priority_class
};

/// All families. Every series ends in the label `replica_role`. docs/deviations.md says which of
/// Kueue's are absent.
struct MetricFamilies : WorkloadFamilies, QueueFamilies, CohortFamilies {};

/// Requires: made once for each Metrics.
MetricFamilies make_metric_families(Metrics& metrics, Kept local_queues, Kept resources);

}  // namespace muster::control::queue

// bench_load/plan.h - a load as values: which queues there are, and what is created when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "base/time.h"

namespace muster::load {

/// Equal workloads of a queue: `count` of them, one every `interval` from the start on, each of one
/// pod of `cpus` that runs for `runs` once it is admitted.
struct WorkloadClass {
    std::string name;
    std::int64_t count = 0;
    std::int64_t cpus = 0;
    Duration runs;
    Duration interval;
    std::int64_t priority = 0;
};

/// Equal queues in equal cohorts. Each queue may borrow, takes back from anybody of its cohort what
/// it lent, and preempts lower priorities of its own.
struct LoadPlan {
    std::int64_t cohorts = 0;
    std::int64_t queues = 0;  // In each cohort.
    std::int64_t nominal_cpus = 20;
    std::int64_t borrowing_limit = 100;
    std::vector<WorkloadClass> classes;

    std::int64_t workloads() const;
    std::int64_t cpus() const;  // Of all queues.
    Duration shortest() const;  // With every cpu in use from the first moment on.
};

/// Load 1 of issue and design: 15,000 workloads in 5 cohorts of 6 queues. Load 2: 50,000 in 10
/// cohorts of 100. `percent` of the workloads of each class (at least one). Requires: number is 1
/// or 2.
LoadPlan numbered_plan(int number, std::int64_t percent = 100);

/// One workload that is to be created.
struct Arrival {
    Duration at;  // Since the start.
    std::int64_t cohort = 0;
    std::int64_t queue = 0;  // In its cohort.
    std::size_t kind = 0;    // Index of its class.
    std::int64_t number = 0;
};

/// All of them, the earliest first; what comes at one moment is ordered by queue.
std::vector<Arrival> arrivals(const LoadPlan& plan);

/// What things are called. A namespace is named as its cohort, a local queue as its cluster queue.
std::string cohort_name(std::int64_t cohort);
std::string queue_name(std::int64_t cohort, std::int64_t queue);
std::string workload_name(const LoadPlan& plan, const Arrival& arrival);

/// An object and where it goes.
struct Creation {
    api::GroupResource resource;
    std::string version;
    std::string ns;  // Empty: of the cluster.
    std::string name;
    api::Value body;
};

/// Namespaces, flavor, cluster queues and local queues, in the order in which they are created.
std::vector<Creation> structure(const LoadPlan& plan);

Creation workload_of(const LoadPlan& plan, const Arrival& arrival);

}  // namespace muster::load

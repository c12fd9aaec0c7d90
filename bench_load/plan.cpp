// bench_load/plan.cpp - the two loads, and their objects.
#include "bench_load/plan.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/verify.h"
#include "control/queue/names.h"

namespace muster::load {
namespace {

using api::Value;
namespace names = control::queue;

constexpr const char* flavor_name = "load";

Creation kueue_object(const char* kind, const api::GroupResource& resource, std::string ns,
                      std::string name, Value spec) {
    Value metadata = Value::object({{"name", name}});
    if (!ns.empty()) metadata.set("namespace", ns);
    Value body = Value::object({{"apiVersion", names::kueue_api_version},
                                {"kind", kind},
                                {"metadata", std::move(metadata)},
                                {"spec", std::move(spec)}});
    return {resource, std::string(names::kueue_version), std::move(ns), std::move(name),
            std::move(body)};
}

Creation cluster_queue(const LoadPlan& plan, std::int64_t cohort, std::int64_t queue) {
    Value quota = Value::object({{"name", "cpu"},
                                 {"nominalQuota", std::to_string(plan.nominal_cpus)},
                                 {"borrowingLimit", std::to_string(plan.borrowing_limit)}});
    Value flavor =
        Value::object({{"name", flavor_name}, {"resources", Value::array({std::move(quota)})}});
    Value group = Value::object({{"coveredResources", Value::array({"cpu"})},
                                 {"flavors", Value::array({std::move(flavor)})}});
    return kueue_object(
        "ClusterQueue", names::cluster_queues, {}, queue_name(cohort, queue),
        Value::object({{"cohortName", cohort_name(cohort)},
                       {"namespaceSelector", Value::object()},
                       {"queueingStrategy", "BestEffortFIFO"},
                       {"preemption", Value::object({{"reclaimWithinCohort", "Any"},
                                                     {"withinClusterQueue", "LowerPriority"}})},
                       {"resourceGroups", Value::array({std::move(group)})}}));
}

}  // namespace

std::string cohort_name(std::int64_t cohort) {
    return "load-" + std::to_string(cohort);
}

std::string queue_name(std::int64_t cohort, std::int64_t queue) {
    return cohort_name(cohort) + "-" + std::to_string(queue);
}

std::string workload_name(const LoadPlan& plan, const Arrival& arrival) {
    return queue_name(arrival.cohort, arrival.queue) + "-" + plan.classes[arrival.kind].name + "-" +
           std::to_string(arrival.number);
}

std::int64_t LoadPlan::workloads() const {
    std::int64_t sum = 0;
    for (const WorkloadClass& each : classes)
        sum += each.count;
    return sum * cohorts * queues;
}

std::int64_t LoadPlan::cpus() const {
    return nominal_cpus * cohorts * queues;
}

Duration LoadPlan::shortest() const {
    std::int64_t nanoseconds = 0;
    for (const WorkloadClass& each : classes)
        nanoseconds += each.count * each.cpus * each.runs.nanoseconds;
    return {nanoseconds / nominal_cpus};
}

LoadPlan numbered_plan(int number, std::int64_t percent) {
    VERIFY(number == 1 || number == 2);
    LoadPlan plan;
    plan.cohorts = number == 1 ? 5 : 10;
    plan.queues = number == 1 ? 6 : 100;
    const auto part = [percent](std::int64_t count) {
        return std::max<std::int64_t>(1, count * percent / 100);
    };
    plan.classes = {
        {"small", part(number == 1 ? 350 : 35), 1, milliseconds(200), milliseconds(100), 50},
        {"medium", part(number == 1 ? 100 : 11), 5, milliseconds(500), milliseconds(500), 100},
        {"large", part(number == 1 ? 50 : 4), 20, seconds(1), milliseconds(1200), 200},
    };
    return plan;
}

std::vector<Arrival> arrivals(const LoadPlan& plan) {
    std::vector<Arrival> all;
    for (std::int64_t cohort = 0; cohort < plan.cohorts; ++cohort) {
        for (std::int64_t queue = 0; queue < plan.queues; ++queue) {
            for (std::size_t kind = 0; kind < plan.classes.size(); ++kind) {
                for (std::int64_t i = 0; i < plan.classes[kind].count; ++i)
                    all.push_back({plan.classes[kind].interval * i, cohort, queue, kind, i});
            }
        }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
    return all;
}

std::vector<Creation> structure(const LoadPlan& plan) {
    std::vector<Creation> all;
    for (std::int64_t cohort = 0; cohort < plan.cohorts; ++cohort) {
        const std::string name = cohort_name(cohort);
        all.push_back({names::namespaces,
                       "v1",
                       {},
                       name,
                       Value::object({{"apiVersion", "v1"},
                                      {"kind", "Namespace"},
                                      {"metadata", Value::object({{"name", name}})}})});
    }
    all.push_back(kueue_object("ResourceFlavor", names::flavors, {}, flavor_name, Value::object()));
    for (std::int64_t cohort = 0; cohort < plan.cohorts; ++cohort) {
        for (std::int64_t queue = 0; queue < plan.queues; ++queue) {
            all.push_back(cluster_queue(plan, cohort, queue));
            const std::string name = queue_name(cohort, queue);
            all.push_back(kueue_object("LocalQueue", names::local_queues, cohort_name(cohort), name,
                                       Value::object({{"clusterQueue", name}})));
        }
    }
    return all;
}

Creation workload_of(const LoadPlan& plan, const Arrival& arrival) {
    const WorkloadClass& kind = plan.classes[arrival.kind];
    const std::string queue = queue_name(arrival.cohort, arrival.queue);
    Value requests = Value::object({{"cpu", std::to_string(kind.cpus)}});
    Value container =
        Value::object({{"name", "main"},
                       {"image", "load"},
                       {"resources", Value::object({{"requests", std::move(requests)}})}});
    Value pod = Value::object(
        {{"restartPolicy", "Never"}, {"containers", Value::array({std::move(container)})}});
    Value set = Value::object(
        {{"name", "main"}, {"count", 1}, {"template", Value::object({{"spec", std::move(pod)}})}});
    return kueue_object("Workload", names::workloads, cohort_name(arrival.cohort),
                        workload_name(plan, arrival),
                        Value::object({{"queueName", queue},
                                       {"priority", kind.priority},
                                       {"podSets", Value::array({std::move(set)})}}));
}

}  // namespace muster::load

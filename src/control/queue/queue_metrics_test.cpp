// control/queue/queue_metrics_test.cpp - what the metrics say after stories in the queues.
#include "control/queue/queue_metrics.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "control/cluster/small_cluster.h"
#include "control/conditions.h"
#include "control/queue/names.h"
#include "control/queue/planner.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

Settings everything() {
    Settings settings;
    settings.metrics.resources = MetricsSettings::Series::shown;
    return settings;
}

/// One ClusterQueue of 4 cpu in the cohort "org", with one LocalQueue, and its metrics.
struct Counted : cluster::SmallCluster {
    std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
    QueuePlanner planner;

    explicit Counted(const Settings& settings = everything())
        : planner(settings, {.metrics = metrics, .stopwatch = [] { return milliseconds(3); }}) {
        followers.push_back(&planner);
        put(namespaces, "{metadata: {name: team}}");
        put(flavors, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: spot}}");
        put(cluster_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: cq},
            spec: {namespaceSelector: {}, cohortName: org,
              preemption: {withinClusterQueue: LowerPriority}, resourceGroups: [{
              coveredResources: [cpu], flavors: [{name: spot,
              resources: [{name: cpu, nominalQuota: 4, lendingLimit: 1500m}]}]}]}})");
        put(local_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2,
            metadata: {name: lq, namespace: team, labels: {tier: gold}},
            spec: {clusterQueue: cq}})");
        settle();
    }

    /// Plans to rest; the status of queues is written after a pause.
    void settle() {
        SmallCluster::rest(planner);
        now = now + seconds(1);
        SmallCluster::rest(planner);
    }

    void workload(const std::string& name, const std::string& cpu, int priority,
                  const std::string& priority_class) {
        put(workloads, "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: " +
                           name + ", namespace: team}, spec: {queueName: lq, active: true, " +
                           "priority: " + std::to_string(priority) +
                           ", priorityClassRef: {group: kueue.x-k8s.io, kind: " +
                           "WorkloadPriorityClass, name: " + priority_class +
                           "}, podSets: [{name: main, count: 1, template: {spec: {containers: "
                           "[{name: c, resources: {requests: {cpu: " +
                           cpu + "}}}]}}}]}}");
    }
    kube::ObjectPtr get(const std::string& name) { return find(workloads, "team", name); }
    void change(const std::string& name, void (*how)(Value& status, Time at)) {
        Value value = get(name)->value;
        how(value.at("status"), now);
        store(workloads, std::move(value));
    }
    void end(const std::string& name) {
        change(name, [](Value& status, Time at) {
            set_condition(status.at("conditions"), {"Finished", "True", "Succeeded", ""}, at);
        });
    }

    bool says(const std::string& line) const {
        const std::string text = "\n" + metrics->text();
        const bool found = text.find("\nkueue_" + line + "\n") != std::string::npos;
        if (!found) MESSAGE("not there: " << line);
        return found;
    }
    bool mentions(const std::string& part) const {
        return metrics->text().find(part) != std::string::npos;
    }
};

const std::string of_cq = "{cluster_queue=\"cq\",";
const std::string of_lq = "{name=\"lq\",namespace=\"team\",";
const std::string alone = "replica_role=\"standalone\"}";

TEST_CASE("an admission counts once, with its waits, for both queues and the cohort") {
    Counted world;
    world.workload("first", "3", 1, "low");
    world.now = world.now + seconds(20);
    world.settle();
    const std::string low = "priority_class=\"low\"," + alone;
    for (const std::string& queue : {of_cq, "local_queue_" + of_lq}) {
        const bool local = queue != of_cq;
        const std::string prefix = local ? "local_queue_" : "";
        const std::string labels = local ? of_lq : of_cq;
        CHECK(world.says(prefix + "quota_reserved_workloads_total" + labels + low + " 1"));
        CHECK(world.says(prefix + "quota_reserved_wait_time_seconds_sum" + labels + low + " 20"));
        CHECK(world.says(prefix + "admitted_workloads_total" + labels + low + " 1"));
        CHECK(world.says(prefix + "admission_wait_time_seconds_count" + labels + low + " 1"));
        CHECK(world.says(prefix + "reserving_active_workloads" + labels + alone + " 1"));
        CHECK(world.says(prefix + "admitted_active_workloads" + labels + alone + " 1"));
        CHECK(world.says(prefix + "pending_workloads" + labels + "status=\"active\"," + alone +
                         " 0"));
    }
    CHECK_FALSE(world.mentions("admission_checks_wait_time_seconds_count"));
    CHECK(world.says("admission_attempts_total{result=\"success\"," + alone + " 1"));
    CHECK(world.says("admission_attempt_duration_seconds_sum{result=\"success\"," + alone + " 0"));
    CHECK(world.says("cohort_subtree_admitted_workloads_total{cohort=\"org\"," + low + " 1"));
    CHECK(world.says("cohort_subtree_admitted_active_workloads{cohort=\"org\"," + alone + " 1"));
    CHECK(
        world.says("cohort_subtree_resource_reservations{cohort=\"org\",flavor=\"spot\","
                   "resource=\"cpu\"," +
                   alone + " 3"));
    world.now = world.now + seconds(4);
    world.change("first", [](Value& status, Time at) {
        set_condition(status.at("conditions"), {"PodsReady", "True", "Started", ""}, at);
    });
    CHECK(world.says("ready_wait_time_seconds_sum" + of_cq + low + " 25"));
    CHECK(world.says("admitted_until_ready_wait_time_seconds_sum" + of_cq + low + " 5"));
}

TEST_CASE("what waits is counted by what keeps it, and what it asks for") {
    Counted world;
    world.workload("first", "3", 1, "low");
    world.settle();
    world.workload("second", "2", 1, "low");
    world.workload("third", "2", 1, "low");
    world.workload("fourth", "2500m", 1, "low");
    world.settle();
    CHECK(world.says("pending_workloads" + of_cq + "status=\"inadmissible\"," + alone + " 3"));
    CHECK(world.says("local_queue_pending_workloads" + of_lq + "status=\"inadmissible\"," + alone +
                     " 3"));
    CHECK(world.says("pending_scheduling_hashes" + of_cq + "status=\"inadmissible\"," + alone +
                     " 2"));
    CHECK(
        world.says("cluster_queue_resource_pending{cohort=\"org\",cluster_queue=\"cq\","
                   "resource=\"cpu\"," +
                   alone + " 6.5"));
    const std::string quota = "reason=\"NoReservation\",underlying_cause=\"WaitingForQuota\",";
    const std::string fresh = "reason=\"NoReservation\",underlying_cause=\"PendingEvaluation\",";
    CHECK(world.says("unadmitted_workloads" + of_cq + quota + alone + " 2"));
    CHECK(world.says("unadmitted_workloads" + of_cq + fresh + alone + " 1"));
    CHECK(world.says("local_queue_unadmitted_workloads" + of_lq + "cluster_queue=\"cq\"," + quota +
                     alone + " 2"));
    world.erase({workloads, "team", "second"});
    world.erase({workloads, "team", "third"});
    world.erase({workloads, "team", "fourth"});
    world.settle();
    CHECK(world.says("pending_workloads" + of_cq + "status=\"inadmissible\"," + alone + " 0"));
    CHECK_FALSE(world.mentions("underlying_cause=\"WaitingForQuota\""));
}

TEST_CASE("a preemption counts for who preempted, and as an eviction of the victim") {
    Counted world;
    world.workload("first", "3", 1, "low");
    world.settle();
    world.change("first", [](Value& status, Time at) {
        set_condition(status.at("conditions"), {"PodsReady", "True", "Started", ""}, at);
    });
    world.now = world.now + seconds(9);
    world.workload("urgent", "4", 10, "high");
    world.settle();
    const std::string words = "reason=\"Preempted\",underlying_cause=\"\",";
    const std::string low = "priority_class=\"low\"," + alone;
    CHECK(
        world.says("preempted_workloads_total{preempting_cluster_queue=\"cq\","
                   "reason=\"InClusterQueue\"," +
                   alone + " 1"));
    CHECK(world.says("evicted_workloads_total" + of_cq + words + low + " 1"));
    CHECK(world.says("evicted_workloads_once_total" + of_cq + words + low + " 1"));
    CHECK(world.says("local_queue_evicted_workloads_total" + of_lq + words + low + " 1"));
    CHECK(world.says("pods_ready_to_evicted_time_seconds_sum" + of_cq + words + alone + " 9"));
    world.now = world.now + seconds(6);
    world.change("first", [](Value& status, Time at) { clear_admission(status, at); });
    world.settle();
    CHECK(world.says("workload_eviction_latency_seconds_sum" + of_cq + "reason=\"Preempted\"," +
                     alone + " 7"));
    CHECK(
        world.says("admitted_workloads_total" + of_cq + "priority_class=\"high\"," + alone + " 1"));
    world.now = world.now + seconds(30);
    world.end("urgent");
    world.settle();
    const std::string high = "priority_class=\"high\"," + alone;
    CHECK(world.says("finished_workloads_total" + of_cq + high + " 1"));
    CHECK(world.says("finished_workloads" + of_cq + alone + " 1"));
    CHECK(world.says("local_queue_execution_time_seconds_count" + of_lq + high + " 1"));
    CHECK(world.says("execution_time_seconds_sum" + of_cq + high + " 30"));
    CHECK(world.says("admitted_workloads_total" + of_cq + low + " 2"));
    world.erase({workloads, "team", "urgent"});
    CHECK(world.says("finished_workloads" + of_cq + alone + " 0"));
    CHECK(world.says("finished_workloads_total" + of_cq + high + " 1"));
}

TEST_CASE("queues show their status, their place and their quotas, and go when they go") {
    Counted world;
    const std::string spot =
        "{cohort=\"org\",cluster_queue=\"cq\",flavor=\"spot\","
        "resource=\"cpu\"," +
        alone;
    CHECK(world.says("cluster_queue_status" + of_cq + "status=\"active\"," + alone + " 1"));
    CHECK(world.says("cluster_queue_status" + of_cq + "status=\"pending\"," + alone + " 0"));
    CHECK(world.says("local_queue_status" + of_lq + "active=\"True\"," + alone + " 1"));
    CHECK(world.says("local_queue_status" + of_lq + "active=\"Unknown\"," + alone + " 0"));
    CHECK(world.says("cluster_queue_info" + of_cq + "parent_cohort=\"org\",root_cohort=\"org\"," +
                     alone + " 1"));
    CHECK(world.says("cohort_info{cohort=\"org\",parent_cohort=\"\",root_cohort=\"org\"," + alone +
                     " 1"));
    CHECK(world.says("cluster_queue_nominal_quota" + spot + " 4"));
    CHECK(world.says("cluster_queue_borrowing_limit" + spot + " +Inf"));
    CHECK(world.says("cluster_queue_lending_limit" + spot + " 1.5"));
    CHECK(world.says("cohort_subtree_quota{cohort=\"org\",flavor=\"spot\",resource=\"cpu\"," +
                     alone + " 1.5"));
    world.patch(world.find(cluster_queues, "", "cq"), "{spec: {stopPolicy: Hold}}");
    world.settle();
    CHECK(world.says("cluster_queue_status" + of_cq + "status=\"pending\"," + alone + " 1"));
    CHECK(world.says("local_queue_status" + of_lq + "active=\"False\"," + alone + " 1"));
    world.patch(world.find(cluster_queues, "", "cq"), "{spec: {cohortName: other}}");
    world.settle();
    CHECK_FALSE(world.mentions("\"org\""));
    CHECK(world.says("cluster_queue_info" + of_cq +
                     "parent_cohort=\"other\",root_cohort=\"other\"," + alone + " 1"));
    world.erase({local_queues, "team", "lq"});
    world.erase({cluster_queues, "", "cq"});
    world.settle();
    CHECK_FALSE(world.mentions("\"cq\""));
    CHECK_FALSE(world.mentions("\"lq\""));
}

TEST_CASE("series of local queues and of resources are kept as the settings say") {
    Settings settings;
    settings.metrics.selected = decide::Selector{{{"tier", "silver"}}, {}};
    Counted silver(settings);
    CHECK_FALSE(silver.mentions("\"lq\""));
    CHECK_FALSE(silver.mentions("nominal_quota"));
    silver.patch(silver.find(local_queues, "team", "lq"), "{metadata: {labels: {tier: silver}}}");
    silver.workload("first", "3", 1, "low");
    silver.settle();
    CHECK(silver.says("local_queue_admitted_workloads_total" + of_lq + "priority_class=\"low\"," +
                      alone + " 1"));
    settings.metrics.local_queues = MetricsSettings::Series::hidden;
    Counted hidden(settings);
    hidden.workload("first", "3", 1, "low");
    hidden.settle();
    CHECK_FALSE(hidden.mentions("local_queue_"));
}

TEST_CASE("families have Kueue's types and buckets") {
    Counted world;
    world.workload("first", "3", 1, "low");
    world.settle();
    CHECK(world.mentions("# TYPE kueue_pending_workloads gauge\n"));
    CHECK(world.mentions("# TYPE kueue_admitted_workloads_total counter\n"));
    CHECK(world.mentions("# TYPE kueue_admission_wait_time_seconds histogram\n"));
    CHECK(
        world.mentions("# HELP kueue_admission_wait_time_seconds From creation or requeuing to "
                       "the admission, by ClusterQueue.\n"));
    std::string bounds;
    Metrics other;
    make_metric_families(other, Kept::yes, Kept::no)
        .admitted_wait.of_queue.with({"q", "c", replica_role});
    const std::string text = other.text();
    for (std::size_t at = 0; (at = text.find(",le=\"", at)) != std::string::npos;) {
        at += 5;
        bounds += text.substr(at, text.find('"', at) - at) + " ";
    }
    CHECK(bounds == "1 2.5 5 10 20 40 80 160 320 640 1280 2560 5120 10240 20480 40960 +Inf ");
    CHECK(other.text().find("local_queue_status{") == std::string::npos);
}

}  // namespace
}  // namespace muster::control::queue

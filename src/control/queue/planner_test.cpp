// control/queue/planner_test.cpp - the queues at work: jobs, workloads, AppWrappers, on a server
// that fits in a cache.
#include "control/queue/planner.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "control/appwrapper/controller.h"
#include "control/appwrapper/status.h"
#include "control/fold_pod.h"
#include "control/queue/explain.h"
#include "control/queue/jobs.h"
#include "control/queue/names.h"
#include "control/queue/small_queues.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

struct Queues : SmallQueues {};

TEST_CASE("a queued job gets a workload, is admitted and started with its marks") {
    Queues world;
    world.job("train", "cpu: 3");
    world.rest();
    const auto workload = world.workload_of("train");
    REQUIRE(workload != nullptr);
    CHECK(workload->key.name.starts_with("job-train-"));
    CHECK(workload->key.name.size() == std::string("job-train-").size() + 5);
    CHECK(workload->label(job_uid_label) == world.job_now("train")->uid);
    CHECK(is_admitted(workload->value));
    CHECK(workload->value.path("status.admission.podSetAssignments")[0]["resourceUsage"]["cpu"]
              .text() == "3");
    const Value& spec = world.job_now("train")->value["spec"];
    CHECK_FALSE(spec["suspend"].boolean_or(true));
    CHECK(spec["template"]["metadata"]["labels"][pod_set_label].text() == "main");
    CHECK(spec["template"]["metadata"]["annotations"][workload_annotation].text() ==
          workload->key.name);
    CHECK(world.has_event("CreatedWorkload"));
    CHECK(world.has_event("QuotaReserved"));
    CHECK(world.has_event("Admitted"));
    CHECK(world.has_event("Started"));
    const Value& status = world.find(cluster_queues, "", "cluster-queue")->value["status"];
    CHECK(status["admittedWorkloads"].integer_or(0) == 1);
    CHECK(status["flavorsUsage"][0]["resources"][0]["total"].text() == "3");
    CHECK(condition_of(status, "Active")["reason"].text() == "Ready");
}

TEST_CASE("what does not fit waits with Kueue's words, and a later one that fits passes it") {
    Queues world;
    world.job("first", "cpu: 8");
    world.rest();
    world.job("second", "cpu: 2");
    world.job("never", "nvidia.com/gpu: 6");
    world.rest();
    world.job("small", "cpu: 1");
    world.rest();
    CHECK(world.condition("second", "QuotaReserved")["reason"].text() == "WaitingForQuota");
    CHECK(world.condition("second", "QuotaReserved")["message"].text() ==
          "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
          "default-flavor, 1 more needed");
    CHECK(world.condition("never", "QuotaReserved")["reason"].text() == "ExceedsMaxQuota");
    CHECK(
        world.condition("never", "QuotaReserved")["message"].text() ==
        "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor "
        "default-flavor, previously considered podsets requests (0) + current podset request (6) "
        "> maximum capacity (5)");
    CHECK(is_admitted(world.workload_of("small")->value));
    CHECK(world.job_now("second")->value["spec"]["suspend"].boolean_or(false));
    CHECK(world.pending() == "2");
}

TEST_CASE("a finished job gives its quota back at once and ends its workload") {
    Queues world;
    world.job("first", "cpu: 8");
    world.job("second", "cpu: 8");
    world.rest();
    REQUIRE(is_admitted(world.workload_of("first")->value));
    world.patch(world.job_now("first"),
                "{status: {conditions: [{type: Failed, status: 'True', message: it broke}]}}");
    world.rest();
    CHECK(world.condition("first", "Finished")["reason"].text() == "Failed");
    CHECK(world.condition("first", "Finished")["message"].text() == "it broke");
    CHECK(world.workload_of("first")->value["metadata"]["finalizers"].empty());
    CHECK(is_admitted(world.workload_of("second")->value));
}

TEST_CASE("a deactivated workload stops its job, and its quota is free when the last pod is gone") {
    Queues world;
    world.job("first", "cpu: 8");
    world.rest();
    world.job("second", "cpu: 8");
    world.rest();
    const auto pod = world.pod("first-0", *world.job_now("first"), "cpu: 8");
    world.patch(world.workload_of("first"), "{spec: {active: false}}");
    world.rest();
    CHECK(world.condition("first", "Evicted")["reason"].text() == "Deactivated");
    CHECK(world.job_now("first")->value["spec"]["suspend"].boolean_or(false));
    CHECK(has_admission(world.workload_of("first")->value));
    CHECK_FALSE(is_admitted(world.workload_of("second")->value));
    world.end_pod(pod, "Failed");
    world.rest();
    CHECK_FALSE(has_admission(world.workload_of("first")->value));
    CHECK(world.condition("first", "Requeued")["status"].text() == "False");
    CHECK_FALSE(
        world.job_now("first")->value["spec"]["template"]["metadata"]["labels"].has(pod_set_label));
    CHECK(is_admitted(world.workload_of("second")->value));
    CHECK(world.has_event("EvictedDueToDeactivated"));
    CHECK(world.has_event("Stopped"));
}

TEST_CASE("a reactivated workload is admitted again and its conditions are taken back") {
    Queues world;
    world.job("first", "cpu: 8");
    world.rest();
    world.patch(world.workload_of("first"), "{spec: {active: false}}");
    world.rest();
    CHECK_FALSE(has_admission(world.workload_of("first")->value));
    world.patch(world.workload_of("first"), "{spec: {active: true}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("first")->value));
    CHECK(world.condition("first", "Evicted")["status"].text() == "False");
    CHECK(world.condition("first", "Evicted")["reason"].text() == "QuotaReserved");
    CHECK_FALSE(world.job_now("first")->value["spec"]["suspend"].boolean_or(true));
}

TEST_CASE("a stopped queue admits nothing, a drained one lets its jobs go") {
    Queues world;
    world.job("first", "cpu: 1");
    world.rest();
    world.patch(world.find(cluster_queues, "", "cluster-queue"), "{spec: {stopPolicy: Hold}}");
    world.job("second", "cpu: 1");
    world.rest();
    CHECK(is_admitted(world.workload_of("first")->value));
    CHECK(world.condition("second", "QuotaReserved")["reason"].text() == "Suspended");
    const Value& status = world.find(cluster_queues, "", "cluster-queue")->value["status"];
    CHECK(condition_of(status, "Active")["reason"].text() == "Stopped");
    world.patch(world.find(cluster_queues, "", "cluster-queue"),
                "{spec: {stopPolicy: HoldAndDrain}}");
    world.rest();
    CHECK(world.condition("first", "Evicted")["reason"].text() == "ClusterQueueStopped");
    CHECK_FALSE(has_admission(world.workload_of("first")->value));
    world.patch(world.find(cluster_queues, "", "cluster-queue"), "{spec: {stopPolicy: None}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("first")->value));
    CHECK(is_admitted(world.workload_of("second")->value));
}

TEST_CASE("a removed job's workload stays until its processes are gone") {
    Queues world;
    world.job("first", "cpu: 8");
    world.job("second", "cpu: 8");
    world.rest();
    const auto pod = world.pod("first-0", *world.job_now("first"), "cpu: 8");
    world.rest();
    world.remove(world.job_now("first")->key);
    world.rest();
    CHECK(world.workload_of("first") != nullptr);
    CHECK_FALSE(is_admitted(world.workload_of("second")->value));
    world.end_pod(pod, "Failed");
    world.rest();
    CHECK(world.workload_of("first") == nullptr);
    CHECK(is_admitted(world.workload_of("second")->value));
}

TEST_CASE(
    "who comes by the name of one that ended is another one, as long as that one's pods live") {
    Queues world;
    world.job("first", "cpu: 4");
    world.rest();
    const auto pod = world.pod("first-0", *world.job_now("first"), "cpu: 4");
    world.rest();
    const api::Key before = world.workload_of("first")->key;
    CHECK(world.planner.id_of(before) == "job team/first");
    world.patch(world.job_now("first"), "{status: {conditions: [{type: Failed, status: 'True'}]}}");
    world.rest();
    CHECK(world.planner.id_of(before) == "job team/first");
    world.end_pod(pod, "Failed");
    world.rest();
    world.patch(world.workload_of("first"), "{metadata: {labels: {seen: again}}}");
    world.rest();
    CHECK(!world.planner.id_of(before));  // Nothing is kept of what is over.
}

TEST_CASE("a waiting job follows its priority class") {
    Queues world;
    world.put(workload_priority_classes, "{metadata: {name: high}, value: 1000}");
    world.job("first", "cpu: 9");
    world.rest();
    world.job("second", "cpu: 9");
    world.job("third", "cpu: 9", 1, ", kueue.x-k8s.io/priority-class: high");
    world.rest();
    CHECK(world.workload_of("third")->value["spec"]["priority"].integer_or(0) == 1000);
    CHECK(world.workload_of("third")->value["spec"]["priorityClassRef"]["name"].text() == "high");
    world.put(workload_priority_classes, "{metadata: {name: high}, value: 2000}");
    world.rest();
    CHECK(world.workload_of("third")->value["spec"]["priority"].integer_or(0) == 2000);
    world.remove(world.job_now("first")->key);
    world.rest();
    CHECK(is_admitted(world.workload_of("third")->value));
    CHECK_FALSE(is_admitted(world.workload_of("second")->value));
}

TEST_CASE("a waiting job that is changed takes its workload along") {
    Queues world;
    world.job("first", "cpu: 10");
    world.rest();
    CHECK(world.condition("first", "QuotaReserved")["reason"].text() == "ExceedsMaxQuota");
    world.patch(world.job_now("first"),
                "{spec: {template: {spec: {containers: [{name: main, "
                "resources: {requests: {cpu: 2}}}]}}}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("first")->value));
    CHECK(world.has_event("UpdatedWorkload"));
}

TEST_CASE("a job that ran longer than it may is deactivated") {
    Queues world;
    world.job("first", "cpu: 1", 1, ", kueue.x-k8s.io/max-exec-time-seconds: '60'");
    world.rest();
    REQUIRE(is_admitted(world.workload_of("first")->value));
    world.now = world.now + seconds(70);
    world.rest();
    CHECK_FALSE(world.workload_of("first")->value["spec"]["active"].boolean_or(true));
    CHECK(world.condition("first", "Evicted")["reason"].text() ==
          "DeactivatedDueToMaximumExecutionTimeExceeded");
    CHECK(world.job_now("first")->value["spec"]["suspend"].boolean_or(false));
}

TEST_CASE("flavors put their labels and tolerations into started jobs, and take them out again") {
    Queues world;
    world.put(flavors, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: spot}, spec: {
        nodeLabels: {instance-type: spot}, tolerations: [{key: spot, operator: Exists}]}})");
    world.put(cluster_queues,
              R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: cluster-queue},
        spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [
          {name: spot, resources: [{name: cpu, nominalQuota: 9}]}]}]}})");
    world.job("first", "cpu: 1");
    world.rest();
    const auto spec = [&] { return world.job_now("first")->value["spec"]["template"]["spec"]; };
    CHECK(spec()["nodeSelector"]["instance-type"].text() == "spot");
    CHECK(spec()["tolerations"].size() == 1);
    world.patch(world.workload_of("first"), "{spec: {active: false}}");
    world.rest();
    CHECK(spec()["nodeSelector"].empty());
    CHECK(spec()["tolerations"].empty());
}

TEST_CASE("queues without what they need say so, and heal") {
    Queues world;
    world.put(local_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2,
        metadata: {name: nowhere, namespace: team}, spec: {clusterQueue: missing}})");
    world.put(cluster_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: odd},
        spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [
          {name: gone, resources: [{name: cpu, nominalQuota: 1}]}]}]}})");
    world.rest();
    const auto reason = [&](const api::GroupResource& resource, const std::string& ns,
                            const std::string& name) {
        return condition_of(world.find(resource, ns, name)->value["status"], "Active")["reason"]
            .text();
    };
    CHECK(reason(local_queues, "team", "nowhere") == "ClusterQueueDoesNotExist");
    CHECK(reason(cluster_queues, "", "odd") == "FlavorNotFound");
    world.put(flavors, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: gone}}");
    world.rest();
    CHECK(reason(cluster_queues, "", "odd") == "Ready");
}

TEST_CASE("a queue in use stays until its last workload is gone, a flavor until its last queue") {
    Queues world;
    world.job("first", "cpu: 1");
    world.rest();
    world.remove({flavors, "", "default-flavor"});
    world.remove({cluster_queues, "", "cluster-queue"});
    world.rest();
    REQUIRE(world.find(cluster_queues, "", "cluster-queue") != nullptr);
    CHECK(world.find(flavors, "", "default-flavor") != nullptr);
    world.remove(world.job_now("first")->key);
    world.rest();
    CHECK(world.find(cluster_queues, "", "cluster-queue") == nullptr);
    CHECK(world.find(flavors, "", "default-flavor") == nullptr);
}

TEST_CASE("a restart finds what was admitted admitted, and admits nothing beyond the quota") {
    Queues world;
    world.job("first", "cpu: 8");
    world.job("second", "cpu: 8");
    world.rest();
    QueuePlanner reborn;
    for (const auto& resource : reborn.watches()) {
        for (const kube::ObjectPtr& object : world.seen.list(resource.first))
            reborn.observe(nullptr, object.get());
    }
    const Reconciled plan = reborn.plan(world.seen, world.now);
    CHECK(plan.writes.empty());
    CHECK(decide::assignment_of(reborn.state(), "job team/first").has_value());
    CHECK_FALSE(decide::assignment_of(reborn.state(), "job team/second").has_value());
    CHECK(decide::broken_invariants(reborn.state()).empty());
}

TEST_CASE("an admission whose write failed is made again") {
    Queues world;
    world.job("first", "cpu: 8");
    world.turn();
    // Between the look and the write somebody else wrote.
    world.patch(world.workload_of("first"), "{metadata: {labels: {seen: 'yes'}}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("first")->value));
    const Value& status = world.find(cluster_queues, "", "cluster-queue")->value["status"];
    CHECK(status["admittedWorkloads"].integer_or(0) == 1);
}

TEST_CASE(
    "AppWrappers start whole or wait without a single object, and the next starts when the "
    "pods of the first are gone") {
    Queues world;
    world.put(pods, R"({metadata: {namespace: team, name: other-work}, spec: {nodeName: laptop,
        containers: [{name: main, resources: {requests: {cpu: 3050m, memory: 2918400Ki}}}]},
        status: {phase: Running}})");
    world.wrapper("one");
    world.rest();
    CHECK(world.wrapper_status("one")["state"].text() == "Running");
    CHECK(world.job_now("one") != nullptr);
    world.wrapper("two");
    world.rest();
    CHECK(world.wrapper_status("two")["queuejobstate"].text() == "Backoff");
    CHECK(world.wrapper_status("two")["sender"].text() == "before ScheduleNext - setHOL");
    CHECK(world.wrapper_status("two")["conditions"][3]["message"].text() ==
          "Insufficient resources to dispatch AppWrapper.");
    CHECK(world.job_now("two") == nullptr);
    const auto head = world.pod("one-head", *world.job_now("one"), "cpu: 1, memory: 2G");
    const auto worker = world.pod("one-worker", *world.job_now("one"), "cpu: 2, memory: 2G");
    world.rest();
    const Value why = explain(world.planner, world.seen, {app_wrappers, "team", "two"}, world.now);
    CHECK(why["verdict"].text() == "starts_by_itself");
    CHECK(why["text"].text().find("cpu") != std::string::npos);
    world.remove({app_wrappers, "team", "one"});
    world.rest();
    CHECK(world.job_now("two") == nullptr);
    world.end_pod(head, "Failed");
    world.rest();
    CHECK(world.job_now("two") == nullptr);
    world.end_pod(worker, "Failed");
    world.rest();
    CHECK(world.wrapper_status("two")["state"].text() == "Running");
    CHECK(world.job_now("two") != nullptr);
}

TEST_CASE(
    "an AppWrapper with a queue needs quota and nodes, and what it wraps is not queued again") {
    Queues world;
    world.job("first", "cpu: 7");
    world.rest();
    world.wrapper("one", "kueue.x-k8s.io/queue-name: lq");
    world.rest();
    CHECK(world.wrapper_status("one")["conditions"][3]["reason"].text() == "quota limit exceeded");
    CHECK(world.wrapper_status("one")["conditions"][3]["message"].text() ==
          "Insufficient quota and/or resources to dispatch AppWrapper.");
    world.remove(world.job_now("first")->key);
    world.rest();
    CHECK(world.wrapper_status("one")["state"].text() == "Running");
    CHECK(world.seen.list(workloads, "team").size() == 1);
    world.patch(world.find(app_wrappers, "team", "one"), "{status: {state: Completed}}");
    world.rest();
    CHECK(is_finished(world.seen.list(workloads, "team")[0]->value));
}

TEST_CASE("an AppWrapper whose pods cannot run gives its quota back and is tried again later") {
    Queues world;
    world.wrapper("one", "kueue.x-k8s.io/queue-name: lq");
    world.rest();
    const auto object = world.find(app_wrappers, "team", "one");
    Value taken = object->value;
    taken.set("status", appwrapper::preempted(taken, "MinPodsNotRunning", "too few", world.now));
    world.store(app_wrappers, taken);
    for (int i = 0; i < 3; ++i)
        world.turn();
    if (const auto job = world.job_now("one"); job != nullptr)
        world.erase(job->key);  // The garbage collector's part.
    for (int i = 0; i < 6; ++i)
        world.turn();
    const auto workload = world.seen.list(workloads, "team")[0];
    CHECK(condition_of(workload->value["status"], "Evicted")["reason"].text() ==
          "PodsReadyTimeout");
    CHECK_FALSE(has_admission(workload->value));
    CHECK(world.job_now("one") == nullptr);
    world.now = world.now + seconds(21);
    world.rest();
    CHECK(world.wrapper_status("one")["state"].text() == "Running");
}

TEST_CASE("an AppWrapper that its stopped queue puts out clears what it made and waits") {
    Queues world;
    world.wrapper("one", "kueue.x-k8s.io/queue-name: lq");
    world.rest();
    REQUIRE(world.job_now("one") != nullptr);
    world.patch(world.find(cluster_queues, "", "cluster-queue"),
                "{spec: {stopPolicy: HoldAndDrain}}");
    for (int i = 0; i < 3; ++i)
        world.turn();
    if (const auto job = world.job_now("one"); job != nullptr)
        world.erase(job->key);  // The garbage collector's part.
    world.rest();
    CHECK_FALSE(world.wrapper_status("one").has("canrun"));
    CHECK_FALSE(has_admission(world.seen.list(workloads, "team")[0]->value));
    world.patch(world.find(cluster_queues, "", "cluster-queue"), "{spec: {stopPolicy: None}}");
    world.rest();
    CHECK(world.wrapper_status("one")["state"].text() == "Running");
}

/// A cluster of many ClusterQueues in each of which one more workload waits after the other.
struct ManyQueues : cluster::SmallCluster {
    QueuePlanner planner{Settings{}, {}};
    int queues;

    explicit ManyQueues(int count) : queues(count) {
        followers.push_back(&planner);
        put(namespaces, "{metadata: {name: team}}");
        put(flavors, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: spot}}");
        for (int i = 0; i < queues; ++i) {
            const std::string name = "q" + std::to_string(i);
            put(cluster_queues, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: " + name +
                                    R"(}, spec: {namespaceSelector: {}, resourceGroups: [{
                coveredResources: [cpu], flavors: [{name: spot,
                resources: [{name: cpu, nominalQuota: 1}]}]}]}})");
            put(local_queues, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: " + name +
                                  ", namespace: team}, spec: {clusterQueue: " + name + "}}");
        }
        for (int i = 0; i < 3; ++i) {  // Finalizers first.
            rest(planner);
            now = now + seconds(2);
        }
    }
    void submit_everywhere(const std::string& name) {
        for (int i = 0; i < queues; ++i) {
            const std::string queue = "q" + std::to_string(i);
            put(workloads,
                "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: " + queue +
                    name + ", namespace: team}, spec: {queueName: " + queue +
                    ", active: true, priority: 0, podSets: [{name: main, count: 1, "
                    "template: {spec: {containers: [{name: c, resources: {requests: "
                    "{cpu: 2}}}]}}}]}}");
        }
    }
    std::int64_t pending(const std::string& queue) {
        return find(cluster_queues, "", queue)->value["status"]["pendingWorkloads"].integer_or(0);
    }
};

TEST_CASE("counts of many queues are written together and at most once a second, of few at once") {
    ManyQueues many(60);
    many.submit_everywhere("a");
    many.rest(many.planner);
    CHECK(many.pending("q59") == 1);
    many.submit_everywhere("b");
    many.now = many.now + milliseconds(500);
    many.rest(many.planner);
    CHECK(many.pending("q59") == 1);
    many.now = many.now + milliseconds(500);
    many.rest(many.planner);
    CHECK(many.pending("q59") == 2);

    ManyQueues few(2);
    few.submit_everywhere("a");
    few.rest(few.planner);
    few.submit_everywhere("b");
    few.now = few.now + milliseconds(100);
    few.rest(few.planner);
    CHECK(few.pending("q1") == 2);
}

}  // namespace
}  // namespace muster::control::queue

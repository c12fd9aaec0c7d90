// control/queue/planner_books_test.cpp - what the planner notes down of objects never loses what
// must be looked at again, whatever goes first.
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

struct Queues : SmallQueues {
    using SmallQueues::SmallQueues;

    kube::ObjectPtr workload(const std::string& name, const std::string& more = "", int cpu = 9) {
        return put(workloads, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {namespace: team, " +
                                  ("name: " + name) + "}, spec: {queueName: lq, " + more +
                                  "podSets: [{name: main, count: 1, template: {spec: " +
                                  "{containers: [{name: main, resources: {requests: {cpu: " +
                                  std::to_string(cpu) + "}}}]}}}]}}");
    }
    kube::ObjectPtr workload_now(const std::string& name) { return find(workloads, "team", name); }
    void say(const std::string& name, const std::string& type, const std::string& reason) {
        Value changed = workload_now(name)->value;
        set_condition(changed.at("status").at("conditions"), {type, "True", reason, ""}, now);
        store(workloads, std::move(changed));
    }
    kube::ObjectPtr queue_now() { return find(cluster_queues, "", "cluster-queue"); }
    void remove_queues() {
        remove({local_queues, "team", "lq"});
        remove({cluster_queues, "", "cluster-queue"});
    }
    /// Only plans: no controller looks.
    void pass_seconds(int count) {
        for (int i = 0; i < 10 * count; ++i) {
            for (const Write& write : planner.plan(seen, now).writes) {
                if (!take(write)) planner.failed(write);
            }
            now = now + milliseconds(100);
        }
    }
    void restart() {
        planner = QueuePlanner();
        for (const auto& resource : planner.watches()) {
            for (const kube::ObjectPtr& object : seen.list(resource.first))
                planner.observe(nullptr, object.get());
        }
    }
};

TEST_CASE("a queue that is used by what lost its LocalQueue goes with the last of that too") {
    for (const bool restarts : {false, true}) {
        CAPTURE(restarts);
        Queues world;
        world.job("first", "cpu: 1");
        world.rest();
        world.remove_queues();
        world.rest();
        REQUIRE(world.queue_now() != nullptr);
        if (restarts) world.restart();
        world.rest();
        world.remove(world.job_now("first")->key);
        world.rest();
        CHECK(world.queue_now() == nullptr);
    }
}

TEST_CASE("a queue that is used by an admission that comes to nothing goes with that") {
    Queues world;
    world.workload("first");
    std::vector<Write> on_their_way;
    for (const Write& write : world.planner.plan(world.seen, world.now).writes) {
        if (write.key.resource == workloads) {
            on_their_way.push_back(write);
        } else if (!world.take(write)) {
            world.planner.failed(write);
        }
    }
    REQUIRE(on_their_way.size() == 1);
    world.remove_queues();
    world.pass_seconds(5);
    REQUIRE(world.queue_now() != nullptr);
    world.remove({workloads, "team", "first"});
    world.planner.failed(on_their_way[0]);
    world.pass_seconds(5);
    CHECK(world.queue_now() == nullptr);
}

TEST_CASE("a workload that is taken out of its queue while it waits is not started") {
    Queues world;
    world.workload("runs");
    world.workload("waits");
    world.rest();
    REQUIRE(has_admission(world.workload_now("runs")->value));
    world.patch(world.workload_now("waits"), "{spec: {queueName: null}}");
    world.rest();
    world.say("runs", "Finished", "Succeeded");
    world.rest();
    CHECK_FALSE(has_admission(world.workload_now("waits")->value));
    CHECK(world.queue_now()->value["status"]["pendingWorkloads"].integer_or(-1) == 0);
    world.patch(world.workload_now("waits"), "{spec: {queueName: lq}}");
    world.rest();
    CHECK(has_admission(world.workload_now("waits")->value));
}

TEST_CASE("pods that are ready before the admission is seen let the next ones in") {
    LifePolicy policy;
    policy.wait_for_pods_ready.emplace();
    policy.wait_for_pods_ready->admission = WaitForPodsReady::Admission::blocked;
    Queues world(policy);
    world.workload("first", "", 1);
    for (const Write& write : world.planner.plan(world.seen, world.now).writes)
        world.take(write);
    REQUIRE(is_admitted(world.workload_now("first")->value));
    world.say("first", "PodsReady", "Started");
    world.workload("second", "", 1);
    world.rest();
    CHECK(has_admission(world.workload_now("second")->value));
}

struct Gated : Queues {
    Gated() {
        patch(queue_now(), "{spec: {preemption: {withinClusterQueue: LowerPriority}}}");
        workload("low", "priority: 0, ");
        rest();
        workload("gated", "priority: 100, preemptionGates: [{name: g}], ");
        rest();
        REQUIRE_FALSE(is_evicted(workload_now("low")->value));
    }
};

TEST_CASE("a closed preemption gate holds back nobody else") {
    Gated world;
    world.workload("plain", "priority: 100, ");
    world.rest();
    CHECK(is_evicted(world.workload_now("low")->value));
}

TEST_CASE("a preemption gate that opens is noticed, also beside one that stays closed") {
    Gated world;
    world.workload("other", "priority: 100, preemptionGates: [{name: g}], ");
    world.rest();
    REQUIRE_FALSE(is_evicted(world.workload_now("low")->value));
    world.patch(world.workload_now("other"),
                "{status: {preemptionGates: [{name: g, position: Open}]}}");
    world.rest();
    CHECK(is_evicted(world.workload_now("low")->value));
}

TEST_CASE("an AppWrapper that loses its queue while it waits leaves nothing behind") {
    Queues world;
    const auto busy =
        world.put(pods,
                  "{metadata: {namespace: team, name: busy}, spec: {nodeName: laptop, containers: "
                  "[{name: main, resources: {requests: {cpu: 7}}}]}, status: {phase: Running}}");
    world.wrapper("one", "kueue.x-k8s.io/queue-name: lq");
    world.rest();
    world.patch(world.find(app_wrappers, "team", "one"),
                "{metadata: {labels: {kueue.x-k8s.io/queue-name: null}}}");
    world.rest();
    CHECK(world.planner.id_of({app_wrappers, "team", "one"}).has_value());
    world.remove({app_wrappers, "team", "one"});
    world.rest();
    world.erase(busy->key);
    world.rest();
    CHECK_FALSE(decide::assignment_of(world.planner.state(), "").has_value());
    CHECK(decide::broken_invariants(world.planner.state()).empty());
}

TEST_CASE("an AppWrapper that wants a neighbour of chosen namespaces hears when one is chosen") {
    Queues world;
    world.patch(world.find(nodes, "", "laptop"),
                "{metadata: {labels: {kubernetes.io/hostname: laptop}}}");
    world.put(namespaces, "{metadata: {name: data}}");
    world.put(pods,
              "{metadata: {namespace: data, name: db, labels: {app: db}}, spec: {nodeName: "
              "laptop, containers: []}, status: {phase: Running}}");
    world.put(app_wrappers, R"({apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper,
        metadata: {namespace: team, name: one}, spec: {resources: {GenericItems: [{
          generictemplate: {apiVersion: v1, kind: Pod, metadata: {name: one}, spec: {
            affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{
              topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}},
              namespaceSelector: {matchLabels: {team: x}}}]}},
            containers: [{name: main, resources: {requests: {cpu: 1}}}]}}}]}}})");
    world.rest();
    const auto may_run = [&] { return world.wrapper_status("one")["canrun"].boolean_or(false); };
    REQUIRE_FALSE(may_run());
    world.patch(world.find(namespaces, "", "data"), "{metadata: {labels: {team: x}}}");
    world.rest();
    CHECK(may_run());
}

TEST_CASE("a LocalQueue that is made anew for another ClusterQueue takes its workloads along") {
    Queues world;
    world.put(cluster_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: other},
        spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu],
          flavors: [{name: default-flavor, resources: [{name: cpu, nominalQuota: 1}]}]}]}})");
    world.workload("waits", "", 10);
    world.rest();
    const auto pending = [&](const std::string& name) {
        return world.find(cluster_queues, "", name)
            ->value["status"]["pendingWorkloads"]
            .integer_or(-1);
    };
    REQUIRE(pending("cluster-queue") == 1);
    world.remove({local_queues, "team", "lq"});
    world.put(local_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2,
        metadata: {name: lq, namespace: team}, spec: {clusterQueue: other}})");
    world.rest();
    CHECK(pending("cluster-queue") == 0);
    CHECK(pending("other") == 1);
}

TEST_CASE("the share of a cohort is told when the last of a LocalQueue that is gone ends") {
    Settings settings;
    settings.decisions.fair_sharing.emplace();
    Queues world(settings);
    world.put(cohorts,
              "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: all}, spec: "
              "{resourceGroups: [{coveredResources: [cpu], flavors: [{name: "
              "default-flavor, resources: [{name: cpu, nominalQuota: 4}]}]}]}}");
    world.put(cohorts,
              "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: some}, spec: "
              "{parentName: all}}");
    world.patch(world.queue_now(), "{spec: {cohortName: some}}");
    world.job("first", "cpu: 12");
    world.rest();
    const auto share = [&] {
        return world.find(cohorts, "", "some")
            ->value["status"]["fairSharing"]["weightedShare"]
            .integer_or(-1);
    };
    REQUIRE(share() > 0);
    world.remove({local_queues, "team", "lq"});
    world.rest();
    world.remove(world.job_now("first")->key);
    world.rest();
    CHECK(share() == 0);
}

}  // namespace
}  // namespace muster::control::queue

// control/queue/trees_test.cpp - what happens in one tree of queues neither delays nor rewrites
// another one.
#include <string>

#include <doctest/doctest.h>

#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

struct TwoTrees : SmallQueues {
    TwoTrees() {
        put(cluster_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: other},
            spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu],
              flavors: [{name: default-flavor, resources: [{name: cpu, nominalQuota: 4}]}]}]}})");
        put(local_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2,
            metadata: {name: other, namespace: team}, spec: {clusterQueue: other}})");
        rest();
    }

    kube::ObjectPtr workload(const std::string& name, const std::string& queue, int cpu) {
        return put(workloads, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {namespace: team, " +
                                  ("name: " + name) + "}, spec: {queueName: " + queue +
                                  ", podSets: [{name: main, count: 1, template: {spec: " +
                                  "{containers: [{name: main, resources: {requests: {cpu: " +
                                  std::to_string(cpu) + "}}}]}}}]}}");
    }

    void finish(const std::string& name) {
        patch(find(workloads, "team", name),
              "{status: {conditions: [{type: Finished, status: 'True', reason: Succeeded}]}}");
    }

    bool has_quota(const std::string& name) {
        return has_admission(find(workloads, "team", name)->value);
    }

    Reconciled plan() {
        const Reconciled result = planner.plan(seen, now);
        for (const Write& write : result.writes)
            CHECK(take(write));
        return result;
    }
};

TEST_CASE("what comes back to one tree of queues keeps no other one waiting") {
    TwoTrees world;
    world.workload("runs", "lq", 9);
    world.workload("waits", "lq", 9);
    world.rest();
    REQUIRE(world.has_quota("runs"));
    world.finish("runs");
    world.workload("elsewhere", "other", 1);
    const Reconciled first = world.plan();
    CHECK(world.has_quota("elsewhere"));
    CHECK_FALSE(world.has_quota("waits"));
    REQUIRE(first.look_again);
    world.now = world.now + *first.look_again;
    world.plan();
    CHECK(world.has_quota("waits"));
}

TEST_CASE("what ends in one tree within a moment is given out together, whatever ends elsewhere") {
    TwoTrees world;
    world.workload("elsewhere", "other", 4);
    world.workload("first", "lq", 4);
    world.workload("second", "lq", 5);
    world.rest();
    world.workload("small", "lq", 3);
    world.workload("large", "lq", 9);
    world.patch(world.find(workloads, "team", "large"), "{spec: {priority: 1}}");
    world.rest();
    world.finish("elsewhere");
    world.plan();
    world.now = world.now + milliseconds(30);
    world.finish("first");
    world.plan();
    world.now = world.now + milliseconds(30);
    world.finish("second");
    world.plan();
    CHECK_FALSE(world.has_quota("small"));
    world.rest();
    CHECK(world.has_quota("large"));
    CHECK_FALSE(world.has_quota("small"));
}

// As in Kueue the count lags after a LocalQueue stops: it shows whether anybody has looked again.
TEST_CASE("a queue that is made or changed lets those of other trees alone") {
    TwoTrees world;
    const auto pending_in = [&](const std::string& queue) {
        return world.find(cluster_queues, "", queue)
            ->value["status"]["pendingWorkloads"]
            .integer_or(-1);
    };
    world.workload("waits", "other", 5);
    world.rest();
    world.patch(world.find(local_queues, "team", "other"), "{spec: {stopPolicy: Hold}}");
    world.rest();
    REQUIRE(pending_in("other") == 1);
    world.put(cluster_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: third},
        spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu],
          flavors: [{name: default-flavor, resources: [{name: cpu, nominalQuota: 4}]}]}]}})");
    world.rest();
    CHECK(pending_in("third") == 0);
    CHECK(pending_in("other") == 1);
}

}  // namespace
}  // namespace muster::control::queue

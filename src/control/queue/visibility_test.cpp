// control/queue/visibility_test.cpp - lists of who waits, in order, by pages.
#include "control/queue/visibility.h"

#include <string>

#include <doctest/doctest.h>

#include "control/cluster/small_cluster.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

/// A full ClusterQueue with two LocalQueues, and those who wait there.
struct Waiting : cluster::SmallCluster {
    QueuePlanner planner;

    Waiting() {
        followers.push_back(&planner);
        put(namespaces, "{metadata: {name: team}}");
        put(flavors, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: spot}}");
        put(cluster_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: cq},
            spec: {namespaceSelector: {}, resourceGroups: [{
              coveredResources: [cpu], flavors: [{name: spot,
              resources: [{name: cpu, nominalQuota: 1}]}]}]}})");
        for (const char* name : {"one", "two"}) {
            put(local_queues,
                "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: " + std::string(name) +
                    ", namespace: team}, spec: {clusterQueue: cq}}");
        }
        rest(planner);
    }

    void workload(const std::string& name, const std::string& queue, int priority,
                  const std::string& more = "") {
        now = now + seconds(1);
        put(workloads, "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: " +
                           name + ", namespace: team}, spec: {queueName: " + queue +
                           ", active: true, priority: " + std::to_string(priority) +
                           ", podSets: [{name: main, count: 1, template: {spec: {containers: "
                           "[{name: c, resources: {requests: {cpu: 1}}}]}}}]}" +
                           more + "}");
        rest(planner);
    }

    /// "high:10:one:0/0 ..."
    std::string list(const api::Key& key, Window window = {}) {
        const Value answer = pending_workloads(planner, seen, key, "v1beta2", window, now);
        std::string text;
        for (const Value& item : answer["items"].items()) {
            text += (text.empty() ? "" : " ") + item["metadata"]["name"].text() + ":" +
                    std::to_string(item["priority"].integer_or(-1)) + ":" +
                    item["localQueueName"].text() + ":" +
                    std::to_string(item["positionInClusterQueue"].integer_or(-1)) + "/" +
                    std::to_string(item["positionInLocalQueue"].integer_or(-1));
        }
        return text;
    }
};

const api::Key all{{visibility_group, "clusterqueues"}, "", "cq"};
const api::Key one{{visibility_group, "localqueues"}, "team", "one"};

TEST_CASE("who waits is listed in order, with both positions") {
    Waiting world;
    world.workload("runs", "one", 0);
    world.workload("low", "one", 1);
    world.workload("high", "two", 10);
    world.workload("mid", "one", 5);
    CHECK(world.list(all) == "high:10:two:0/0 mid:5:one:1/0 low:1:one:2/1");
    CHECK(world.list(one) == "mid:5:one:1/0 low:1:one:2/1");
    CHECK(world.list(all, {1, 1}) == "mid:5:one:1/0");
    CHECK(world.list(one, {1, 1000}) == "low:1:one:2/1");
    CHECK(world.list(all, {5, 1000}).empty());
    const Value answer =
        pending_workloads(world.planner, world.seen, all, "v1beta1", {}, world.now);
    CHECK(answer["kind"].text() == "PendingWorkloadsSummary");
    CHECK(answer["apiVersion"].text() == "visibility.kueue.x-k8s.io/v1beta1");
}

TEST_CASE("who may not be tried yet stands behind; the deactivated do not wait") {
    Waiting world;
    world.workload("runs", "one", 0);
    world.workload("later", "one", 100,
                   ", status: {requeueState: {count: 1, requeueAt: '2030-01-01T00:00:00Z'}}");
    world.workload("low", "one", 1);
    world.workload("ended", "one", 1);
    world.patch(world.find(workloads, "team", "ended"), "{spec: {active: false}}");
    world.rest(world.planner);
    CHECK(world.list(all) == "low:1:one:0/0 later:100:one:1/1");
}

TEST_CASE("queues that do not exist have no list") {
    Waiting world;
    CHECK(pending_workloads(world.planner, world.seen, {all.resource, "", "none"}, "v1beta2", {},
                            world.now)
              .is_null());
    CHECK(pending_workloads(world.planner, world.seen, {one.resource, "other", "one"}, "v1beta2",
                            {}, world.now)
              .is_null());
}

}  // namespace
}  // namespace muster::control::queue

// control/cluster/scheduler_test.cpp - pods find nodes, wait with a reason, and are tried again
// when room appears.
#include "control/cluster/scheduler.h"

#include <doctest/doctest.h>

#include "control/cluster/resources.h"
#include "control/cluster/small_cluster.h"
#include "control/fold_pod.h"

namespace muster::control::cluster {
namespace {

struct Placing : SmallCluster {
    Scheduler scheduler;

    Placing() { followers = {&scheduler}; }

    void node(const std::string& name, const std::string& cpu) {
        put(nodes, "{metadata: {name: " + name + ", labels: {kubernetes.io/hostname: " + name +
                       "}}, status: {allocatable: {cpu: '" + cpu + "', memory: 8Gi, pods: 110}}}");
    }
    void pod(const std::string& name, const std::string& cpu, const std::string& more = "") {
        put(pods, "{metadata: {name: " + name + ", namespace: default}, spec: {" + more +
                      "containers: [{name: main, resources: {requests: {cpu: '" + cpu +
                      "'}}}]}, status: {phase: Pending}}");
    }
    kube::ObjectPtr of(const std::string& name) const { return find(pods, "default", name); }
    std::string node_of(const std::string& name) const {
        return of(name)->value["spec"]["nodeName"].text();
    }
    std::string why(const std::string& name) const {
        return condition_of(of(name)->value["status"], "PodScheduled")["message"].text();
    }
    void plan() { rest(scheduler); }
};

TEST_CASE("a pod that fits is bound and the event follows the binding") {
    Placing world;
    world.node("n1", "4");
    world.pod("a", "1");
    world.plan();
    CHECK(world.node_of("a") == "n1");
    CHECK(world.has_event("Scheduled"));
}

TEST_CASE("a pod that does not fit says why, once, and is bound when room appears") {
    Placing world;
    world.node("n1", "4");
    world.pod("first", "3");
    world.plan();
    world.pod("second", "2");
    world.plan();
    CHECK(world.node_of("second").empty());
    CHECK(world.why("second") == "0/1 nodes are available: 1 Insufficient cpu.");
    CHECK(world.has_event("FailedScheduling"));
    const std::size_t told = world.events.size();

    world.remove(world.of("first")->key);
    world.plan();
    CHECK(world.of("first")->is_terminating());
    CHECK_MESSAGE(world.node_of("second").empty(), "a terminating pod keeps its room");
    CHECK(world.events.size() == told);

    world.end_pod(world.of("first"), "Failed");
    world.plan();
    CHECK(world.node_of("second") == "n1");
}

TEST_CASE("a refusal that is on its way is not sent again before it is seen, unless it failed") {
    Placing world;
    world.node("n1", "1");
    world.pod("a", "2");
    const Reconciled first = world.scheduler.plan(world.seen, world.now);
    REQUIRE(first.writes.size() == 1);
    world.node("n1", "1500m");  // Something that makes it look again.
    CHECK(world.scheduler.plan(world.seen, world.now).writes.empty());
    world.scheduler.failed(first.writes[0]);
    const Reconciled again = world.scheduler.plan(world.seen, world.now);
    REQUIRE(again.writes.size() == 1);
    CHECK(world.take(again.writes[0]));
    CHECK(world.why("a") == "0/1 nodes are available: 1 Insufficient cpu.");
}

TEST_CASE("a finished pod holds no room") {
    Placing world;
    world.node("n1", "2");
    world.pod("a", "2");
    world.plan();
    world.pod("b", "2");
    world.plan();
    CHECK(world.node_of("b").empty());
    world.end_pod(world.of("a"), "Succeeded");
    world.plan();
    CHECK(world.node_of("b") == "n1");
}

TEST_CASE("higher priority goes first, then age") {
    Placing world;
    world.pod("old", "2");
    world.now = world.now + seconds(10);
    world.pod("young", "2");
    world.pod("urgent", "2", "priority: 7, ");
    world.plan();
    CHECK(world.why("old") == "no nodes available to schedule pods");
    world.node("n1", "4");
    world.plan();
    CHECK(world.node_of("urgent") == "n1");
    CHECK(world.node_of("old") == "n1");
    CHECK(world.node_of("young").empty());
}

TEST_CASE("gated pods and pods of other schedulers are not placed") {
    Placing world;
    world.node("n1", "4");
    world.pod("gated", "1", "schedulingGates: [{name: wait}], ");
    world.pod("other", "1", "schedulerName: somebody, ");
    world.plan();
    CHECK(world.node_of("gated").empty());
    CHECK(condition_of(world.of("gated")->value["status"], "PodScheduled")["reason"].text() ==
          "SchedulingGated");
    CHECK(world.node_of("other").empty());
    world.patch(world.of("gated"), "{spec: {schedulingGates: null}}");
    world.plan();
    CHECK(world.node_of("gated") == "n1");
}

TEST_CASE("a seat whose binding is on its way is not given twice, and is free when it fails") {
    Placing world;
    world.node("n1", "2");
    world.pod("a", "2");
    const Reconciled first = world.scheduler.plan(world.seen, world.now);
    REQUIRE(first.writes.size() == 1);
    world.pod("b", "2");
    const Reconciled second = world.scheduler.plan(world.seen, world.now);
    REQUIRE(second.writes.size() == 1);
    CHECK(second.writes[0].subresource == "status");
    world.erase(world.of("a")->key);
    world.scheduler.failed(first.writes[0]);
    world.plan();
    CHECK(world.node_of("b") == "n1");
}

TEST_CASE("a seat whose binding failed stays taken until the server says that it was not done") {
    Placing world;
    world.node("n1", "2");
    world.pod("a", "2");
    const Reconciled first = world.scheduler.plan(world.seen, world.now);
    REQUIRE(first.writes.size() == 1);
    world.scheduler.failed(first.writes[0]);  // Perhaps only the answer was lost.
    world.pod("b", "2");
    const Reconciled unsure = world.scheduler.plan(world.seen, world.now);
    REQUIRE(unsure.looks.size() == 1);
    CHECK(unsure.looks[0] == world.of("a")->key);
    REQUIRE(unsure.writes.size() == 1);
    CHECK(unsure.writes[0].subresource == "status");  // That b does not fit.
    world.scheduler.looked(world.of("a")->key, world.of("a").get());
    world.plan();
    CHECK(world.node_of("a") == "n1");
    CHECK(world.node_of("b").empty());
}

TEST_CASE("a pod that wants a neighbour of a chosen namespace is placed when one is chosen") {
    for (const bool was_there : {false, true}) {
        CAPTURE(was_there);
        Placing world;
        world.node("n1", "4");
        if (was_there) world.put(namespaces, "{metadata: {name: data}}");
        world.put(pods,
                  "{metadata: {name: db, namespace: data, labels: {app: db}}, spec: {nodeName: "
                  "n1, containers: []}, status: {phase: Running}}");
        world.pod("a", "1",
                  "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{"
                  "topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}, "
                  "namespaceSelector: {matchLabels: {team: x}}}]}}, ");
        world.plan();
        REQUIRE(world.node_of("a").empty());
        world.put(namespaces, "{metadata: {name: data, labels: {team: x}}}");
        world.plan();
        CHECK(world.node_of("a") == "n1");
    }
}

TEST_CASE("what placement would have to ignore keeps the pod waiting, in words") {
    Placing world;
    world.node("n1", "2");
    world.pod("a", "1", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone}], ");
    world.plan();
    CHECK(world.node_of("a").empty());
    CHECK(world.why("a").find("topologySpreadConstraints") != std::string::npos);
}

TEST_CASE("a pod takes the most of its containers and its init containers with their sidecars") {
    Placing world;
    const kube::ObjectPtr pod = world.put(pods, R"(
metadata: {name: p, namespace: default}
spec:
  overhead: {cpu: 10m}
  initContainers:
  - {name: side, restartPolicy: Always, resources: {requests: {cpu: 200m}}}
  - {name: init, resources: {requests: {cpu: 3, memory: 1Gi}}}
  containers:
  - {name: a, resources: {requests: {cpu: 1}, limits: {memory: 512Mi}}}
  - {name: b, resources: {limits: {cpu: 500m}}}
)");
    const Resources requests = effective_requests(pod->value["spec"]);
    CHECK(requests.at("cpu").value == 3210);
    CHECK(requests.at("memory").value == 1LL << 30);
}

}  // namespace
}  // namespace muster::control::cluster

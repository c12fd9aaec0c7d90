// control/cluster/node_lifecycle_test.cpp - silent nodes, their taints and their pods.
#include "control/cluster/node_lifecycle.h"

#include <doctest/doctest.h>

#include "control/cluster/resources.h"
#include "control/cluster/small_cluster.h"
#include "control/fold_pod.h"

namespace muster::control::cluster {
namespace {

struct Nodes : SmallCluster {
    NodeLifecycle lifecycle{seconds(40)};
    PodCollector collector{ClusterOptions{}};
    Controller eviction = taint_eviction_controller();

    Nodes() {
        followers = {&lifecycle, &collector};
        put(nodes, "{metadata: {name: n1}, status: {conditions: [{type: Ready, status: 'True'}]}}");
        beat("1");
    }
    void beat(const std::string& when) {
        put(leases, "{metadata: {name: n1, namespace: kube-node-lease}, spec: {renewTime: '" +
                        when + "'}}");
    }
    kube::ObjectPtr node() const { return find(nodes, "", "n1"); }
    std::string ready() const {
        return condition_of(node()->value["status"], "Ready")["status"].text();
    }
    bool has_taint(std::string_view key) const {
        const api::Value& taints = node()->value["spec"]["taints"];
        for (const api::Value& taint : taints.items()) {
            if (taint["key"].text() == key) return true;
        }
        return false;
    }
    kube::ObjectPtr pod(const std::string& name, const std::string& tolerations = "[]") {
        return put(pods,
                   "{metadata: {name: " + name +
                       ", namespace: default}, spec: {nodeName: n1, tolerations: " + tolerations +
                       "}, status: {phase: Running, conditions: [{type: Ready, status: "
                       "'True'}]}}");
    }
    void pass(Duration span) {
        now = now + span;
        rest(lifecycle);
        rest(collector);
    }
};

TEST_CASE("a node whose lease is not renewed becomes Unknown and unreachable, and heals") {
    Nodes world;
    const kube::ObjectPtr pod = world.pod("a");
    world.pass(seconds(0));
    world.pass(seconds(39));
    CHECK(world.ready() == "True");
    world.pass(seconds(1));
    CHECK(world.ready() == "Unknown");
    CHECK(world.has_taint("node.kubernetes.io/unreachable"));
    CHECK_FALSE(is_ready_pod(*world.find(pods, "default", "a")));
    world.beat("2");
    world.patch(world.node(), "{status: {conditions: [{type: Ready, status: 'True'}]}}");
    world.pass(seconds(1));
    CHECK_FALSE(world.has_taint("node.kubernetes.io/unreachable"));
}

TEST_CASE("a node that never had a lease keeps the status that somebody gave it") {
    Nodes world;
    world.put(nodes,
              "{metadata: {name: n2}, status: {conditions: [{type: Ready, status: 'True'}]}}");
    world.pass(seconds(0));
    world.pass(seconds(40));
    world.pass(minutes(60));
    CHECK(world.ready() == "Unknown");
    const kube::ObjectPtr declared = world.find(nodes, "", "n2");
    CHECK(condition_of(declared->value["status"], "Ready")["status"].text() == "True");
    CHECK(declared->value["spec"]["taints"].empty());
}

TEST_CASE("while the controller itself stood still no node fell silent") {
    Nodes world;
    const kube::ObjectPtr pod = world.pod("a");
    world.pass(seconds(0));
    world.pass(seconds(75));  // Not asked for: the process was stopped.
    CHECK(world.ready() == "True");
    CHECK_FALSE(world.has_taint("node.kubernetes.io/unreachable"));
    CHECK(is_ready_pod(*world.find(pods, "default", "a")));
    world.pass(seconds(40));
    CHECK(world.ready() == "Unknown");
}

TEST_CASE("plans that always come late keep no dead node alive") {
    Nodes world;
    world.pass(seconds(0));
    for (int late = 0; late < 4; ++late)
        world.pass(seconds(45));
    CHECK(world.ready() == "Unknown");
}

TEST_CASE("a clock that is set back gives each node the whole grace again, and no more") {
    Nodes world;
    world.pass(seconds(0));
    world.now = world.now - minutes(60);
    world.pass(seconds(1));
    CHECK(world.ready() == "True");
    world.pass(seconds(40));
    CHECK(world.ready() == "Unknown");
}

TEST_CASE("an old lease at the start counts from when it is first seen") {
    Nodes world;
    world.beat("1970-01-01T00:00:00Z");
    world.pass(seconds(0));
    CHECK(world.ready() == "True");
    world.pass(seconds(39));
    CHECK(world.ready() == "True");
}

TEST_CASE("a cordoned node and a node that is not ready are tainted") {
    Nodes world;
    world.patch(world.node(),
                "{spec: {unschedulable: true, taints: [{key: own, effect: "
                "NoSchedule}]}, status: {conditions: [{type: Ready, status: "
                "'False'}]}}");
    world.pass(seconds(1));
    CHECK(world.has_taint("node.kubernetes.io/unschedulable"));
    CHECK(world.has_taint("node.kubernetes.io/not-ready"));
    CHECK(world.has_taint("own"));
}

TEST_CASE("pods leave a lost node after their toleration, by default after five minutes") {
    Nodes world;
    const kube::ObjectPtr silent = world.pod("silent");
    const kube::ObjectPtr brief =
        world.pod("brief",
                  "[{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, "
                  "tolerationSeconds: 10}]");
    const kube::ObjectPtr firm = world.pod("firm", "[{operator: Exists}]");
    world.pass(seconds(0));
    world.pass(seconds(40));
    const auto reconcile = [&](const kube::ObjectPtr& pod) {
        return world.eviction.reconcile(world.seen, pod->key, world.now);
    };
    CHECK(reconcile(silent).look_again == seconds(300));
    CHECK(reconcile(brief).look_again == seconds(10));
    CHECK_FALSE(reconcile(firm).look_again.has_value());
    world.pass(seconds(10));
    world.carry_out(reconcile(brief));
    CHECK(world.find(pods, "default", "brief")->is_terminating());
    CHECK(condition_of(world.find(pods, "default", "brief")->value["status"],
                       "DisruptionTarget")["reason"]
              .text() == "DeletionByTaintManager");
    CHECK_FALSE(world.find(pods, "default", "silent")->is_terminating());
}

TEST_CASE("a taint that a pod does not tolerate evicts it at once") {
    Nodes world;
    const kube::ObjectPtr pod = world.pod("a");
    world.patch(world.node(), "{spec: {taints: [{key: k, effect: NoExecute}]}}");
    world.carry_out(world.eviction.reconcile(world.seen, pod->key, world.now));
    CHECK(world.find(pods, "default", "a")->is_terminating());
}

TEST_CASE("who tolerates for a while a taint that somebody set goes after that while") {
    Nodes world;
    const kube::ObjectPtr pod =
        world.pod("a", "[{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 10}]");
    world.patch(world.node(), "{spec: {taints: [{key: k, effect: NoExecute}]}}");
    const auto reconcile = [&] {
        return world.eviction.reconcile(world.seen, pod->key, world.now);
    };
    world.pass(seconds(0));
    CHECK(reconcile().look_again == seconds(10));
    world.pass(seconds(4));
    CHECK(reconcile().look_again == seconds(6));
    world.pass(seconds(6));
    world.carry_out(reconcile());
    CHECK(world.find(pods, "default", "a")->is_terminating());
}

TEST_CASE("pods of a node that is gone are failed and removed after the quarantine") {
    Nodes world;
    world.pod("a");
    world.pass(seconds(0));
    world.erase(world.node()->key);
    world.pass(seconds(1));
    CHECK(world.find(pods, "default", "a") != nullptr);
    world.pass(seconds(40));
    CHECK(world.find(pods, "default", "a") == nullptr);
}

TEST_CASE("a terminating pod that never had a node is failed, so that who tracks it hears of it") {
    Nodes world;
    const kube::ObjectPtr pod =
        world.put(pods,
                  "{metadata: {name: a, namespace: default, finalizers: [x/y]}, status: {phase: "
                  "Pending}}");
    world.remove(pod->key);
    world.pass(seconds(1));
    REQUIRE(world.find(pods, "default", "a") != nullptr);
    CHECK(is_finished_pod(*world.find(pods, "default", "a")));
}

TEST_CASE("of too many finished pods the oldest go") {
    Nodes world;
    ClusterOptions options;
    options.finished_pods_max = 2;
    PodCollector few(options);
    world.followers = {&few};
    for (int i = 0; i < 4; ++i) {
        world.now = world.now + seconds(1);
        world.end_pod(world.pod("p" + std::to_string(i)), "Succeeded");
    }
    world.rest(few);
    CHECK(world.find(pods, "default", "p1") == nullptr);
    CHECK(world.find(pods, "default", "p2") != nullptr);
    CHECK(world.seen.list(pods).size() == 2);
}

}  // namespace
}  // namespace muster::control::cluster

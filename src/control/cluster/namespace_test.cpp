// control/cluster/namespace_test.cpp - a namespace is filled, and emptied in order.
#include "control/cluster/namespace.h"

#include <doctest/doctest.h>

#include "control/cluster/resources.h"
#include "control/cluster/small_cluster.h"
#include "control/fold_pod.h"

namespace muster::control::cluster {
namespace {

struct Space : SmallCluster {
    Controller controller = namespace_controller();
    api::Key key{namespaces, "", "team"};

    Space() {
        put(namespaces,
            "{metadata: {name: team}, spec: {finalizers: [kubernetes]}, "
            "status: {phase: Active}}");
    }
    void run() {
        for (int round = 0; round < 20; ++round) {
            const Reconciled result = controller.reconcile(seen, key, now);
            carry_out(result);
            if (result.writes.empty()) return;
        }
        FAIL("the namespace controller does not come to rest");
    }
    std::string reason(const char* type) const {
        return condition_of(seen.find(key)->value["status"], type)["reason"].text();
    }
};

TEST_CASE("an active namespace is left alone") {
    Space space;
    space.put(config_maps, "{metadata: {name: c, namespace: team}}");
    space.run();
    CHECK(space.find(config_maps, "team", "c") != nullptr);
}

TEST_CASE("pods go first, then everything else, then the namespace") {
    Space space;
    space.put(config_maps, "{metadata: {name: c, namespace: team}}");
    space.put(config_maps, "{metadata: {name: c, namespace: other}}");
    const kube::ObjectPtr pod =
        space.put(pods,
                  "{metadata: {name: p, namespace: team}, spec: {nodeName: n1}, status: {phase: "
                  "Running}}");
    space.remove(space.key);
    space.run();
    CHECK(space.find(pods, "team", "p")->is_terminating());
    CHECK_MESSAGE(space.find(config_maps, "team", "c") != nullptr, "the pod may still need it");
    CHECK(space.reason("NamespaceContentRemaining") == "SomeResourcesRemain");
    space.end_pod(pod, "Failed");
    space.run();
    CHECK(space.find(config_maps, "team", "c") == nullptr);
    CHECK(space.find(config_maps, "other", "c") != nullptr);
    CHECK(space.seen.find(space.key) == nullptr);
}

TEST_CASE("a finalizer holds the namespace and is named") {
    Space space;
    space.put(config_maps, "{metadata: {name: c, namespace: team, finalizers: [a.b/c]}}");
    space.remove(space.key);
    space.run();
    REQUIRE(space.seen.find(space.key) != nullptr);
    CHECK(space.reason("NamespaceFinalizersRemaining") == "SomeFinalizersRemain");
    space.patch(space.find(config_maps, "team", "c"), "{metadata: {finalizers: null}}");
    space.run();
    CHECK(space.seen.find(space.key) == nullptr);
}

TEST_CASE("each namespace has its service account and the authority's certificate") {
    Space space;
    const Controller contents = namespace_contents_controller("PEM");
    space.carry_out(contents.reconcile(space.seen, space.key, space.now));
    CHECK(space.find(service_accounts, "team", "default") != nullptr);
    const kube::ObjectPtr bundle = space.find(config_maps, "team", "kube-root-ca.crt");
    REQUIRE(bundle != nullptr);
    CHECK(bundle->value["data"]["ca.crt"].text() == "PEM");
    CHECK(contents.reconcile(space.seen, space.key, space.now).writes.empty());
    space.patch(bundle, "{data: {ca.crt: changed, more: x}}");
    space.carry_out(contents.reconcile(space.seen, space.key, space.now));
    CHECK(space.find(config_maps, "team", "kube-root-ca.crt")->value["data"] ==
          api::Value::object({{"ca.crt", "PEM"}}));
}

}  // namespace
}  // namespace muster::control::cluster

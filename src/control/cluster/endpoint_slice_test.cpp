// control/cluster/endpoint_slice_test.cpp - what a service's slices say of its pods.
#include "control/cluster/endpoint_slice.h"

#include <doctest/doctest.h>

#include "control/cluster/resources.h"
#include "control/cluster/small_cluster.h"

namespace muster::control::cluster {
namespace {

struct Served : SmallCluster {
    Controller controller = endpoint_slice_controller();
    api::Key key{services, "default", "web"};

    void service(const std::string& spec) {
        put(services,
            "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default, "
            "uid: u-web}, spec: {" +
                spec + "}}");
    }
    kube::ObjectPtr pod(const std::string& name, const std::string& ip, bool ready,
                        const std::string& spec = "") {
        return put(pods, "{metadata: {name: " + name +
                             ", namespace: default, labels: {app: web}}, spec: {nodeName: n1, " +
                             spec +
                             "containers: [{name: main, ports: [{name: http, containerPort: "
                             "8080}]}]}, status: {phase: Running, podIP: '" +
                             ip + "', conditions: [{type: Ready, status: '" +
                             (ready ? "True" : "False") + "'}]}}");
    }
    std::vector<kube::ObjectPtr> slices() {
        const Reconciled result = controller.reconcile(seen, key, now);
        carry_out(result);
        CHECK(controller.reconcile(seen, key, now).writes.empty());
        return seen.list(endpoint_slices);
    }
};

TEST_CASE("a slice names ready, unready and ending pods with resolved ports") {
    Served world;
    world.service("selector: {app: web}, ports: [{name: web, port: 80, targetPort: http}]");
    world.pod("a", "10.0.0.1", true);
    world.pod("b", "10.0.0.2", false);
    const kube::ObjectPtr ending = world.pod("c", "10.0.0.3", true);
    world.remove(ending->key);
    world.pod("unborn", "", false);
    const auto slices = world.slices();
    REQUIRE(slices.size() == 1);
    const api::Value& slice = slices[0]->value;
    CHECK(slices[0]->label("kubernetes.io/service-name") == "web");
    CHECK(slice["ports"][0]["port"].integer_or(0) == 8080);
    REQUIRE(slice["endpoints"].size() == 3);
    CHECK(slice["endpoints"][0]["conditions"]["ready"].boolean_or(false));
    CHECK_FALSE(slice["endpoints"][1]["conditions"]["ready"].boolean_or(true));
    const api::Value& last = slice["endpoints"][2]["conditions"];
    CHECK_FALSE(last["ready"].boolean_or(true));
    CHECK(last["serving"].boolean_or(false));
    CHECK(last["terminating"].boolean_or(false));
}

TEST_CASE("a headless service that publishes unready addresses names hosts") {
    Served world;
    world.service("clusterIP: None, publishNotReadyAddresses: true, selector: {app: web}");
    world.pod("a", "10.0.0.1", false, "hostname: h-0, subdomain: web, ");
    const auto slices = world.slices();
    REQUIRE(slices.size() == 1);
    const api::Value& endpoint = slices[0]->value["endpoints"][0];
    CHECK(endpoint["hostname"].text() == "h-0");
    CHECK(endpoint["conditions"]["ready"].boolean_or(false));
    CHECK(slices[0]->value["metadata"]["labels"].has("service.kubernetes.io/headless"));
}

TEST_CASE("slices change with the pods, and many pods need several") {
    Served world;
    world.service("selector: {app: web}, ports: [{port: 80}]");
    CHECK(world.slices()[0]->value["endpoints"].empty());
    for (int i = 0; i < 120; ++i)
        world.pod("p" + std::to_string(i), "10.0.1." + std::to_string(i), true);
    CHECK(world.slices().size() == 2);
    for (int i = 20; i < 120; ++i)
        world.erase({pods, "default", "p" + std::to_string(i)});
    REQUIRE(world.slices().size() == 1);
    CHECK(world.slices()[0]->value["endpoints"].size() == 20);
}

TEST_CASE("a service without selector has no slices of ours") {
    Served world;
    world.service("ports: [{port: 80}]");
    CHECK(world.slices().empty());
}

TEST_CASE("only the services that select a changed pod wake") {
    Served world;
    world.service("selector: {app: web}");
    world.put(services,
              "{metadata: {name: other, namespace: default}, spec: {selector: {app: x}}}");
    const kube::ObjectPtr pod = world.pod("a", "10.0.0.1", true);
    const Watch& watch = world.controller.watches[1];
    const auto woken = watch.wakes(world.seen, nullptr, pod.get());
    REQUIRE(woken.size() == 1);
    CHECK(woken[0].name == "web");
    CHECK(watch.wakes(world.seen, pod.get(), pod.get()).empty());
}

}  // namespace
}  // namespace muster::control::cluster

// control/ray/auth_test.cpp - token authentication: the token is drawn once, everybody who needs it
// gets it, and requests carry it.
#include "control/ray/auth.h"

#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "control/ray/cluster.h"
#include "control/ray/scripted_ray.h"
#include "control/ray/submitter.h"
#include "control/ray/validate.h"

namespace muster::control::ray {
namespace {

const Time noon{1'700'000'000'000'000'000};

Value guarded(const std::string& options = "{}") {
    return json(R"({"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"demo",
      "namespace":"team","uid":"u-1","resourceVersion":"5"},"spec":{"rayVersion":"2.58.0",
      "authOptions":)" +
                options + R"(,"headGroupSpec":{"template":{"spec":{"containers":[{"name":"h",
      "image":"rayproject/ray:2.58.0"}]}}},"workerGroupSpecs":[{"groupName":"w","replicas":1,
      "template":{"spec":{"containers":[{"name":"w"}]}}}]}})");
}

std::string secret_in(const Value& container) {
    for (const Value& variable : container["env"].items()) {
        if (variable["name"].text() == "RAY_AUTH_TOKEN")
            return variable.path("valueFrom.secretKeyRef.name").text();
    }
    return "";
}

TEST_CASE("a token is drawn outside, kept in a Secret of the cluster, and then pods are made") {
    kube::Cache cache;
    const Controller controller = cluster_controller();
    const api::Key key{clusters, "team", "demo"};
    cache.put(kube::make_object(clusters, guarded()));
    const Reconciled first = controller.reconcile(cache, key, noon);
    REQUIRE(first.calls.size() == 1);
    CHECK(first.calls[0].url == "muster:random/32");
    for (const Write& write : first.writes)
        CHECK(write.key.resource != pods);
    auto answer = std::make_shared<kube::Object>();
    answer->key = {{"muster.internal", "calls"}, "", first.calls[0].id};
    answer->value = Value::object({{"status", 200}, {"body", "drawn"}});
    cache.put(answer);
    const Reconciled second = controller.reconcile(cache, key, noon);
    CHECK(second.calls.empty());
    int made = 0;
    for (const Write& write : second.writes) {
        if (write.key.resource == secrets) {
            CHECK(write.key.name == "demo");
            CHECK(write.body["data"]["auth_token"].text() == to_base64("drawn"));
        }
        if (write.key.resource != pods) continue;
        ++made;
        CHECK(secret_in(write.body["spec"]["containers"][0]) == "demo");
        for (const Value& init : write.body["spec"]["initContainers"].items())
            CHECK(secret_in(init) == "demo");
    }
    CHECK(made == 2);
}

TEST_CASE("a Secret that the user names is used, and none is made") {
    kube::Cache cache;
    const Controller controller = cluster_controller();
    cache.put(kube::make_object(clusters, guarded(R"({"mode":"token","secretName":"mine"})")));
    const Reconciled result = controller.reconcile(cache, {clusters, "team", "demo"}, noon);
    CHECK(result.calls.empty());
    for (const Write& write : result.writes) {
        CHECK(write.key.resource != secrets);
        if (write.key.resource == pods)
            CHECK(secret_in(write.body["spec"]["containers"][0]) == "mine");
    }
}

TEST_CASE("mode disabled, and no authOptions, mean no token") {
    CHECK_FALSE(uses_token(guarded(R"({"mode":"disabled"})")["spec"]));
    CHECK_FALSE(uses_token(json("{}")));
    CHECK(uses_token(guarded()["spec"]));
}

TEST_CASE("authentication needs a Ray that has it, and has no Kubernetes tokens yet") {
    CHECK_FALSE(check_cluster(guarded()).has_value());
    Value old = guarded();
    old.at("spec").set("rayVersion", "2.51.0");
    REQUIRE(check_cluster(old).has_value());
    CHECK(check_cluster(old)->message.find("2.52") != std::string::npos);
    const auto refused = check_cluster(guarded(R"({"enableK8sTokenAuth":true})"));
    REQUIRE(refused.has_value());
    CHECK(refused->message.find("enableK8sTokenAuth") != std::string::npos);
}

TEST_CASE("a job's requests and its submitter carry the token of its cluster") {
    World world;
    Value job = digits(R"("submissionMode":"HTTPMode",)");
    job.at("spec").at("rayClusterSpec").set("authOptions", json("{}"));
    job.at("spec").at("rayClusterSpec").set("rayVersion", "2.58.0");
    world.put(rayjobs, job);
    world.rest();
    const std::string name = world.cluster()->key.name;
    Value secret = json(R"({"metadata":{"namespace":"team"},"data":{}})");
    secret.at("metadata").set("name", name);
    secret.at("data").set("auth_token", to_base64("open sesame"));
    world.put(secrets, secret);
    Value ready = world.cluster()->value;
    ready.set("status", json(R"({"state":"ready"})"));
    world.put(clusters, ready);
    Reconciled result = world.controller.reconcile(world.cache, world.key, world.now);
    REQUIRE(result.calls.size() == 1);
    REQUIRE(result.calls[0].headers.size() == 1);
    CHECK(result.calls[0].headers[0].name == "x-ray-authorization");
    CHECK(result.calls[0].headers[0].value == "Bearer open sesame");
    const Value made =
        submitter_job(*world.cache.find(world.key), *world.cluster(), "id", "h:8265");
    CHECK(secret_in(made.path("spec.template.spec.containers.0")) == name);
}

}  // namespace
}  // namespace muster::control::ray

// api/crd_test.cpp - kinds as CustomResourceDefinitions.
#include "api/crd.h"

#include <string>

#include <doctest/doctest.h>

#include "api/json.h"

namespace muster::api {
namespace {

const Value& properties_of(const Value& crd, int version) {
    return crd["spec"]["versions"][version]["schema"]["openAPIV3Schema"]["properties"];
}

TEST_CASE("a custom resource definition is structural and keeps pod templates' labels") {
    const Value crd = crd_of(*find_kind("kueue.x-k8s.io", "workloads"), Conversion());
    CHECK(crd["metadata"]["name"].text() == "workloads.kueue.x-k8s.io");
    CHECK(crd["metadata"]["labels"]["app.kubernetes.io/part-of"].text() == "muster");
    const Value& pod_set = properties_of(crd, 0)["spec"]["properties"]["podSets"]["items"];
    CHECK(pod_set["properties"]["count"]["default"].integer_or(0) == 1);
    const Value& pod_template = pod_set["properties"]["template"]["properties"];
    CHECK(pod_template["metadata"]["properties"].has("labels"));
    CHECK(to_json(crd).find("$ref") == std::string::npos);
    const Value& container = pod_template["spec"]["properties"]["containers"]["items"];
    CHECK(container["required"][0].text() == "name");
    CHECK_FALSE(container["properties"]["imagePullPolicy"].has("enum"));
    const Value& request = container["properties"]["resources"]["properties"]["requests"];
    CHECK(request["additionalProperties"]["x-kubernetes-int-or-string"].boolean_or(false));
}

TEST_CASE("rules stand beside the fields, with their messages") {
    const Value crd = crd_of(*find_kind("kueue.x-k8s.io", "localqueues"), Conversion());
    const Value& queue = properties_of(crd, 0)["spec"]["properties"]["clusterQueue"];
    CHECK(to_json(queue["x-kubernetes-validations"]) ==
          R"([{"message":"field is immutable","rule":"self == oldSelf"}])");
    CHECK(queue["maxLength"].integer_or(0) == 253);
}

TEST_CASE("kinds with two forms are converted by a webhook, or served in one version only") {
    const Kind& kind = *find_kind("kueue.x-k8s.io", "workloads");
    Conversion conversion;
    conversion.ca_bundle = "pem";
    const Value with = crd_of(kind, conversion)["spec"];
    CHECK(with["conversion"]["strategy"].text() == "Webhook");
    CHECK(with.path("conversion.webhook.clientConfig.service.path").text() == "/convert");
    CHECK(with.path("conversion.webhook.clientConfig.caBundle").text() == "cGVt");
    CHECK(with["versions"][1]["served"].boolean_or(false));
    CHECK(with["versions"][1]["deprecated"].boolean_or(false));
    conversion.service_namespace.clear();
    const Value without = crd_of(kind, conversion)["spec"];
    CHECK_FALSE(without.has("conversion"));
    CHECK(without["versions"][0]["storage"].boolean_or(false));
    CHECK_FALSE(without["versions"][1]["served"].boolean_or(true));
    const Value flavors =
        crd_of(*find_kind("kueue.x-k8s.io", "resourceflavors"), conversion)["spec"];
    CHECK(flavors["versions"][1]["served"].boolean_or(false));
}

TEST_CASE("what only the embedded server knows is not in a definition") {
    const Value wrapper = crd_of(*find_kind("workload.codeflare.dev", "appwrappers"), Conversion());
    CHECK(wrapper["spec"]["versions"].size() == 1);
    CHECK_FALSE(properties_of(wrapper, 0)["spec"]["properties"].has("components"));
    const Value cluster = crd_of(*find_kind("ray.io", "rayclusters"), Conversion());
    CHECK_FALSE(properties_of(cluster, 0)["spec"]["properties"].has("networkPolicy"));
    CHECK(properties_of(cluster, 0)["spec"]["properties"].has("upgradeStrategy"));
    CHECK_FALSE(properties_of(cluster, 1)["spec"]["properties"].has("upgradeStrategy"));
}

}  // namespace
}  // namespace muster::api

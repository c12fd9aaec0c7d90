// control/queue/requests_test.cpp - the cases of Kueue's documentation about resources.
#include "control/queue/requests.h"

#include <doctest/doctest.h>

#include "api/yaml.h"
#include "control/fold_pod.h"
#include "control/queue/configuration.h"

namespace muster::control::queue {
namespace {

using api::Value;

ResourceRules rules(const std::string& yaml) {
    const auto read = read_configuration(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources:\n" + yaml);
    REQUIRE(std::holds_alternative<Settings>(read));
    return std::get<Settings>(read).resources;
}

Value parsed(const std::string& yaml) {
    auto documents = api::parse_yaml(yaml);
    return std::get<std::vector<api::Parsed>>(documents).at(0).value;
}

Resources counted(const std::string& asked, const ResourceRules& how) {
    return counted_requests(fold_resources(parsed(asked)), how);
}

TEST_CASE("MIG profiles become memory and credits, and count as nothing else") {
    const ResourceRules how = rules(R"(
  transformations:
  - input: nvidia.com/mig-1g.5gb
    strategy: Replace
    outputs: {example.com/accelerator-memory: 5Gi, example.com/credits: 10}
  - input: nvidia.com/mig-2g.10gb
    strategy: Replace
    outputs: {example.com/accelerator-memory: 10Gi, example.com/credits: 15}
  - input: cpu
    strategy: Retain
    outputs: {example.com/credits: 1}
)");
    const Resources sum =
        counted("{cpu: 1, memory: 100M, nvidia.com/mig-1g.5gb: 2, nvidia.com/mig-2g.10gb: 1}", how);
    CHECK(sum.at("example.com/accelerator-memory").value == 20LL << 30);
    CHECK(sum.at("example.com/credits").value == 36);
    CHECK(sum.at("cpu").value == 1000);
    CHECK(sum.at("memory").value == 100'000'000);
    CHECK_FALSE(sum.contains("nvidia.com/mig-1g.5gb"));
    CHECK(counted("{memory: 1Gi}", how) == fold_resources(parsed("{memory: 1Gi}")));
}

TEST_CASE("replaced by nothing a resource does not count; excluded ones do not even transform") {
    const ResourceRules how = rules(R"(
  excludeResourcePrefixes: [networking.example.com/]
  transformations:
  - {input: example.com/vpc, strategy: Replace}
  - {input: networking.example.com/vpc1, outputs: {example.com/net: 1}}
)");
    const Resources sum =
        counted("{cpu: 500m, example.com/vpc: 3, networking.example.com/vpc1: 1}", how);
    CHECK(sum == Resources{{"cpu", {500}}});
}

TEST_CASE("an input is multiplied by another resource of the pod, when the pod has that") {
    const ResourceRules how = rules(R"(
  transformations:
  - input: nvidia.com/gpumem
    strategy: Replace
    multiplyBy: nvidia.com/gpu
    outputs: {nvidia.com/total-gpumem: 1}
)");
    const Resources sum = counted("{nvidia.com/gpumem: 1024, nvidia.com/gpu: 2}", how);
    CHECK(sum.at("nvidia.com/total-gpumem").value == 2048);
    CHECK(sum.at("nvidia.com/gpu").value == 2);
    CHECK(counted("{nvidia.com/gpumem: 1024}", how).at("nvidia.com/total-gpumem").value == 1024);
}

TEST_CASE("inputs count in whole units, outputs may be parts of one") {
    const ResourceRules how = rules(R"(
  transformations:
  - {input: cpu, outputs: {example.com/half: 500m}}
  - {input: memory, strategy: Replace, outputs: {cpu: 250m}}
)");
    const Resources sum = counted("{cpu: 2500m, memory: 2}", how);
    CHECK(sum.at("example.com/half").value == 2);  // 3 times a half, rounded up.
    CHECK(sum.at("cpu").value == 3000);
    const Resources huge = counted("{memory: 8Ei}", rules("\n  transformations: [{input: memory, "
                                                          "outputs: {example.com/x: 5Gi}}]\n"));
    CHECK(is_unlimited(huge.at("example.com/x")));
}

TEST_CASE("init containers, sidecars, overhead and whole pods count as in Kubernetes") {
    const auto cpu = [](const std::string& spec) {
        return effective_requests(parsed(spec)).at("cpu").value;
    };
    const std::string main = "containers: [{name: m, resources: {requests: {cpu: 2}}}]";
    CHECK(cpu("{" + main + "}") == 2000);
    CHECK(cpu("{" + main + ", initContainers: [{name: i, resources: {requests: {cpu: 3}}}]}") ==
          3000);
    const std::string sidecar = "{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}";
    const std::string init = "{name: i, resources: {requests: {cpu: 3}}}";
    CHECK(cpu("{" + main + ", initContainers: [" + sidecar + "]}") == 3000);
    CHECK(cpu("{" + main + ", initContainers: [" + sidecar + ", " + init + "]}") == 4000);
    CHECK(cpu("{" + main + ", initContainers: [" + init + ", " + sidecar + "]}") == 3000);
    CHECK(cpu("{" + main + ", overhead: {cpu: 250m}}") == 2250);
    CHECK(cpu("{" + main + ", resources: {requests: {cpu: 5}}}") == 5000);
    CHECK(cpu("{" + main + ", resources: {requests: {cpu: 5}}, overhead: {cpu: 250m}}") == 5250);
    // Limits of the whole pod stand in only where no container asks for anything.
    CHECK(cpu("{" + main + ", resources: {limits: {cpu: 5}}}") == 2000);
    CHECK(cpu("{containers: [{name: m}], resources: {limits: {cpu: 5}}}") == 5000);
}

}  // namespace
}  // namespace muster::control::queue

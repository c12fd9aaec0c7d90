// control/queue/limits_test.cpp - LimitRanges, runtime classes and the pods' own limits, and what a
// Workload says that breaks them.
#include "control/queue/limits.h"

#include <doctest/doctest.h>

#include "api/yaml.h"
#include "control/fold_pod.h"
#include "control/queue/names.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

Value parsed(const std::string& yaml) {
    auto documents = api::parse_yaml(yaml);
    return std::get<std::vector<api::Parsed>>(documents).at(0).value;
}

Resources full(const Value& spec, const kube::Cache& seen, const char* ns = "team") {
    const auto made = completed(spec, limits_of(seen, ns), seen);
    return effective_requests(made ? *made : spec);
}

TEST_CASE("limits stand in for requests, then LimitRanges for both") {
    cluster::SmallCluster world;
    world.put(limit_ranges, R"({metadata: {name: usual, namespace: team}, spec: {limits: [
        {type: Container, default: {cpu: 2, memory: 2Gi}, defaultRequest: {cpu: 500m}},
        {type: Pod, max: {cpu: 8}}]}})");
    world.put(limit_ranges, R"({metadata: {name: zz-later, namespace: team}, spec: {limits: [
        {type: Container, defaultRequest: {cpu: 7, memory: 1Gi}}]}})");
    const Value spec = parsed(R"({containers: [
        {name: a}, {name: b, resources: {limits: {cpu: 3}}},
        {name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]})");
    CHECK(effective_requests(spec).at("cpu").value == 4000);
    CHECK(full(spec, world.seen).at("cpu").value == 500 + 3000 + 1000);
    CHECK(full(spec, world.seen).at("memory").value == 3LL << 30);
    CHECK(full(spec, world.seen, "other") == effective_requests(spec));
}

TEST_CASE("a runtime class adds its overhead, unless the pods have one") {
    cluster::SmallCluster world;
    world.put(runtime_classes, R"({metadata: {name: kata}, handler: kata,
        overhead: {podFixed: {cpu: 250m, memory: 120Mi}}})");
    const std::string main = "containers: [{name: m, resources: {requests: {cpu: 2}}}]";
    const auto cpu = [&](const std::string& more) {
        return full(parsed("{" + main + ", " + more + "}"), world.seen).at("cpu").value;
    };
    CHECK(cpu("runtimeClassName: kata") == 2250);
    CHECK(cpu("runtimeClassName: kata, overhead: {cpu: 1}") == 3000);
    CHECK(cpu("runtimeClassName: none") == 2000);
}

TEST_CASE("what is wrong with requests is told in Kueue's words") {
    cluster::SmallCluster world;
    world.put(limit_ranges, R"({metadata: {name: a, namespace: team}, spec: {limits: [
        {type: Container, max: {cpu: 4, memory: 8Gi}, min: {cpu: 200m}}]}})");
    world.put(limit_ranges, R"({metadata: {name: b, namespace: team}, spec: {limits: [
        {type: Container, max: {cpu: 2}, min: {cpu: 100m}}, {type: Pod, max: {cpu: 3}}]}})");
    const auto fault = [&](const std::string& spec, const char* ns = "team") {
        const Value workload =
            parsed("{spec: {podSets: [{name: main, count: 1, template: {spec: " + spec + "}}]}}");
        return request_fault(workload, limits_of(world.seen, ns), world.seen);
    };
    const auto one = [](const std::string& resources) {
        return "{containers: [{name: m, resources: " + resources + "}]}";
    };
    const std::string at = "spec.podSets[0].template.spec";
    const std::string refused = "resources didn't satisfy LimitRange constraints: ";
    CHECK(fault(one("{requests: {cpu: 1}}")).empty());
    CHECK(fault(one("{requests: {cpu: 2}, limits: {cpu: 1}}")) ==
          "resources validation failed: " + at +
              ".containers[0]: Invalid value: [\"cpu\"]: requests must not exceed its limits");
    CHECK(fault(one("{requests: {cpu: 1}, limits: {cpu: 3}}")) ==
          refused + at +
              ".containers[0]: Invalid value: [\"cpu\"]: requests must not be above the "
              "limitRange max");
    CHECK(fault(one("{requests: {cpu: 150m}}")) ==
          refused + at +
              ".containers[0]: Invalid value: [\"cpu\"]: requests must not be below the "
              "limitRange min");
    CHECK(fault("{containers: [{name: a, resources: {requests: {cpu: 2}}},"
                " {name: b, resources: {requests: {cpu: 2}}}]}") ==
          refused + at +
              ": Invalid value: [\"cpu\"]: requests must not be above the limitRange max");
    CHECK(fault(one("{requests: {cpu: 3}}"), "other").empty());
    CHECK(fault("{runtimeClassName: gone, containers: []}") ==
          "in podSet main: RuntimeClass.node.k8s.io \"gone\" not found");
}

TEST_CASE("a job outside its namespace's LimitRange waits, says why, and starts when it may") {
    SmallQueues world;
    world.put(limit_ranges, R"({metadata: {name: range, namespace: team}, spec: {limits: [
        {type: Container, max: {cpu: 1}}]}})");
    world.rest();
    world.job("big", "cpu: 2");
    world.job("small", "cpu: 1");
    world.rest();
    const Value& reserved = world.condition("big", "QuotaReserved");
    CHECK(reserved["reason"].text() == "Misconfigured");
    CHECK(reserved["message"].text().starts_with(
        "resources didn't satisfy LimitRange constraints: spec.podSets[0]"));
    CHECK(is_admitted(world.workload_of("small")->value));  // Nobody stands behind it.
    world.put(limit_ranges, R"({metadata: {name: range, namespace: team}, spec: {limits: [
        {type: Container, max: {cpu: 2}}]}})");
    world.rest();
    CHECK(is_admitted(world.workload_of("big")->value));
    world.put(limit_ranges, R"({metadata: {name: range, namespace: team}, spec: {limits: [
        {type: Container, max: {cpu: 1}}]}})");
    world.rest();
    CHECK(is_admitted(world.workload_of("big")->value));  // What runs is left alone.
}

}  // namespace
}  // namespace muster::control::queue

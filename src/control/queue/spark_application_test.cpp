// control/queue/spark_application_test.cpp - SparkApplications in the queues, their operator
// played.
#include <doctest/doctest.h>

#include "control/queue/hooks.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

const api::GroupResource applications{"sparkoperator.k8s.io", "sparkapplications"};

struct Spark : SmallQueues {
    kube::ObjectPtr application(const std::string& spec) {
        return put(applications,
                   "{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: "
                   "{namespace: team, name: pi, labels: {kueue.x-k8s.io/queue-name: lq}}, spec: "
                   "{suspend: true, mode: cluster, " +
                       spec + "}}");
    }
    kube::ObjectPtr now_application() { return find(applications, "team", "pi"); }
    std::string set(std::size_t index) {
        const Value& found = workload_of("pi")->value["spec"]["podSets"][index];
        return found["name"].text() + "*" + std::to_string(found["count"].as_integer()) + " " +
               api::to_json(found["template"]["spec"]["containers"][0]["resources"]);
    }
};

TEST_CASE("what Spark's pods ask for is what Spark makes of the settings") {
    const auto sets = [](const std::string& spec) {
        Spark world;
        world.application(spec);
        world.rest();
        return world.set(0) + " " + world.set(1);
    };
    CHECK(sets("driver: {}, executor: {instances: 2}") ==
          R"(driver*1 {"requests":{"cpu":"1","memory":"1408Mi"}} )"
          R"(executor*2 {"requests":{"cpu":"1","memory":"1408Mi"}})");
    CHECK(sets("type: Python, driver: {cores: 2, memory: 4g}, executor: {instances: 1, "
               "coreRequest: 500m, coreLimit: 1200m, memory: 512m, memoryOverhead: 100m, "
               "gpu: {name: nvidia.com/gpu, quantity: 1}}, "
               "sparkConf: {spark.executor.pyspark.memory: 1g}") ==
          R"(driver*1 {"requests":{"cpu":"2","memory":"5734Mi"}} )"
          R"(executor*1 {"requests":{"cpu":"500m","memory":"1636Mi"},)"
          R"("limits":{"cpu":"1200m","nvidia.com/gpu":"1"}})");
    CHECK(sets("memoryOverheadFactor: '0.5', driver: {}, executor: {instances: 1}, sparkConf: "
               "{spark.driver.cores: '3', spark.driver.memory: 2048, "
               "spark.memory.offHeap.enabled: 'true', spark.memory.offHeap.size: 1gb}") ==
          R"(driver*1 {"requests":{"cpu":"3","memory":"1536Mi"}} )"
          R"(executor*1 {"requests":{"cpu":"1","memory":"2560Mi"}})");
}

TEST_CASE("a SparkApplication starts in its roles' own fields, is put back, and ends") {
    Spark world;
    world.patch(world.find(flavors, "", "default-flavor"), "{spec: {nodeLabels: {pool: a}}}");
    world.patch(world.find(nodes, "", "laptop"), "{metadata: {labels: {pool: a}}}");
    const std::string spec =
        "driver: {labels: {mine: x}}, executor: {instances: 2, nodeSelector: {disk: ssd}}";
    world.application(spec);
    const Value before = world.now_application()->value["spec"];
    world.rest();
    REQUIRE(is_admitted(world.workload_of("pi")->value));
    const Value started = world.now_application()->value["spec"];
    CHECK_FALSE(started["suspend"].boolean_or(true));
    CHECK(started["driver"]["labels"]["mine"].text() == "x");
    CHECK(started["driver"]["labels"][pod_set_label].text() == "driver");
    CHECK(started["driver"]["nodeSelector"]["pool"].text() == "a");
    CHECK(started["executor"]["nodeSelector"]["disk"].text() == "ssd");
    CHECK(started["executor"]["nodeSelector"]["pool"].text() == "a");

    world.patch(world.now_application(), R"({status: {applicationState: {state: RUNNING},
        executorState: {exec-1: RUNNING, exec-2: PENDING}}})");
    world.rest();
    CHECK(world.condition("pi", "PodsReady")["status"].text_or("") != "True");
    world.patch(world.now_application(), "{status: {executorState: {exec-2: RUNNING}}}");
    world.rest();
    CHECK(world.condition("pi", "PodsReady")["status"].text() == "True");

    world.patch(world.workload_of("pi"), "{spec: {active: false}}");
    world.rest();
    CHECK(world.now_application()->value["spec"] == before);

    world.patch(world.now_application(),
                "{status: {applicationState: {state: COMPLETED, errorMessage: ''}}}");
    world.rest();
    CHECK(world.condition("pi", "Finished")["reason"].text() == "Succeeded");
}

TEST_CASE("what queues cannot manage of Spark is refused") {
    const JobKind* kind = find_job_kind(applications);
    REQUIRE(kind != nullptr);
    Spark world;
    const auto made = world.application("driver: {}, executor: {}");
    CHECK(kind->check(made->value).empty());
    world.patch(made, "{spec: {mode: client, dynamicAllocation: {enabled: true}}}");
    const auto errors = kind->check(world.now_application()->value);
    REQUIRE(errors.size() == 2);
    CHECK(errors[0].field == "spec.mode");
    CHECK(errors[0].text ==
          "Invalid value: \"client\": only Cluster mode is supported for a kueue managed job");
    CHECK(errors[1].field == "spec.dynamicAllocation.enabled");
}

}  // namespace
}  // namespace muster::control::queue

// control/queue/train_job_test.cpp - TrainJobs in the queues, Trainer played.
#include <doctest/doctest.h>

#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

const api::GroupResource train_jobs{"trainer.kubeflow.org", "trainjobs"};
const api::GroupResource runtimes{"trainer.kubeflow.org", "trainingruntimes"};
const api::GroupResource cluster_runtimes{"trainer.kubeflow.org", "clustertrainingruntimes"};

constexpr const char* torch = R"({apiVersion: trainer.kubeflow.org/v1alpha1,
    kind: ClusterTrainingRuntime, metadata: {name: torch}, spec: {
      mlPolicy: {numNodes: 2, torch: {numProcPerNode: auto}}, template: {spec: {replicatedJobs: [
        {name: data, template: {metadata: {labels: {
          trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}, spec: {template: {
            spec: {containers: [{name: dataset-initializer}]}}}}},
        {name: node, template: {metadata: {labels: {
          trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {
            metadata: {labels: {team: a}}, spec: {
              tolerations: [{key: gpu, operator: Exists}],
              containers: [{name: node, resources: {requests: {cpu: 1}}}]}}}}}]}}}})";

struct Training : SmallQueues {
    kube::ObjectPtr train(const std::string& more = "",
                          const std::string& runtime = "name: torch") {
        return put(train_jobs,
                   "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: "
                   "{namespace: team, name: train, labels: {kueue.x-k8s.io/queue-name: lq}}, spec: "
                   "{suspend: true, runtimeRef: {" +
                       runtime + "}" + more + "}}");
    }
    kube::ObjectPtr now_train() { return find(train_jobs, "team", "train"); }
    std::string sets() {
        std::string text;
        for (const Value& set : workload_of("train")->value["spec"]["podSets"].items()) {
            const Value& first = set["template"]["spec"]["containers"][0];
            text += set["name"].text() + "*" + std::to_string(set["count"].as_integer()) + ":" +
                    api::to_json(first["resources"]["requests"]["cpu"]) + " ";
        }
        return text;
    }
};

TEST_CASE("the pods of a TrainJob are those of its runtime and its own trainer") {
    const auto sets = [](const std::string& more) {
        Training world;
        world.put(cluster_runtimes, torch);
        world.train(more);
        world.rest();
        return world.sets();
    };
    CHECK(sets("") == "data*1:null node*2:1 ");
    CHECK(sets(", trainer: {numNodes: 4}") == "data*1:null node*4:1 ");
    CHECK(sets(", trainer: {resourcesPerNode: {requests: {cpu: 3}}}") == "data*1:null node*2:3 ");
    CHECK(sets(", runtimePatches: [{manager: me.example/x, trainingRuntimeSpec: {template: {spec: "
               "{replicatedJobs: [{name: data, template: {spec: {template: {spec: {containers: "
               "[{name: dataset-initializer, resources: {requests: {cpu: 2}}}]}}}}}]}}}}]") ==
          "data*1:2 node*2:1 ");
}

TEST_CASE("an MPI runtime's launcher may be one of the nodes") {
    const auto sets = [](const std::string& launcher_as_node) {
        Training world;
        world.put(runtimes, R"({apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime,
            metadata: {name: mpi, namespace: team}, spec: {mlPolicy: {numNodes: 1, mpi: {
              runLauncherAsNode: )" +
                                launcher_as_node +
                                R"(}}, template: {spec: {replicatedJobs: [
              {name: launcher, template: {metadata: {labels: {
                trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
                spec: {template: {spec: {containers: [{name: launcher}]}}}}},
              {name: node, template: {spec: {template: {spec: {containers: [{name: node}]}}}}}]}}}})");
        world.train(", trainer: {numNodes: 4, resourcesPerNode: {requests: {cpu: 1}}}",
                    "name: mpi, kind: TrainingRuntime");
        world.rest();
        return world.sets();
    };
    CHECK(sets("true") == "launcher*1:1 node*3:1 ");
    CHECK(sets("false") == "launcher*1:null node*4:1 ");
}

TEST_CASE("a TrainJob starts with a patch of our own, gives it back, and ends") {
    Training world;
    world.train();
    world.rest();
    CHECK(world.workload_of("train") == nullptr);  // Its runtime is not there yet.
    world.put(cluster_runtimes, torch);
    world.rest();
    REQUIRE(is_admitted(world.workload_of("train")->value));
    const Value started = world.now_train()->value["spec"];
    CHECK_FALSE(started["suspend"].boolean_or(true));
    REQUIRE(started["runtimePatches"].size() == 1);
    const Value& patch = started["runtimePatches"][0];
    CHECK(patch["manager"].text() == "kueue.x-k8s.io/manager");
    const Value& node = patch.path("trainingRuntimeSpec.template.spec.replicatedJobs")[1];
    CHECK(node["name"].text() == "node");
    const Value& pods = node["template"]["spec"]["template"];
    CHECK(pods["metadata"]["labels"][pod_set_label].text() == "node");
    CHECK_FALSE(pods["metadata"]["labels"].has("team"));
    CHECK_FALSE(pods["spec"].has("containers"));

    world.patch(world.now_train(), R"({status: {jobsStatus: [{name: data, succeeded: 1},
        {name: node, active: 1, ready: 1}]}})");
    world.rest();
    CHECK(world.condition("train", "PodsReady")["status"].text() == "True");
    const Value& done = world.workload_of("train")->value["status"]["reclaimablePods"];
    REQUIRE(done.size() == 1);
    CHECK(done[0]["name"].text() == "data");

    world.patch(world.workload_of("train"), "{spec: {active: false}}");
    world.rest();
    CHECK(world.now_train()->value["spec"]["suspend"].boolean_or(false));
    CHECK_FALSE(has_admission(world.workload_of("train")->value));
    CHECK(world.now_train()
              ->value["spec"]["runtimePatches"][0]
              .path("trainingRuntimeSpec.template.spec.replicatedJobs")
              .empty());

    world.patch(world.now_train(),
                "{status: {conditions: [{type: Failed, status: 'True', message: no luck}]}}");
    world.rest();
    CHECK(world.condition("train", "Finished")["message"].text() == "no luck");
}

TEST_CASE("a TrainJob runs on when its runtime goes") {
    Training world;
    const auto runtime = world.put(cluster_runtimes, torch);
    world.train();
    world.rest();
    world.remove(runtime->key);
    world.rest();
    CHECK(is_admitted(world.workload_of("train")->value));
    CHECK_FALSE(world.now_train()->value["spec"]["suspend"].boolean_or(true));
}

}  // namespace
}  // namespace muster::control::queue

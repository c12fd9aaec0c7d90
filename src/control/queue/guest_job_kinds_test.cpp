// control/queue/guest_job_kinds_test.cpp - JobSet and the kinds of Kubeflow from their making to
// their end, their operators played.
#include "control/queue/guest_job_kinds.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "api/guest_kinds.h"
#include "base/text.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

constexpr std::string_view guest_fields =
#include "control/queue/guest_fields.inc"
    ;

constexpr const char* pair_of_jobs = R"({apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet,
    metadata: {namespace: team, name: pair, labels: {kueue.x-k8s.io/queue-name: lq}},
    spec: {suspend: true, replicatedJobs: [
      {name: Driver, replicas: 1, template: {spec: {parallelism: 1, completions: 1, template: {
        spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}}}},
      {name: workers, replicas: 2, template: {spec: {parallelism: 3, completions: 2, template: {
        spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}}}}]}})";

struct Guests : SmallQueues {
    kube::ObjectPtr training(const std::string& kind, const std::string& member,
                             const std::string& roles) {
        const api::Kind* known = api::find_known_kind_named("kubeflow.org", kind);
        REQUIRE(known != nullptr);
        return put(known->resource(),
                   "{apiVersion: kubeflow.org/" + known->storage + ", kind: " + kind +
                       ", metadata: {namespace: team, name: train, labels: "
                       "{kueue.x-k8s.io/queue-name: lq}}, spec: {runPolicy: {suspend: true}, " +
                       member + ": {" + roles + "}}}");
    }
    static std::string role(const std::string& name, const std::string& replicas) {
        return name + ": {" + replicas +
               "template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}}";
    }
    std::string sets_of(const std::string& job) {
        std::string sets;
        for (const Value& set : workload_of(job)->value["spec"]["podSets"].items())
            sets += set["name"].text() + "*" + std::to_string(set["count"].as_integer()) + " ";
        return sets;
    }
};

TEST_CASE("a JobSet waits as a whole, gives back what is done, and ends") {
    Guests world;  // 9 cpu
    const auto made = world.put(job_sets, pair_of_jobs);
    world.rest();
    CHECK(world.sets_of("pair") == "driver*1 workers*4 ");
    CHECK(is_admitted(world.workload_of("pair")->value));
    const auto started = world.find(job_sets, "team", "pair");
    CHECK_FALSE(started->value["spec"]["suspend"].boolean_or(true));
    CHECK(started->value["spec"]["replicatedJobs"].size() == 2);

    world.patch(started, R"({status: {replicatedJobsStatus: [
        {name: Driver, ready: 1, succeeded: 0}, {name: workers, ready: 1, succeeded: 0}]}})");
    world.rest();
    CHECK(world.condition("pair", "PodsReady")["status"].text_or("") != "True");
    world.patch(world.find(job_sets, "team", "pair"), R"({status: {replicatedJobsStatus: [
        {name: Driver, ready: 1, succeeded: 0}, {name: workers, ready: 1, succeeded: 1}]}})");
    world.rest();
    CHECK(world.condition("pair", "PodsReady")["status"].text() == "True");
    const Value& done = world.workload_of("pair")->value["status"]["reclaimablePods"];
    REQUIRE(done.size() == 1);
    CHECK(done[0]["name"].text() == "workers");
    CHECK(done[0]["count"].as_integer() == 2);

    world.patch(world.find(job_sets, "team", "pair"),
                "{status: {conditions: [{type: Completed, status: 'True', message: all done}]}}");
    world.rest();
    CHECK(world.condition("pair", "Finished")["reason"].text() == "Succeeded");
    CHECK(world.condition("pair", "Finished")["message"].text() == "all done");
}

TEST_CASE("an evicted JobSet is suspended, and its Jobs' pods hold its quota until they end") {
    Guests world;
    const auto made = world.put(job_sets, pair_of_jobs);
    world.rest();
    const auto child = world.put(
        jobs,
        "{apiVersion: batch/v1, kind: Job, metadata: {namespace: team, name: pair-driver-0, "
        "ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: pair, "
        "uid: " +
            made->uid + ", controller: true}]}, spec: {suspend: false}}");
    const auto running = world.pod("pair-driver-0-x", *child, "cpu: 1");
    world.patch(world.workload_of("pair"), "{spec: {active: false}}");
    world.rest();
    CHECK(world.find(job_sets, "team", "pair")->value["spec"]["suspend"].boolean_or(false));
    CHECK(has_admission(world.workload_of("pair")->value));
    world.patch(running, "{status: {phase: Failed}}");
    world.rest();
    CHECK_FALSE(has_admission(world.workload_of("pair")->value));
}

TEST_CASE("the roles that a training job has are its pod sets, in their order") {
    const auto sets = [](const std::string& kind, const std::string& member,
                         const std::string& roles) {
        Guests world;
        world.training(kind, member, roles);
        world.rest();
        REQUIRE(world.workload_of("train") != nullptr);
        CHECK(is_admitted(world.workload_of("train")->value));
        return world.sets_of("train");
    };
    const auto role = Guests::role;
    CHECK(sets("PyTorchJob", "pytorchReplicaSpecs",
               role("Worker", "replicas: 3, ") + ", " + role("Master", "")) ==
          "master*1 worker*3 ");
    CHECK(sets("TFJob", "tfReplicaSpecs",
               role("PS", "replicas: 2, ") + ", " + role("Chief", "") + ", " +
                   role("Worker", "replicas: 2, ")) == "chief*1 ps*2 worker*2 ");
    CHECK(sets("MPIJob", "mpiReplicaSpecs",
               role("Launcher", "") + ", " + role("Worker", "replicas: 2, ")) ==
          "launcher*1 worker*2 ");
    CHECK(sets("XGBoostJob", "xgbReplicaSpecs", role("Master", "")) == "master*1 ");
    CHECK(sets("PaddleJob", "paddleReplicaSpecs", role("Worker", "replicas: 1, ")) == "worker*1 ");
    CHECK(sets("JAXJob", "jaxReplicaSpecs", role("Worker", "replicas: 4, ")) == "worker*4 ");
}

TEST_CASE("a training job starts when admitted, is ready when it runs, and may fail") {
    Guests world;
    const auto made = world.training("PyTorchJob", "pytorchReplicaSpecs",
                                     Guests::role("Worker", "replicas: 2, "));
    world.rest();
    const auto now = [&] { return world.find(made->key.resource, "team", "train"); };
    CHECK_FALSE(now()->value.path("spec.runPolicy.suspend").boolean_or(true));
    world.patch(now(), "{status: {conditions: [{type: Running, status: 'True'}]}}");
    world.rest();
    CHECK(world.condition("train", "PodsReady")["status"].text() == "True");
    world.patch(now(),
                "{status: {conditions: [{type: Running, status: 'False'}, "
                "{type: Failed, status: 'True', message: out of memory}]}}");
    world.rest();
    CHECK(world.condition("train", "Finished")["reason"].text() == "Failed");
    CHECK(world.condition("train", "Finished")["message"].text() == "out of memory");
}

TEST_CASE("the class of a training job's scheduling policy goes before those of its pods") {
    Guests world;
    for (const char* name : {"high: 100", "low: 1"}) {
        const std::string text(name);
        world.put(priority_classes, "{metadata: {name: " + text.substr(0, text.find(':')) +
                                        "}, value: " + text.substr(text.find(':') + 2) + "}");
    }
    const std::string pods =
        "Worker: {template: {spec: {priorityClassName: low, containers: [{name: main}]}}}";
    const auto made = world.training("PyTorchJob", "pytorchReplicaSpecs", pods);
    world.rest();
    CHECK(world.workload_of("train")->value["spec"]["priority"].as_integer() == 1);
    world.remove(made->key);
    world.rest();
    world.put(made->key.resource,
              "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {namespace: team, name: "
              "again, labels: {kueue.x-k8s.io/queue-name: lq}}, spec: {runPolicy: {suspend: true, "
              "schedulingPolicy: {priorityClass: high}}, pytorchReplicaSpecs: {" +
                  pods + "}}}");
    world.rest();
    const Value& spec = world.workload_of("again")->value["spec"];
    CHECK(spec["priority"].as_integer() == 100);
    CHECK(spec["priorityClassRef"]["name"].text() == "high");
}

TEST_CASE("an AppWrapper counts the pods of the training jobs that it wraps") {
    Guests world;
    world.put(app_wrappers, R"({apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper,
        metadata: {namespace: team, name: wrapped,
          labels: {kueue.x-k8s.io/queue-name: lq}}, spec: {resources: {GenericItems: [
          {generictemplate: {apiVersion: kubeflow.org/v1, kind: PyTorchJob,
            metadata: {name: inner}, spec: {pytorchReplicaSpecs: {)" +
                                Guests::role("Worker", "replicas: 3, ") + "}}}}, " +
                                R"({generictemplate: )" + std::string(pair_of_jobs) + "}]}}}");
    world.rest();
    CHECK(world.sets_of("wrapped") == "item-0-worker*3 item-1-driver*1 item-1-workers*4 ");
    const auto inner = world.find({"kubeflow.org", "pytorchjobs"}, "team", "inner");
    REQUIRE(inner != nullptr);
    CHECK(inner->value["metadata"]["ownerReferences"][0]["name"].text() == "wrapped");
    CHECK(world.find(job_sets, "team", "pair") != nullptr);
}

TEST_CASE("a job that is too big for the queue stays suspended") {
    Guests world;  // 9 cpu
    const auto made =
        world.training("MPIJob", "mpiReplicaSpecs", Guests::role("Worker", "replicas: 10, "));
    world.rest();
    CHECK_FALSE(is_admitted(world.workload_of("train")->value));
    CHECK(world.find(made->key.resource, "team", "train")
              ->value.path("spec.runPolicy.suspend")
              .boolean_or(false));
}

/// Every path that the table of a kind names.
std::set<std::string> named_paths(const JobKind& kind) {
    std::set<std::string> paths;
    const auto name = [&](const std::string& before, std::string_view path) {
        if (!path.empty()) paths.insert(before + std::string(path));
    };
    const auto name_condition = [&] {
        for (const char* member : {"type", "status", "message"})
            name("status.conditions[].", member);
    };
    name("", kind.suspend);
    name("", kind.priority_class);
    name("", kind.ready_field);
    name("", kind.active);
    for (const std::string_view count : kind.ready_counts)
        name("", count);
    if (!kind.ready_condition.empty()) name_condition();
    for (const EndRule& end : kind.ends) {
        if (end.sign == EndRule::Sign::condition) name_condition();
        if (end.sign == EndRule::Sign::field) name("", end.where);
        name("", end.message);
    }
    for (const PodSetRule& rule : kind.pod_sets) {
        const std::string item = rule.list.empty() ? "" : std::string(rule.list) + "[].";
        if (!rule.list.empty()) name(item, rule.name);
        name(item, rule.pod_template);
        name(item, rule.times);
        name(item, rule.present_at);
        for (const std::string_view count : rule.counts)
            name(item, count);
    }
    return paths;
}

TEST_CASE(
    "the fields that the tables of guests name are those that their definitions are asked for") {
    const std::vector<std::string_view> lines = split(guest_fields, '\n');
    for (const JobKind& kind : guest_job_kinds()) {
        for (const std::string& path : named_paths(kind)) {
            const std::string line = std::string(kind.kind) + " " + path;
            CHECK_MESSAGE(std::find(lines.begin(), lines.end(), line) != lines.end(), line);
        }
    }
}

}  // namespace
}  // namespace muster::control::queue

// control/queue/job_kinds_test.cpp - what single kinds of jobs have of their own: fewer pods than
// asked for, a Workload made beforehand, parts of a greater whole.
#include <doctest/doctest.h>

#include "api/parsed_yaml.h"
#include "control/queue/managed.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

struct Kinds : SmallQueues {
    kube::ObjectPtr flexible_job(const std::string& annotations = "") {
        return put(jobs,
                   R"({apiVersion: batch/v1, kind: Job, metadata: {namespace: team, name: many,
            labels: {kueue.x-k8s.io/queue-name: lq}, annotations: {
              kueue.x-k8s.io/job-min-parallelism: "2")" +
                       annotations + R"(}},
            spec: {suspend: true, completionMode: Indexed, parallelism: 6, completions: 6,
              template: {spec: {containers: [{name: main, resources: {requests: {cpu: 2}}}]}}}})");
    }
    std::int64_t number(const std::string& path) {
        return job_now("many")->value.path(path).as_integer();
    }
    void evict() {
        patch(workload_of("many"), "{spec: {active: false}}");
        rest();
    }
};

TEST_CASE("of a Job that allows it as many pods start as fit, and all are asked for again after") {
    Kinds world;  // 9 cpu
    world.flexible_job();
    world.rest();
    CHECK(is_admitted(world.workload_of("many")->value));
    CHECK(world.workload_of("many")->value.path("spec.podSets")[0]["minCount"].as_integer() == 2);
    CHECK(admitted_count(world.workload_of("many")->value, "main") == 4);
    CHECK(world.number("spec.parallelism") == 4);
    CHECK(world.number("spec.completions") == 6);
    CHECK_FALSE(world.job_now("many")->value["spec"]["suspend"].boolean_or(true));
    world.evict();
    CHECK(world.job_now("many")->value["spec"]["suspend"].boolean_or(false));
    CHECK(world.number("spec.parallelism") == 6);
    CHECK_FALSE(has_admission(world.workload_of("many")->value));
}

TEST_CASE("completions follow the pods that start when the Job says so") {
    Kinds world;
    world.flexible_job(R"(, kueue.x-k8s.io/job-completions-equal-parallelism: "true")");
    world.rest();
    CHECK(world.number("spec.parallelism") == 4);
    CHECK(world.number("spec.completions") == 4);
    world.evict();
    CHECK(world.number("spec.completions") == 6);
}

TEST_CASE("pods of a Job that never run again are given back") {
    const auto done = [](const std::string& spec, const std::string& status) {
        const Value job = api::parsed_yaml("{spec: {" + spec + "}, status: {" + status + "}}");
        std::int64_t count = 0;
        for (const ReclaimablePods& pods : find_job_kind(jobs)->find_reclaimable(job, {}))
            count += pods.count;
        return count;
    };
    CHECK(done("parallelism: 4, completions: 6", "succeeded: 2") == 0);
    CHECK(done("parallelism: 4, completions: 6", "succeeded: 4") == 2);
    CHECK(done("parallelism: 1, completions: 6", "succeeded: 5") == 0);
    CHECK(done("parallelism: 5, completions: 3", "succeeded: 1") == 1);
    CHECK(done("parallelism: 4", "succeeded: 1") == 1);  // A queue of work: none comes after it.
    const std::string indexed = "completionMode: Indexed, parallelism: 4, completions: 4";
    CHECK(done(indexed, "succeeded: 1, completedIndexes: '0'") == 1);
    CHECK(done(indexed, "succeeded: 1, completedIndexes: '0', failedIndexes: 1-2") == 3);
    CHECK(done(indexed, "succeeded: 3, completedIndexes: '0,2,7-9', failedIndexes: '2'") == 2);
    CHECK(done(indexed, "succeeded: 2") == 0);
}

const std::string prebuilt = R"({apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload,
    metadata: {namespace: team, name: made-before}, spec: {queueName: lq, active: true, podSets: [{
      name: main, count: COUNT, template: {spec: {containers: [{name: main,
        resources: {requests: {cpu: 1}}}]}}}]}})";

std::string with_count(const std::string& count) {
    std::string text = prebuilt;
    return text.replace(text.find("COUNT"), 5, count);
}

TEST_CASE("a job takes the Workload that was made for it") {
    Kinds world;
    world.job("train", "cpu: 1", 2, ", kueue.x-k8s.io/prebuilt-workload-name: made-before");
    world.rest();
    CHECK(world.seen.list(workloads, "team").empty());
    CHECK(world.job_now("train")->value["spec"]["suspend"].boolean_or(false));
    world.put(workloads, with_count("2"));
    world.rest();
    const auto workload = world.find(workloads, "team", "made-before");
    CHECK(controller_of(workload->value)["name"].text() == "train");
    CHECK(workload->label(job_uid_label) == world.job_now("train")->uid);
    CHECK(is_admitted(workload->value));
    CHECK_FALSE(world.job_now("train")->value["spec"]["suspend"].boolean_or(true));
    CHECK(world.seen.list(workloads, "team").size() == 1);
}

TEST_CASE("a Workload made beforehand that asks for something else is finished as out of sync") {
    Kinds world;
    world.job("train", "cpu: 1", 2, ", kueue.x-k8s.io/prebuilt-workload-name: made-before");
    world.put(workloads, with_count("3"));
    world.rest();
    const Value& finished = world.condition("train", "Finished");
    CHECK(finished["reason"].text() == "OutOfSync");
    CHECK(finished["message"].text() == "The prebuilt workload is out of sync with its user job");
    CHECK(world.job_now("train")->value["spec"]["suspend"].boolean_or(false));
}

TEST_CASE("what a queued job has made runs only while that has its quota") {
    Kinds world;
    const auto whole = world.job("whole", "cpu: 20");  // Never fits.
    const auto part =
        world.put(jobs,
                  "{apiVersion: batch/v1, kind: Job, metadata: {namespace: team, name: part, "
                  "ownerReferences: [{apiVersion: batch/v1, kind: Job, name: whole, uid: " +
                      whole->uid +
                      ", controller: true}]}, spec: {suspend: false, template: {spec: {containers: "
                      "[{name: main}]}}}}");
    world.rest();
    CHECK(world.job_now("part")->value["spec"]["suspend"].boolean_or(false));
    CHECK(world.has_event("Suspended"));
    CHECK(world.workload_of("part") == nullptr);
}

TEST_CASE("a chain of owners that is too long is told") {
    Kinds world;
    std::string owner;
    for (int i = 0; i < 13; ++i) {
        const std::string name = "j" + std::to_string(i);
        const auto made = world.put(jobs,
                                    "{apiVersion: batch/v1, kind: Job, metadata: {namespace: "
                                    "team, name: " +
                                        name + owner + "}, spec: {suspend: true}}");
        owner = ", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: " + name +
                ", uid: " + made->uid + ", controller: true}]";
    }
    world.rest();
    CHECK(world.has_event("JobNestingTooDeep"));
}

}  // namespace
}  // namespace muster::control::queue

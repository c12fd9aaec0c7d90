// control/queue/explain_test.cpp - who holds what, and what muster why says of what is over.
#include "control/queue/explain.h"

#include <string>

#include <doctest/doctest.h>

#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

TEST_CASE("pods that a Deployment of an AppWrapper made take its room, not room beside it") {
    SmallQueues world;
    world.wrapper("one");
    world.rest();
    REQUIRE(world.wrapper_status("one")["state"].text() == "Running");
    const auto made = world.job_now("one");
    const auto set = world.put(
        {"apps", "replicasets"},
        "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: team, name: between, "
        "ownerReferences: [{apiVersion: batch/v1, kind: Job, name: one, uid: " +
            made->uid + ", controller: true}]}}");
    const auto pod = world.pod("one-a", *set, "cpu: 3, memory: 2G");
    world.rest();
    world.wrapper("two");
    world.rest();
    CHECK(world.wrapper_status("two")["state"].text() == "Running");
    world.remove({app_wrappers, "team", "one"});
    world.wrapper("three");
    world.rest();
    CHECK(world.wrapper_status("three")["queuejobstate"].text() == "Backoff");
    world.end_pod(pod, "Failed");
    world.rest();
    CHECK(world.wrapper_status("three")["state"].text() == "Running");
}

TEST_CASE("what has failed or is not valid says why when it is asked why") {
    SmallQueues world;
    const auto text = [&](const api::GroupResource& resource, const std::string& object) {
        const auto made = world.put(resource, object);
        return explain(world.planner, world.seen, made->key, world.now)["text"].text();
    };
    const std::string head = "{apiVersion: ray.io/v1, kind: RayJob, metadata: {namespace: team, ";
    const api::GroupResource ray_jobs{"ray.io", "rayjobs"};
    CHECK(text(ray_jobs, head + "name: a}, status: {jobDeploymentStatus: Failed, message: "
                                "\"exit code 3, last logs:\\nmore\"}}") ==
          "rayjob team/a has failed: exit code 3, last logs.");
    CHECK(text(ray_jobs, head + "name: b}, status: {jobDeploymentStatus: ValidationFailed, "
                                "message: no entrypoint}}") ==
          "rayjob team/b is not valid: no entrypoint; it goes on when that is corrected.");
    CHECK(text(ray_jobs, head + "name: c}, status: {jobDeploymentStatus: Complete}}") ==
          "rayjob team/c is finished.");
    CHECK(text(app_wrappers,
               "{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, metadata: "
               "{namespace: team, name: d}, status: {state: Failed, conditions: [{type: Init}, "
               "{type: PreemptCandidate, message: 'Dispatch deadline exceeded.'}]}}") ==
          "appwrapper team/d has failed: Dispatch deadline exceeded.");
}

}  // namespace
}  // namespace muster::control::queue

// control/ray/job_test.cpp - the life of a RayJob, with a scripted dashboard.
#include "control/ray/job.h"

#include <string>

#include <doctest/doctest.h>

#include "control/ray/scripted_ray.h"

namespace muster::control::ray {
namespace {

using api::Value;

TEST_CASE(
    "a job makes its cluster, submits when it is ready, and is complete when Ray and submitter "
    "are") {
    World world;
    world.put(rayjobs, digits());
    world.rest();
    CHECK(world.deployment() == "Initializing");
    REQUIRE(world.cluster() != nullptr);
    CHECK(world.cache.find({batch_jobs, "team", "digits"}) == nullptr);
    world.dashboard = "RUNNING";
    world.make_cluster_ready();
    CHECK(world.deployment() == "Running");
    CHECK(world.status()["jobStatus"].text() == "RUNNING");
    world.dashboard = "SUCCEEDED";
    world.later(seconds(1));
    CHECK(world.deployment() == "Running");  // The submitter still streams the logs.
    world.end_submitter("Complete");
    world.rest();
    CHECK(world.deployment() == "Complete");
    CHECK(world.status()["jobStatus"].text() == "SUCCEEDED");
    CHECK(world.cluster() == nullptr);
}

TEST_CASE("the dashboard is asked once a second, not in a busy loop") {
    World world;
    world.put(rayjobs, digits());
    world.rest();
    world.dashboard = "RUNNING";
    world.make_cluster_ready();
    const std::size_t before = world.asked.size();
    for (int i = 0; i < 10; ++i)
        world.later(milliseconds(500));
    CHECK(world.asked.size() - before == 5);
}

TEST_CASE("HTTPMode posts once under the job's id") {
    World world;
    world.put(rayjobs, digits(R"("submissionMode":"HTTPMode",)"));
    world.rest();
    world.dashboard = "RUNNING";
    world.make_cluster_ready();
    CHECK(world.deployment() == "Running");
    CHECK(world.cache.find({batch_jobs, "team", "digits"}) == nullptr);
    int posts = 0;
    for (const std::string& call : world.asked)
        posts += call.starts_with("POST") ? 1 : 0;
    CHECK(posts == 1);
    world.dashboard = "SUCCEEDED";
    world.later(seconds(1));
    CHECK(world.deployment() == "Complete");
}

TEST_CASE("a failed submitter does not fail a job that Ray runs") {
    World world;
    world.put(rayjobs, digits());
    world.rest();
    world.dashboard = "RUNNING";
    world.make_cluster_ready();
    world.end_submitter("Failed");
    world.later(seconds(2));
    CHECK(world.deployment() == "Running");
    world.dashboard = "SUCCEEDED";
    world.later(seconds(2));
    CHECK(world.deployment() == "Complete");
}

TEST_CASE("a submitter that fails before Ray knows the job fails it") {
    World world;
    world.put(rayjobs, digits());
    world.rest();
    world.dashboard = "unknown";
    world.make_cluster_ready();
    world.end_submitter("Failed");
    world.later(seconds(2));
    CHECK(world.deployment() == "Failed");
    CHECK(world.status()["reason"].text() == "SubmissionFailed");
}

TEST_CASE("what a dashboard says is cut to what an object can carry") {
    World world;
    world.message.assign(7'000'000, 'x');
    world.put(rayjobs, digits());
    world.rest();
    world.dashboard = "FAILED";
    world.make_cluster_ready();
    world.end_submitter("Failed");
    world.later(seconds(2));
    CHECK(world.deployment() == "Failed");
    const std::string message = world.status()["message"].text();
    CHECK(message.ends_with("x... (7000000 bytes)"));
    CHECK(message.size() < 33'000);
    CHECK(!world.status().has("rayJobInfo"));  // Its times are none.

    World refused;
    refused.message.assign(7'000'000, 'x');
    refused.put(rayjobs, digits(R"("submissionMode":"HTTPMode",)"));
    refused.rest();
    refused.dashboard = "unknown";
    refused.make_cluster_ready();
    refused.later(seconds(2));
    CHECK(refused.deployment() == "Failed");
    CHECK(refused.status()["message"].text().size() < 33'000);
}

TEST_CASE("a failed application is tried again on a new cluster while the limit allows") {
    World world;
    world.put(rayjobs, digits(R"("backoffLimit":1,)"));
    world.rest();
    const std::string first = world.status()["rayClusterName"].text();
    world.dashboard = "FAILED";
    world.make_cluster_ready();
    world.end_submitter("Complete");
    world.later(seconds(2));
    CHECK(world.deployment() == "Initializing");
    CHECK(world.status()["rayClusterName"].text() != first);
    CHECK(world.cache.find({clusters, "team", first}) == nullptr);
    world.make_cluster_ready();
    world.end_submitter("Complete");
    world.later(seconds(2));
    CHECK(world.deployment() == "Failed");
    CHECK(world.status()["failed"].integer_or(0) == 2);
    CHECK(world.status()["reason"].text() == "AppFailed");
}

TEST_CASE("deadlines end a job") {
    World world;
    world.put(rayjobs, digits(R"("activeDeadlineSeconds":60,)"));
    world.rest();
    world.later(seconds(59));
    CHECK(world.deployment() == "Initializing");
    world.later(seconds(1));
    CHECK(world.deployment() == "Failed");
    CHECK(world.status()["reason"].text() == "DeadlineExceeded");
    CHECK(world.cluster() == nullptr);
}

TEST_CASE("a suspended job makes nothing, and suspending a running one cleans up") {
    World world;
    world.put(rayjobs, digits(R"("suspend":true,)"));
    world.rest();
    CHECK(world.deployment() == "Suspended");
    CHECK(world.cache.list(clusters).empty());
    Value job = world.cache.find(world.key)->value;
    job.at("spec").set("suspend", false);
    world.put(rayjobs, job);
    world.rest();
    CHECK(world.deployment() == "Initializing");
    job = world.cache.find(world.key)->value;
    job.at("spec").set("suspend", true);
    world.put(rayjobs, job);
    world.rest();
    CHECK(world.deployment() == "Suspended");
    CHECK(world.cache.list(clusters).empty());
}

TEST_CASE("a job that cannot be valid says why, and heals when it is corrected") {
    World world;
    Value job = digits();
    job.at("spec").set("entrypoint", "");
    world.put(rayjobs, job);
    world.rest();
    CHECK(world.deployment() == "ValidationFailed");
    CHECK(world.status()["message"].text() == "spec.entrypoint is required");
    job = world.cache.find(world.key)->value;
    job.at("spec").set("entrypoint", "python x.py");
    world.put(rayjobs, job);
    world.rest();
    CHECK(world.deployment() == "Initializing");
}

}  // namespace
}  // namespace muster::control::ray

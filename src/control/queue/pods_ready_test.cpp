// control/queue/pods_ready_test.cpp - waitForPodsReady and retention on jobs.
#include <string>

#include <doctest/doctest.h>

#include "control/fold_pod.h"
#include "control/queue/life.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

TEST_CASE("the wait before a new try doubles up to its maximum") {
    WaitForPodsReady policy;
    policy.backoff_base_seconds = 10;
    policy.backoff_max_seconds = 60;
    CHECK(backoff(policy, 1) == seconds(10));
    CHECK(backoff(policy, 2) == seconds(20));
    CHECK(backoff(policy, 3) == seconds(40));
    CHECK(backoff(policy, 4) == seconds(60));
    CHECK(backoff(policy, 1'000'000) == seconds(60));
}

/// With waitForPodsReady.
LifePolicy impatient() {
    LifePolicy policy;
    policy.wait_for_pods_ready.emplace();
    policy.wait_for_pods_ready->timeout = seconds(30);
    policy.wait_for_pods_ready->recovery_timeout = seconds(50);
    policy.wait_for_pods_ready->backoff_limit = 2;
    policy.wait_for_pods_ready->backoff_base_seconds = 10;
    return policy;
}

TEST_CASE(
    "pods that do not become ready in time are sent back, later each time, and then for good") {
    SmallQueues world(impatient());
    world.job("train", "cpu: 3");
    world.rest();
    REQUIRE(is_admitted(world.workload_of("train")->value));
    const auto state = [&] { return world.workload_of("train")->value["status"]["requeueState"]; };
    world.now = world.now + seconds(31);
    world.rest();
    CHECK(world.condition("train", "Evicted")["reason"].text() == "PodsReadyTimeout");
    CHECK(world.condition("train", "Evicted")["message"].text() ==
          "Exceeded the PodsReady timeout team/" + world.workload_of("train")->key.name);
    CHECK(world.condition("train", "Requeued")["status"].text() == "False");
    CHECK(state()["count"].integer_or(0) == 1);
    CHECK_FALSE(has_admission(world.workload_of("train")->value));
    world.now = world.now + seconds(11);
    world.rest();
    CHECK(is_admitted(world.workload_of("train")->value));
    CHECK(world.condition("train", "Requeued")["reason"].text() == "BackoffFinished");
    world.now = world.now + seconds(31);
    world.rest();
    CHECK(state()["count"].integer_or(0) == 2);
    CHECK(fold_time(state()["requeueAt"]) > world.now + seconds(10));
    world.now = world.now + seconds(21);
    world.rest();
    REQUIRE(is_admitted(world.workload_of("train")->value));
    world.now = world.now + seconds(31);
    world.rest();
    CHECK(world.condition("train", "Evicted")["reason"].text() ==
          "DeactivatedDueToRequeuingLimitExceeded");
    CHECK(world.condition("train", "Evicted")["message"].text() ==
          "The workload is deactivated due to exceeding the maximum number of re-queuing retries");
    CHECK(state().empty());
    const Value& stats = world.workload_of("train")->value["status"]["schedulingStats"];
    CHECK(stats["evictions"][0]["reason"].text() == "PodsReadyTimeout");
    CHECK(stats["evictions"][0]["underlyingCause"].text() == "WaitForStart");
    CHECK(stats["evictions"][0]["count"].integer_or(0) == 2);
    CHECK(stats["evictions"][1]["underlyingCause"].text() == "RequeuingLimitExceeded");
    world.patch(world.workload_of("train"), "{spec: {active: true}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("train")->value));
}

TEST_CASE("pods that were ready have their own time to recover") {
    SmallQueues world(impatient());
    world.job("train", "cpu: 3");
    world.rest();
    const auto ready = [&](int count) {
        world.patch(world.job_now("train"), "{status: {ready: " + std::to_string(count) + "}}");
        world.rest();
    };
    ready(1);
    CHECK(world.condition("train", "PodsReady")["reason"].text() == "Started");
    world.now = world.now + seconds(1000);
    world.rest();
    CHECK(is_admitted(world.workload_of("train")->value));
    ready(0);
    CHECK(world.condition("train", "PodsReady")["reason"].text() == "WaitForRecovery");
    world.now = world.now + seconds(40);
    ready(1);
    CHECK(world.condition("train", "PodsReady")["reason"].text() == "Recovered");
    world.rest();
    CHECK(world.condition("train", "PodsReady")["reason"].text() == "Recovered");
    ready(0);
    world.now = world.now + seconds(51);
    world.rest();
    CHECK(world.condition("train", "Evicted")["reason"].text() == "PodsReadyTimeout");
    CHECK(world.workload_of("train")
              ->value["status"]["schedulingStats"]["evictions"][0]["underlyingCause"]
              .text() == "WaitForRecovery");
    CHECK(world.condition("train", "PodsReady")["reason"].text() == "WaitForStart");
}

TEST_CASE("what is over is removed when it has been kept long enough") {
    LifePolicy policy = impatient();
    policy.wait_for_pods_ready->backoff_limit = 0;
    policy.retention = {seconds(100), seconds(200)};
    SmallQueues world(policy);
    world.job("done", "cpu: 1");
    world.job("broken", "cpu: 1");
    world.rest();
    world.patch(world.job_now("done"),
                "{status: {ready: 1, conditions: [{type: Complete, status: 'True'}]}}");
    world.now = world.now + seconds(31);
    world.rest();
    REQUIRE(is_finished(world.workload_of("done")->value));
    REQUIRE(world.condition("broken", "Evicted")["reason"].text() ==
            "DeactivatedDueToRequeuingLimitExceeded");
    world.now = world.now + seconds(101);
    world.rest();
    CHECK(world.workload_of("done") == nullptr);
    CHECK(world.job_now("done") != nullptr);
    CHECK(world.job_now("broken") != nullptr);
    world.now = world.now + seconds(100);
    world.rest();
    CHECK(world.job_now("broken") == nullptr);
}

TEST_CASE("with blockAdmission one workload starts at a time, the next when it is ready") {
    LifePolicy policy = impatient();
    policy.wait_for_pods_ready->admission = WaitForPodsReady::Admission::blocked;
    SmallQueues world(policy);
    world.job("first", "cpu: 1");
    world.rest();
    world.job("second", "cpu: 1");
    world.rest();
    CHECK(world.condition("second", "QuotaReserved")["reason"].text() == "WaitingForPodsReady");
    CHECK(world.condition("second", "QuotaReserved")["message"].text() ==
          "waiting for all admitted workloads to be in PodsReady condition");
    world.patch(world.job_now("first"), "{status: {ready: 1}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("second")->value));
}

TEST_CASE("who was sent back for its pods queues behind who came in between, or not") {
    const auto first_again = [](WaitForPodsReady::Timestamp timestamp) {
        LifePolicy policy = impatient();
        policy.wait_for_pods_ready->timestamp = timestamp;
        SmallQueues world(policy);
        world.job("old", "cpu: 9");
        world.rest();
        world.now = world.now + seconds(5);
        world.job("holder", "cpu: 9");
        world.rest();
        world.now = world.now + seconds(5);
        world.job("young", "cpu: 9");
        world.rest();
        world.now = world.now + seconds(25);
        world.rest();  // The old one is sent back, and the holder starts.
        REQUIRE(is_admitted(world.workload_of("holder")->value));
        world.patch(world.job_now("holder"), "{status: {ready: 1}}");
        world.now = world.now + seconds(60);
        world.rest();  // The old one waits in the queue again.
        world.remove(world.job_now("holder")->key);
        world.rest();
        return is_admitted(world.workload_of("old")->value);
    };
    CHECK_FALSE(first_again(WaitForPodsReady::Timestamp::eviction));
    CHECK(first_again(WaitForPodsReady::Timestamp::creation));
}

}  // namespace
}  // namespace muster::control::queue

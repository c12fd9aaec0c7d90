// control/queue/life_test.cpp - the Workload's life: admission checks, readiness, time limits.
#include "control/queue/life.h"

#include <string>

#include <doctest/doctest.h>

#include "control/fold_pod.h"
#include "control/queue/checks.h"
#include "control/queue/explain.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

/// Queues whose ClusterQueue has an admission check that somebody answers.
struct Checked : SmallQueues {
    explicit Checked(const LifePolicy& policy = {}) : SmallQueues(policy) {
        put(admission_checks, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: budget},
            spec: {controllerName: example.com/budget},
            status: {conditions: [{type: Active, status: 'True', reason: Active, message: here,
                     lastTransitionTime: '2023-11-14T22:13:20Z'}]}})");
        require({"budget"});
    }
    /// The ClusterQueue demands these checks.
    void require(const std::vector<std::string>& names) {
        std::string rules;
        for (const std::string& name : names)
            rules += "{name: " + name + "},";
        patch(find(cluster_queues, "", "cluster-queue"),
              "{spec: {admissionChecksStrategy: {admissionChecks: [" + rules + "]}}}");
        rest();
    }
    /// What the check's controller says.
    void answer(const std::string& job, const std::string& state, const std::string& more = "") {
        patch(workload_of(job), "{status: {admissionChecks: [{name: budget, state: " + state +
                                    ", message: said so, lastTransitionTime: '" + to_rfc3339(now) +
                                    "'" + more + "}]}}");
        rest();
    }
    const Value& check(const std::string& job) {
        return workload_of(job)->value["status"]["admissionChecks"][0];
    }
    std::string active() {
        const auto queue = find(cluster_queues, "", "cluster-queue");
        return condition_of(queue->value["status"], "Active")["reason"].text();
    }
    std::int64_t count(const char* field) {
        return find(cluster_queues, "", "cluster-queue")->value["status"][field].integer_or(-1);
    }
    std::string event(std::string_view reason) {
        for (const Event& each : events) {
            if (each.reason == reason) return each.message;
        }
        return {};
    }
};

TEST_CASE("quota is reserved first, and the job starts when its check is ready") {
    Checked world;
    world.job("train", "cpu: 3");
    world.rest();
    CHECK(world.condition("train", "QuotaReserved")["status"].text() == "True");
    CHECK(world.condition("train", "Admitted")["reason"].text() == "UnsatisfiedAdmissionChecks");
    CHECK(world.check("train")["state"].text() == "Pending");
    CHECK(world.job_now("train")->value["spec"]["suspend"].boolean_or(false));
    CHECK(world.has_event("QuotaReserved"));
    CHECK_FALSE(world.has_event("Admitted"));
    CHECK(world.count("reservingWorkloads") == 1);
    CHECK(world.count("admittedWorkloads") == 0);
    CHECK(
        explain(world.planner, world.seen, world.job_now("train")->key, world.now)["text"].text() ==
        "job team/train has its quota and starts when its admission checks are ready: budget is "
        "Pending.");
    const auto usage = [&](const char* field) {
        return world.find(cluster_queues, "", "cluster-queue")
            ->value["status"][field][0]["resources"][0]["total"]
            .text();
    };
    CHECK(usage("flavorsReservation") == "3");
    CHECK(usage("flavorsUsage") == "0");
    world.now = world.now + seconds(20);
    world.answer("train", "Ready");
    CHECK(world.condition("train", "Admitted")["status"].text() == "True");
    CHECK_FALSE(world.job_now("train")->value["spec"]["suspend"].boolean_or(true));
    CHECK(world.event("Admitted")
              .starts_with(
                  "Admitted by ClusterQueue cluster-queue, wait time since reservation was 2"));
    CHECK(world.count("admittedWorkloads") == 1);
    CHECK(usage("flavorsUsage") == "3");
}

TEST_CASE("a queue is inactive while a check is missing or answered by nobody") {
    Checked world;
    world.require({"budget", "other"});
    CHECK(world.active() == "AdmissionCheckNotFound");
    world.put(admission_checks, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: other},
        spec: {controllerName: example.com/other}})");
    world.rest();
    CHECK(world.active() == "AdmissionCheckInactive");
    world.job("train", "cpu: 3");
    world.rest();
    CHECK(world.condition("train", "QuotaReserved")["reason"].text() == "Suspended");
    world.require({"budget"});
    CHECK(world.active() == "Ready");
    CHECK(world.condition("train", "QuotaReserved")["status"].text() == "True");
}

TEST_CASE("a check in use stays until no queue names it") {
    Checked world;
    world.remove({admission_checks, "", "budget"});
    world.rest();
    REQUIRE(world.find(admission_checks, "", "budget") != nullptr);
    world.require({});
    CHECK(world.find(admission_checks, "", "budget") == nullptr);
}

TEST_CASE("what a check says of pods is in the started job, and out again when it is evicted") {
    Checked world;
    world.job("train", "cpu: 3");
    world.rest();
    world.answer("train", "Ready",
                 ", podSetUpdates: [{name: main, labels: {team: red}, annotations: {note: x}, "
                 "nodeSelector: {disk: fast}, tolerations: [{key: spot, operator: Exists}]}]");
    const auto pod_template = [&] { return world.job_now("train")->value["spec"]["template"]; };
    CHECK(pod_template()["metadata"]["labels"]["team"].text() == "red");
    CHECK(pod_template()["metadata"]["annotations"]["note"].text() == "x");
    CHECK(pod_template()["spec"]["nodeSelector"]["disk"].text() == "fast");
    CHECK(pod_template()["spec"]["tolerations"].size() == 1);
    world.patch(world.workload_of("train"), "{spec: {active: false}}");
    world.rest();
    CHECK_FALSE(pod_template()["metadata"]["labels"].has("team"));
    CHECK(pod_template()["spec"]["nodeSelector"].empty());
    CHECK(world.check("train")["state"].text() == "Pending");
    CHECK(world.check("train")["message"].text() ==
          "Reset to Pending after eviction. Previously: Ready");
}

TEST_CASE("a check that contradicts the job's own labels ends it before it starts") {
    Checked world;
    world.job("train", "cpu: 3");
    world.rest();
    world.patch(world.job_now("train"), "{spec: {template: {metadata: {labels: {team: blue}}}}}");
    world.answer("train", "Ready", ", podSetUpdates: [{name: main, labels: {team: red}}]");
    CHECK(world.condition("train", "Finished")["reason"].text() == "FailedToStart");
    CHECK(world.condition("train", "Finished")["message"].text() ==
          "in admission check \"budget\": invalid admission check PodSetUpdate: conflict for "
          "labels: conflict for key=team, value1=blue, value2=red");
    CHECK(world.job_now("train")->value["spec"]["suspend"].boolean_or(false));
    CHECK(world.count("reservingWorkloads") == 0);
}

TEST_CASE("Retry sends a workload back for as long as the check says, and it is checked anew") {
    Checked world;
    world.job("train", "cpu: 9");
    world.rest();
    world.answer("train", "Retry", ", requeueAfterSeconds: 60");
    CHECK(world.condition("train", "Evicted")["reason"].text() == "AdmissionCheck");
    CHECK(world.condition("train", "Evicted")["message"].text() ==
          "Evicted due to AdmissionCheck in Retry state: \"budget\" (said so)");
    CHECK(world.event("EvictedDueToAdmissionCheck") ==
          "Evicted due to AdmissionCheck in Retry state: \"budget\" (said so)");
    CHECK_FALSE(has_admission(world.workload_of("train")->value));
    CHECK(world.condition("train", "Requeued")["status"].text() == "False");
    CHECK(world.check("train")["state"].text() == "Pending");
    CHECK(world.check("train")["retryCount"].integer_or(0) == 1);
    const Value& stats =
        world.workload_of("train")->value["status"]["schedulingStats"]["evictions"][0];
    CHECK(stats["reason"].text() == "AdmissionCheck");
    CHECK(stats["count"].integer_or(0) == 1);
    world.job("other", "cpu: 9");
    world.rest();
    REQUIRE(has_admission(world.workload_of("other")->value));
    world.remove(world.job_now("other")->key);
    world.rest();
    CHECK_FALSE(has_admission(world.workload_of("train")->value));
    world.now = world.now + seconds(61);
    world.rest();
    CHECK(has_admission(world.workload_of("train")->value));
    CHECK(world.condition("train", "Requeued")["reason"].text() == "BackoffFinished");
    CHECK(world.workload_of("train")->value["status"]["requeueState"]["requeueAt"].is_null());
}

TEST_CASE("a check that answers before there is quota is obeyed as well") {
    Checked world;
    world.job("first", "cpu: 9");
    world.rest();
    world.job("again", "cpu: 9");
    world.job("never", "cpu: 9");
    world.rest();
    REQUIRE_FALSE(has_admission(world.workload_of("again")->value));
    world.answer("again", "Retry", ", requeueAfterSeconds: 60");
    CHECK(world.condition("again", "Requeued")["status"].text() == "False");
    CHECK(world.check("again")["state"].text() == "Pending");
    world.answer("again", "Retry", ", requeueAfterSeconds: 60");
    CHECK(world.check("again")["state"].text() == "Pending");
    world.answer("never", "Rejected");
    CHECK_FALSE(world.workload_of("never")->value["spec"]["active"].boolean_or(true));
    world.remove(world.job_now("first")->key);
    world.rest();
    CHECK_FALSE(has_admission(world.workload_of("again")->value));
    world.now = world.now + seconds(61);
    world.rest();
    CHECK(has_admission(world.workload_of("again")->value));
}

TEST_CASE("Rejected deactivates a workload, and a reactivated one is checked anew") {
    Checked world;
    world.job("train", "cpu: 3");
    world.rest();
    world.answer("train", "Rejected");
    CHECK_FALSE(world.workload_of("train")->value["spec"]["active"].boolean_or(true));
    CHECK(world.condition("train", "Evicted")["reason"].text() == "DeactivatedDueToAdmissionCheck");
    CHECK(world.condition("train", "Evicted")["message"].text() ==
          "The workload is deactivated due to AdmissionCheck in Rejected state: \"budget\" (said "
          "so)");
    CHECK(world.condition("train", "DeactivationTarget").is_null());
    CHECK(world.event("AdmissionCheckRejected") ==
          "Deactivated due to AdmissionCheck in Rejected state: \"budget\" (said so)");
    CHECK_FALSE(has_admission(world.workload_of("train")->value));
    const Value& stats =
        world.workload_of("train")->value["status"]["schedulingStats"]["evictions"][0];
    CHECK(stats["reason"].text() == "Deactivated");
    CHECK(stats["underlyingCause"].text() == "AdmissionCheck");
    world.patch(world.workload_of("train"), "{spec: {active: true}}");
    world.rest();
    CHECK(world.condition("train", "Requeued")["reason"].text() == "Reactivated");
    CHECK(world.condition("train", "Admitted")["reason"].text() == "UnsatisfiedAdmissionChecks");
    world.answer("train", "Ready");
    CHECK(is_admitted(world.workload_of("train")->value));
}

TEST_CASE("an admitted workload whose check turns to Retry is evicted") {
    Checked world;
    world.job("train", "cpu: 3");
    world.rest();
    world.answer("train", "Ready");
    REQUIRE(is_admitted(world.workload_of("train")->value));
    world.now = world.now + seconds(100);
    world.answer("train", "Retry");
    CHECK(world.workload_of("train")
              ->value["status"]["schedulingStats"]["evictions"][0]["reason"]
              .text() == "AdmissionCheck");
    // Without a time to wait it is tried again at once, and its checks begin anew.
    CHECK(world.condition("train", "QuotaReserved")["status"].text() == "True");
    CHECK(world.condition("train", "Admitted")["status"].text() == "False");
    CHECK(world.check("train")["state"].text() == "Pending");
    const std::int64_t ran = world.workload_of("train")
                                 ->value["status"]["accumulatedPastExecutionTimeSeconds"]
                                 .integer_or(0);
    CHECK(ran >= 100);
    CHECK(ran < 110);
}

TEST_CASE("a queue on hold takes back what is only reserved, and nothing else") {
    Checked world;
    world.job("first", "cpu: 1");
    world.rest();
    world.answer("first", "Ready");
    world.job("second", "cpu: 1");
    world.rest();
    world.patch(world.find(cluster_queues, "", "cluster-queue"), "{spec: {stopPolicy: Hold}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("first")->value));
    CHECK_FALSE(has_admission(world.workload_of("second")->value));
    CHECK(world.condition("second", "Evicted").is_null());
    CHECK(world.condition("second", "QuotaReserved")["reason"].text() == "Suspended");
    world.patch(world.find(cluster_queues, "", "cluster-queue"), "{spec: {stopPolicy: None}}");
    world.rest();
    CHECK(has_admission(world.workload_of("second")->value));
}

TEST_CASE("checks that a queue gets later reach those that are not admitted yet") {
    Checked world;
    world.job("train", "cpu: 3");
    world.rest();
    world.put(admission_checks, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: more},
        spec: {controllerName: example.com/more},
        status: {conditions: [{type: Active, status: 'True', reason: Active, message: here,
                 lastTransitionTime: '2023-11-14T22:13:20Z'}]}})");
    world.require({"budget", "more"});
    CHECK(world.workload_of("train")->value["status"]["admissionChecks"].size() == 2);
    world.require({});
    CHECK(world.workload_of("train")->value["status"]["admissionChecks"].empty());
    CHECK(is_admitted(world.workload_of("train")->value));
}

TEST_CASE("a check of some flavors concerns only workloads that got one of them") {
    const Value queue = Value::object(
        {{"spec",
          Value::object(
              {{"resourceGroups",
                Value::array({Value::object(
                    {{"flavors", Value::array({Value::object({{"name", "spot"}}),
                                               Value::object({{"name", "own"}})})}})})},
               {"admissionChecksStrategy",
                Value::object({{"admissionChecks",
                                Value::array({Value::object({{"name", "all"}}),
                                              Value::object({{"name", "of-spot"},
                                                             {"onFlavors",
                                                              Value::array({"spot"})}})})}})}})}});
    const auto with = [](const char* flavor) {
        return Value::object(
            {{"admission",
              Value::object({{"podSetAssignments",
                              Value::array({Value::object(
                                  {{"flavors", Value::object({{"cpu", flavor}})}})})}})}});
    };
    CHECK(checks_for(queue, Value::object()) == std::vector<std::string>{"all"});
    CHECK(checks_for(queue, with("own")) == std::vector<std::string>{"all"});
    CHECK(checks_for(queue, with("spot")) == std::vector<std::string>{"all", "of-spot"});
}

TEST_CASE("behind a closed admission gate a job is not in the queue") {
    SmallQueues world;
    world.job("train", "cpu: 3");
    world.patch(world.job_now("train"),
                "{metadata: {annotations: {kueue.x-k8s.io/admission-gated-by: example.com/plan}}}");
    world.rest();
    CHECK(world.condition("train", "QuotaReserved")["reason"].text() == "AdmissionGated");
    CHECK(world.condition("train", "QuotaReserved")["message"].text() ==
          "Admission is gated by: example.com/plan");
    CHECK(world.has_event("AdmissionGated"));
    world.patch(world.job_now("train"),
                "{metadata: {annotations: {kueue.x-k8s.io/admission-gated-by: null}}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("train")->value));
    CHECK(world.has_event("AdmissionGateCleared"));
}

TEST_CASE("execution time adds up over evictions") {
    SmallQueues world;
    world.job("train", "cpu: 3", 1, ", kueue.x-k8s.io/max-exec-time-seconds: '100'");
    world.rest();
    world.now = world.now + seconds(60);
    world.patch(world.find(cluster_queues, "", "cluster-queue"),
                "{spec: {stopPolicy: HoldAndDrain}}");
    world.rest();
    CHECK_FALSE(has_admission(world.workload_of("train")->value));
    world.patch(world.find(cluster_queues, "", "cluster-queue"), "{spec: {stopPolicy: None}}");
    world.now = world.now + seconds(1000);
    world.rest();
    REQUIRE(is_admitted(world.workload_of("train")->value));
    world.now = world.now + seconds(30);
    world.rest();
    CHECK(is_admitted(world.workload_of("train")->value));
    world.now = world.now + seconds(11);
    world.rest();
    CHECK(world.condition("train", "Evicted")["reason"].text() ==
          "DeactivatedDueToMaximumExecutionTimeExceeded");
    CHECK(world.has_event("MaximumExecutionTimeExceeded"));
}

TEST_CASE("both sides hear of a preemption") {
    SmallQueues world;
    world.patch(world.find(cluster_queues, "", "cluster-queue"),
                "{spec: {preemption: {withinClusterQueue: LowerPriority}}}");
    world.put(workload_priority_classes, "{metadata: {name: high}, value: 1000}");
    world.job("low", "cpu: 9");
    world.rest();
    const auto victim = world.workload_of("low");
    world.job("high", "cpu: 9", 1, ", kueue.x-k8s.io/priority-class: high");
    world.rest();
    const auto told = [&](std::string_view reason) {
        for (const Event& event : world.events) {
            if (event.reason == reason) return event.message;
        }
        return std::string();
    };
    CHECK(told("PreemptedWorkload") ==
          "Preempted workload team/" + victim->key.name + " (UID: " + victim->uid +
              ") in ClusterQueue cluster-queue; preemptor effective priority: 1000 (base: 1000, "
              "boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)");
    CHECK(told("Preempted")
              .ends_with("; preemptor effective priority: 1000 (base: 1000, boost: 0); preemptee "
                         "effective priority: "
                         "0 (base: 0, boost: 0)"));
}

}  // namespace
}  // namespace muster::control::queue

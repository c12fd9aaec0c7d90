// control/queue/workload_status_test.cpp - what waiting and evicted workloads say of themselves.
#include "control/queue/workload_status.h"

#include <doctest/doctest.h>

#include "control/cluster/small_cluster.h"
#include "control/fold_pod.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using Rule = decide::WaitReason::Rule;

decide::WaitReason waits(Rule rule) {
    decide::WaitReason reason;
    reason.rule = rule;
    reason.cluster_queue = "q";
    reason.head = "workload n/first";
    return reason;
}

/// A workload whose queues have told it something.
struct Waiting : cluster::SmallCluster {
    kube::ObjectPtr workload = put(workloads, "{metadata: {namespace: n, name: w}}");

    const api::Value& tell(Rule rule, Queues before, const std::string& tried = "") {
        api::Value value = workload->value;
        const Told told = tell_waiting(*workload, waits(rule), tried, before, now);
        value.set("status", told.status);
        workload = store(workloads, std::move(value));
        return condition_of(workload->value["status"], "QuotaReserved");
    }
};

TEST_CASE("behind a head nobody has looked at a workload: it says nothing of its own") {
    Waiting w;
    CHECK(w.tell(Rule::behind_head, Queues::ran).is_null());
    CHECK(w.tell(Rule::flavor_missing, Queues::ran)["reason"].text() == "Suspended");
    const api::Value& behind = w.tell(Rule::behind_head, Queues::ran);
    CHECK(behind["reason"].text() == "Suspended");
    CHECK(behind["message"].text().find("workload n/first") != std::string::npos);
}

TEST_CASE("of equal workloads the first speaks: the others keep what they said, or say nothing") {
    Waiting w;
    CHECK(w.tell(Rule::quota, Queues::ran, "workload n/first").is_null());
    w.tell(Rule::flavor_missing, Queues::ran);
    const api::Value& after = w.tell(Rule::quota, Queues::ran, "workload n/first");
    CHECK(after["reason"].text() == "Suspended");
    CHECK(after["message"].text().starts_with("Needs the same as workload n/first: "));
    CHECK(w.tell(Rule::quota, Queues::ran)["reason"].text() == "WaitingForQuota");
}

TEST_CASE("after a stop or a deactivation a workload behind a head is to be looked at") {
    Waiting w;
    w.tell(Rule::cluster_queue_stopped, Queues::ran);
    CHECK(w.tell(Rule::behind_head, Queues::were_stopped)["reason"].text() == "PendingEvaluation");
    w.tell(Rule::deactivated, Queues::ran);
    CHECK(w.tell(Rule::behind_head, Queues::ran)["reason"].text() == "PendingEvaluation");
}

TEST_CASE("a preempted workload says who took its place, in conditions and an event") {
    cluster::SmallCluster objects;
    const auto victim = objects.put(workloads, "{metadata: {namespace: n, name: low}}");
    const auto winner = objects.put(
        workloads,
        "{metadata: {namespace: n, name: high, uid: u1, labels: {kueue.x-k8s.io/job-uid: j1}}}");
    decide::Evict evict;
    evict.workload = "workload n/low";
    evict.reason = decide::Evict::Reason::preempted;
    evict.cause = decide::PreemptionCause::in_cohort_reclamation;
    evict.preemptor = "workload n/high";
    evict.preemptor_path = "/c/a";
    evict.path = "/c/b";
    const Told told = tell_evicted(*victim, eviction_of(evict, winner.get()), objects.now);
    const api::Value& conditions = told.status["conditions"];
    REQUIRE(conditions.size() == 2);
    CHECK(conditions[0]["reason"].text() == "Preempted");
    CHECK(conditions[1]["type"].text() == "Preempted");
    CHECK(conditions[1]["reason"].text() == "InCohortReclamation");
    CHECK(conditions[1]["message"].text() ==
          "Preempted to accommodate a workload (UID: u1, JobUID: j1) due to reclamation within the "
          "cohort; preemptor path: /c/a; preemptee path: /c/b");
    CHECK(told.status["schedulingStats"]["evictions"][0]["reason"].text() == "Preempted");
    REQUIRE(told.events.size() == 3);
    CHECK(told.events[0].reason == "Preempted");
    CHECK(told.events[1].reason == "PreemptedWorkload");
    CHECK(told.events[1].about.name == "high");
    CHECK(told.events[2].reason == "EvictedDueToPreempted");
}

}  // namespace
}  // namespace muster::control::queue

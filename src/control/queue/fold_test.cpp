// control/queue/fold_test.cpp - what the objects of the queues say reaches decide whole.
#include "control/queue/fold.h"

#include <doctest/doctest.h>

#include "control/cluster/small_cluster.h"
#include "control/queue/names.h"
#include "control/queue/workload_status.h"

namespace muster::control::queue {
namespace {

struct Objects : cluster::SmallCluster {};

TEST_CASE("whom a queue preempts, how it searches flavors and what it weighs is folded") {
    Objects objects;
    const auto queue = objects.put(cluster_queues, R"({metadata: {name: q}, spec: {cohortName: c,
        preemption: {withinClusterQueue: LowerOrNewerEqualPriority, reclaimWithinCohort: Any,
          borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 10}},
        flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: MayStopSearch,
          preference: PreemptionOverBorrowing},
        fairSharing: {weight: "0.5"},
        admissionChecksStrategy: {admissionChecks: [{name: a, onFlavors: [f]}, {name: b}]},
        resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [
          {name: cpu, nominalQuota: 2, borrowingLimit: 1, lendingLimit: 500m}]}]}]}})");
    const decide::ClusterQueue folded = fold_cluster_queue(*queue);
    using decide::FlavorFungibility;
    using decide::Preemption;
    CHECK(folded.cohort == "c");
    CHECK(folded.preemption.within_queue == Preemption::WithinQueue::lower_or_newer_equal_priority);
    CHECK(folded.preemption.reclaim_within_cohort == Preemption::Reclaim::any);
    CHECK(folded.preemption.borrow_within_cohort == Preemption::WhileBorrowing::lower_priority);
    CHECK(folded.preemption.max_priority_threshold == 10);
    CHECK(folded.fungibility.when_can_borrow == FlavorFungibility::Search::try_next_flavor);
    CHECK(folded.fungibility.when_can_preempt == FlavorFungibility::Search::may_stop);
    CHECK(folded.fungibility.preference ==
          FlavorFungibility::Preference::preemption_over_borrowing);
    CHECK(folded.weight.nanos == 500'000'000);
    REQUIRE(folded.checks.size() == 2);
    CHECK(folded.checks[0].flavors == std::vector<std::string>{"f"});
    const decide::Quota quota = folded.groups.at(0).flavors.at(0).resources.at("cpu");
    CHECK(quota.nominal.value == 2000);
    CHECK(quota.borrowing_limit->value == 1000);
    CHECK(quota.lending_limit->value == 500);
}

TEST_CASE("a cohort's parent, pool and weight are folded; no weight is the usual one") {
    Objects objects;
    const auto cohort = objects.put(cohorts, R"({metadata: {name: c}, spec: {parentName: root,
        resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [
          {name: cpu, nominalQuota: 7}]}]}]}})");
    const decide::Cohort folded = fold_cohort(*cohort);
    CHECK(folded.parent == "root");
    CHECK(folded.groups.at(0).flavors.at(0).resources.at("cpu").nominal.value == 7000);
    CHECK(folded.weight.nanos == 1'000'000'000);
}

TEST_CASE("a preempted workload says who took its place, in conditions and an event") {
    Objects objects;
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
    REQUIRE(told.events.size() == 2);
    CHECK(told.events[0].reason == "Preempted");
    CHECK(told.events[1].reason == "EvictedDueToPreempted");
}

}  // namespace
}  // namespace muster::control::queue

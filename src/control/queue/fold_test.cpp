// control/queue/fold_test.cpp - what the objects of the queues say reaches decide whole.
#include "control/queue/fold.h"

#include <doctest/doctest.h>

#include "control/cluster/small_cluster.h"
#include "control/queue/names.h"

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

}  // namespace
}  // namespace muster::control::queue

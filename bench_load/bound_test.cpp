// bench_load/bound_test.cpp - the bound lies over what the quota allows, and delays only add to it.
#include "bench_load/bound.h"

#include <doctest/doctest.h>

namespace muster::load {

TEST_CASE("a load that nobody preempts takes what its quota allows") {
    LoadPlan plan = numbered_plan(1);
    plan.cohorts = plan.queues = 1;
    plan.classes = {{"only", 60, 5, milliseconds(500), Duration{}, 0}};
    // The fifteenth round of four begins with the fourteen before it.
    CHECK(bound_of(plan).wall == milliseconds(7500));
    CHECK(bound_of(plan).evictions == 0);
    CHECK(plan.shortest() == milliseconds(7500));
    CHECK(bound_of(plan, {milliseconds(10), milliseconds(5), {}}).wall == milliseconds(7725));
    CHECK(bound_of(plan, {{}, {}, {}, milliseconds(20)}).wall == milliseconds(7780));
}

TEST_CASE("load 1 loses what its large workloads put out") {
    LoadPlan plan = numbered_plan(1, 20);
    plan.cohorts = 1;
    const Bound at_once = bound_of(plan);
    CHECK(at_once.evictions > 0);
    CHECK(at_once.wall > plan.shortest());
    const Bound later = bound_of(plan, {milliseconds(5), milliseconds(5), milliseconds(5)});
    CHECK(later.wall > at_once.wall);
    CHECK(bound_of(plan, {{}, {}, {}, milliseconds(40)}).wall > at_once.wall);
}

}  // namespace muster::load

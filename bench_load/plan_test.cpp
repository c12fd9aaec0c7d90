// bench_load/plan_test.cpp - the loads are those of the issue.
#include "bench_load/plan.h"

#include <set>

#include <doctest/doctest.h>

namespace muster::load {

TEST_CASE("load 1 is 15,000 workloads that allow 66 seconds") {
    const LoadPlan plan = numbered_plan(1);
    CHECK(plan.workloads() == 15'000);
    CHECK(plan.cpus() == 600);
    CHECK(plan.shortest() == seconds(66));
    CHECK(arrivals(plan).size() == 15'000);
}

TEST_CASE("load 2 is 50,000 workloads in 1,000 queues") {
    const LoadPlan plan = numbered_plan(2);
    CHECK(plan.workloads() == 50'000);
    CHECK(plan.cohorts * plan.queues == 1'000);
}

TEST_CASE(
    "arrivals are in order, each has a name of its own, and a part of a load has all classes") {
    const LoadPlan plan = numbered_plan(2, 1);
    CHECK(plan.workloads() == 3'000);
    std::set<std::string> names;
    Duration before;
    for (const Arrival& arrival : arrivals(plan)) {
        CHECK(before <= arrival.at);
        before = arrival.at;
        names.insert(workload_of(plan, arrival).name);
    }
    CHECK(names.size() == 3'000);
}

}  // namespace muster::load

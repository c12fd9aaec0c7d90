// decide/double_admission_test.cpp - admissions that somebody else wrote, within a quota and beyond
// it.
#include "decide/double_admission.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "decide/small_world.h"

namespace muster::decide {
namespace {

/// What the objects say that it holds.
Assignment holding(const std::string& in, std::int64_t cpu) {
    Assignment made;
    made.cluster_queue = in;
    PodSetAssignment& set = made.pod_sets.emplace_back();
    set.count = 1;
    set.flavors["cpu"] = "f0";
    set.usage["cpu"] = {cpu};
    return made;
}

struct Ground {
    State state;

    explicit Ground(const std::vector<ClusterQueue>& queues) {
        apply(state, FlavorSet{{"f0", {}, {}, {}}});
        for (const ClusterQueue& made : queues) {
            for (const Change& change : with_local(made))
                apply(state, change);
        }
    }
    void admitted_by_others(const std::string& id, const std::string& in, std::int64_t cpu) {
        apply(state, WorkloadSet{workload(id, in, cpu)});
        apply(state, WorkloadAdmitted{id, holding(in, cpu)});
        decide(state, Time{2});
    }
    bool exceeds(const std::string& id) { return exceeds_what_was_left(state, id); }
};

TEST_CASE("what others admit beside what is held is too much when it does not fit, and only then") {
    Ground ground({queue("q", {10})});
    apply(ground.state, WorkloadSet{workload("own", "q", 6)});
    REQUIRE(decide(ground.state, Time{1}).admits.size() == 1);
    ground.admitted_by_others("fits", "q", 4);
    CHECK_FALSE(ground.exceeds("fits"));
    ground.admitted_by_others("late", "q", 1);
    CHECK(ground.exceeds("late"));
    apply(ground.state, WorkloadEvicted{"late"});
    CHECK_FALSE(ground.exceeds("late"));  // It goes already.
    CHECK_FALSE(ground.exceeds("nobody"));
}

TEST_CASE("what others admit in one queue of a cohort is too much for what another one borrowed") {
    ClusterQueue a = queue("a", {5});
    ClusterQueue b = queue("b", {5});
    a.cohort = b.cohort = "all";
    Ground ground({a, b});
    apply(ground.state, WorkloadSet{workload("borrows", "a", 8)});
    REQUIRE(decide(ground.state, Time{1}).admits.size() == 1);
    ground.admitted_by_others("fits", "b", 2);
    CHECK_FALSE(ground.exceeds("fits"));
    ground.admitted_by_others("late", "b", 3);
    CHECK(ground.exceeds("late"));
}

}  // namespace
}  // namespace muster::decide

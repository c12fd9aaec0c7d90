// decide/why_test.cpp - explanations: what they name helps, and without it nothing starts.
#include "decide/why.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "base/random.h"
#include "decide/why_text.h"

namespace muster::decide {

namespace {

ClusterQueue queue_of(std::int64_t cpu, std::int64_t memory) {
    ClusterQueue made;
    made.name = "q";
    made.namespaces = Selector{};
    made.groups.push_back({{"cpu", "memory"}, {{"default", {}}}});
    made.groups.front().flavors.front().resources["cpu"].nominal = {cpu};
    made.groups.front().flavors.front().resources["memory"].nominal = {memory};
    return made;
}

Workload random_workload(Random& random, int number) {
    Workload made;
    made.id = "w" + std::to_string(number);
    made.ns = "default";
    made.created = Time{number + 1};
    if (random.below(3) != 0) made.local_queue = "q";
    if (made.local_queue.empty() || random.below(3) == 0) {
        made.binds = Workload::Binds::quota_and_nodes;
    }
    PodSet& set = made.pod_sets.emplace_back();
    set.count = 1 + static_cast<std::int64_t>(random.below(3));
    set.pod.requests = {{"cpu", {static_cast<std::int64_t>(random.below(4))}},
                        {"memory", {static_cast<std::int64_t>(random.below(4))}}};
    return made;
}

State random_state(Random& random, const ClusterQueue& queue) {
    State state;
    apply(state, QueueSet{queue});
    apply(state, LocalQueueSet{{"default", "q", "q", StopPolicy::none}});
    apply(state, FlavorSet{{"default", {}, {}, {}}});
    for (int i = 0; i < 2; ++i) {
        Node node;
        node.name = "n" + std::to_string(i);
        node.allocatable = {{"cpu", {static_cast<std::int64_t>(random.below(8))}},
                            {"memory", {static_cast<std::int64_t>(random.below(8))}}};
        apply(state, NodeSet{node});
    }
    for (int i = 0; i < 8; ++i)
        apply(state, WorkloadSet{random_workload(random, i)});
    return state;
}

bool admits(const Decision& decision, const std::string& workload) {
    return std::any_of(decision.admits.begin(), decision.admits.end(),
                       [&](const Admit& admit) { return admit.workload == workload; });
}

/// The state with these changes, decided.
Decision decision_after(State state, const std::vector<Change>& changes) {
    for (const Change& change : changes)
        apply(state, change);
    return decide(state, Time{101});
}

}  // namespace

TEST_CASE("each remedy that names a change starts the workload, and no workload starts without") {
    std::int64_t remedies = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        Random random(seed);
        ClusterQueue queue = queue_of(static_cast<std::int64_t>(random.below(12)),
                                      static_cast<std::int64_t>(random.below(12)));
        if (random.below(3) == 0) queue.strategy = ClusterQueue::Strategy::strict_fifo;
        State state = random_state(random, queue);
        decide(state, Time{100});
        for (int i = 0; i < 8; ++i) {
            const std::string name = "w" + std::to_string(i);
            const Explanation explanation = why(state, name, Time{100});
            REQUIRE(!lines(explanation).empty());
            if (assignment_of(state, name)) {
                CHECK(explanation.verdict == Explanation::Verdict::runs);
                continue;
            }
            REQUIRE(explanation.reason);
            for (const Constraint& constraint : explanation.constraints)
                CHECK(constraint.short_by == constraint.needed - constraint.free);
            State idle = state;
            CHECK(!admits(decide(idle, Time{101}), name));
            const auto changes = changes_of(state, explanation.remedy);
            if (!explanation.remedy.starts_it || changes.empty()) continue;
            CHECK_MESSAGE(admits(decision_after(state, changes), name), seed, " ", name);
            if (const auto less = less_of(explanation.remedy)) {
                const auto fewer = changes_of(state, *less);
                CHECK_MESSAGE(!admits(decision_after(state, fewer), name), seed, " ", name);
            }
            ++remedies;
        }
    }
    CHECK(remedies > 100);
}

TEST_CASE("what has its quota and waits for its checks does not run yet") {
    ClusterQueue queue = queue_of(4, 4);
    queue.checks.push_back({"budget", {}});
    Random random(1);
    State state = random_state(random, queue);
    apply(state, AdmissionCheckSet{{"budget", AdmissionCheck::State::active}});
    Workload workload = random_workload(random, 20);
    workload.local_queue = "q";
    workload.binds = Workload::Binds::quota;
    workload.priority = 10;
    workload.pod_sets.front().pod.requests = {{"cpu", {1}}};
    workload.pod_sets.front().count = 1;
    apply(state, WorkloadSet{workload});
    decide(state, Time{100});
    const Explanation explanation = why(state, "w20", Time{100});
    CHECK(explanation.verdict == Explanation::Verdict::reserved);
    CHECK(sentence(explanation) == "w20 has its quota and waits for its admission checks.");
}

TEST_CASE("an unknown workload is said to be unknown") {
    const State state;
    const Explanation explanation = why(state, "nobody", Time{1});
    CHECK(explanation.verdict == Explanation::Verdict::unknown);
    CHECK(sentence(explanation) == "nobody has not been looked at yet, or does not exist.");
}

TEST_CASE("a sentence ends in one full stop, also after words that bring their own") {
    Explanation explanation;
    explanation.workload = "w";
    explanation.verdict = Explanation::Verdict::needs_someone;
    explanation.reason = WaitReason{};
    explanation.reason->rule = WaitReason::Rule::flavor_missing;
    explanation.reason->cluster_queue = "q";
    explanation.reason->detail = "spot";
    CHECK(sentence(explanation) ==
          "w waits: cluster queue q is inactive: its flavor spot does not exist.");
    explanation.reason->rule = WaitReason::Rule::preempting;
    explanation.reason->victims = {"v."};
    CHECK(sentence(explanation) ==
          "w waits: it waits until those that it preempted have ended: v.");
}

TEST_CASE("amounts are shown in the unit that people use") {
    CHECK(amount_text("cpu", {3050}) == "3050m");
    CHECK(amount_text("cpu", {8000}) == "8");
    CHECK(amount_text("memory", {36LL << 30}) == "36Gi");
    CHECK(amount_text("memory", {2'000'000'000}) == "2G");
    CHECK(amount_text("nvidia.com/gpu", {5}) == "5");
    CHECK(amount_text("cpu", unlimited()) == "unlimited");
}

}  // namespace muster::decide

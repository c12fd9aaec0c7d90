// decide/wake_test.cpp - passing over those who cannot start changes no decision, in random worlds,
// and leaves alone whom a change does not concern.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "decide/cycle.h"
#include "decide/why.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

/// Trees of cohorts with limits, flavors with taints, queues of both strategies, some of which
/// preempt; workloads of one or two pod sets that come, end, and are evicted.
struct Trees {
    Random random;
    std::vector<Change> changes;  // Not applied yet.
    std::vector<std::string> queues;
    std::map<std::string, bool> alive;  // Whether it holds quota.
    std::vector<std::string> evicted;
    int made = 0;

    explicit Trees(std::uint64_t seed) : random(seed) {
        Options options;
        if (below(3) == 0) options.fair_sharing.emplace();
        changes.emplace_back(OptionsSet{options});
        changes.emplace_back(NamespaceSet{"default", {}});
        changes.emplace_back(FlavorSet{{"f0", {}, {}, {}}});
        Flavor tainted{"f1", {}, {}, {}};
        if (below(2) == 0) tainted.taints = {{"spot", "true", Taint::Effect::no_schedule}};
        changes.emplace_back(FlavorSet{tainted});
        for (const char* name : {"left", "right"}) {
            Cohort cohort;
            cohort.name = name;
            cohort.parent = "root";
            if (below(2) == 0) cohort.groups = groups();
            changes.emplace_back(CohortSet{cohort});
        }
        for (int i = 0; i < 6; ++i)
            set_queue("q" + std::to_string(i));
    }

    std::int64_t below(std::uint64_t limit) {
        return static_cast<std::int64_t>(random.below(limit));
    }

    std::vector<ResourceGroup> groups() {
        std::vector<ResourceGroup> all(1);
        all[0].resources = {"cpu"};
        if (below(2) == 0) all[0].resources.emplace_back("memory");
        for (const char* flavor : {"f0", "f1"}) {
            FlavorQuotas quotas{flavor, {}};
            for (const std::string& resource : all[0].resources) {
                Quota& quota = quotas.resources[resource];
                quota.nominal = {below(7)};
                if (below(3) == 0) quota.borrowing_limit = Amount{below(4)};
                if (below(3) == 0) quota.lending_limit = Amount{below(4)};
            }
            all[0].flavors.push_back(quotas);
            if (below(2) == 0) break;
        }
        return all;
    }

    void set_queue(const std::string& name) {
        static constexpr const char* cohorts[] = {"left", "right", "root", ""};
        ClusterQueue queue;
        queue.name = name;
        queue.namespaces = Selector{};
        queue.cohort = cohorts[below(4)];
        queue.groups = groups();
        if (below(3) == 0) queue.strategy = ClusterQueue::Strategy::strict_fifo;
        if (below(4) == 0) queue.preemption.within_queue = Preemption::WithinQueue::lower_priority;
        if (below(4) == 0) queue.preemption.reclaim_within_cohort = Preemption::Reclaim::any;
        changes.emplace_back(QueueSet{queue});
        changes.emplace_back(LocalQueueSet{{"default", name, name, StopPolicy::none}});
        queues.push_back(name);
    }

    void submit() {
        Workload one;
        one.id = "w" + std::to_string(made++);
        one.ns = "default";
        one.local_queue = queues[static_cast<std::size_t>(below(queues.size()))];
        one.priority = below(3);
        one.created = Time{below(5) + 1};
        for (int i = 0; i < (below(3) == 0 ? 2 : 1); ++i) {
            PodSet& pods = one.pod_sets.emplace_back();
            pods.name = "set-" + std::to_string(i);
            pods.count = 1 + below(3);
            if (below(4) == 0) pods.min_count = 1;
            pods.pod.requests["cpu"] = {below(4)};
            if (below(3) == 0) pods.pod.requests["memory"] = {below(4)};
            if (below(3) == 0) {
                pods.pod.tolerations.push_back({});
                pods.pod.tolerations.back().op = Toleration::Op::exists;
            }
        }
        alive[one.id] = false;
        changes.emplace_back(WorkloadSet{one});
    }

    void step() {
        if (!evicted.empty() && below(2) == 0) {
            changes.emplace_back(WorkloadReleased{evicted.back()});
            evicted.pop_back();
            return;
        }
        if (below(25) == 0) return set_queue(queues[static_cast<std::size_t>(below(6))]);
        if (alive.empty() || below(5) < 3) return submit();
        auto one = alive.begin();
        std::advance(one, below(alive.size()));
        if (one->second) changes.emplace_back(WorkloadFinished{one->first});
        changes.emplace_back(WorkloadRemoved{one->first});
        alive.erase(one);
    }

    void hear(const Decision& decision) {
        for (const Admit& admit : decision.admits)
            alive[admit.workload] = true;
        for (const Evict& evict : decision.evicts) {
            alive.erase(evict.workload);
            evicted.push_back(evict.workload);
        }
    }
};

// Which of two trees has its turn first says nothing.
void check_equal(Decision quick, Decision slow) {
    for (auto* admits : {&quick.admits, &slow.admits}) {
        std::sort(admits->begin(), admits->end(),
                  [](const Admit& a, const Admit& b) { return a.workload < b.workload; });
    }
    REQUIRE(quick.admits.size() == slow.admits.size());
    for (std::size_t i = 0; i < quick.admits.size(); ++i) {
        REQUIRE(quick.admits[i].workload == slow.admits[i].workload);
        REQUIRE(quick.admits[i].assignment == slow.admits[i].assignment);
    }
    REQUIRE(quick.evicts.size() == slow.evicts.size());
    for (std::size_t i = 0; i < quick.evicts.size(); ++i)
        REQUIRE(quick.evicts[i].workload == slow.evicts[i].workload);
}

// A search that went on at a later flavor names what is wrong with that one.
bool can_never_start(WaitReason::Rule rule) {
    return rule == WaitReason::Rule::exceeds_maximum ||
           rule == WaitReason::Rule::no_matching_flavor;
}

// Numbers may be those of another moment of the same decision; what someone waits for may not.
void check_equal_reasons(const State& quick, const State& slow, const Trees& trees) {
    for (const auto& [id, holds] : trees.alive) {
        const auto left = wait_reason(quick, id);
        const auto right = wait_reason(slow, id);
        REQUIRE(left.has_value() == right.has_value());
        if (!left || (can_never_start(left->rule) && can_never_start(right->rule))) continue;
        REQUIRE(left->rule == right->rule);
    }
}

ClusterQueue simple_queue(const std::string& name, const std::string& cohort, std::int64_t cpu) {
    ClusterQueue queue;
    queue.name = name;
    queue.cohort = cohort;
    queue.namespaces = Selector{};
    Quota quota;
    quota.nominal = Amount{cpu};
    queue.groups = {{{"cpu"}, {{"f0", {{"cpu", quota}}}}}};
    return queue;
}

Workload job(const std::string& id, const std::string& queue, std::int64_t cpu) {
    Workload one;
    one.id = id;
    one.ns = "default";
    one.local_queue = queue;
    one.created = Time{1};
    one.pod_sets.emplace_back().pod.requests["cpu"] = {cpu};
    return one;
}

}  // namespace

TEST_CASE("no wake-up is lost: whoever is passed over would have been tried in vain") {
    std::uint64_t quick_tries = 0;
    std::uint64_t slow_tries = 0;
    for (std::uint64_t seed = 1; seed <= 180; ++seed) {
        CAPTURE(seed);
        Trees trees(seed);
        State quick;
        State slow;
        slow.world().hopeless = World::Hopeless::tried;
        State large;  // As if its trees were too large for fresh numbers.
        large.world().queues_with_fresh_numbers = 0;
        for (int round = 0; round < 40; ++round) {
            CAPTURE(round);
            for (std::int64_t i = trees.below(4); i >= 0; --i)
                trees.step();
            for (const Change& change : std::exchange(trees.changes, {})) {
                apply(quick, change);
                apply(slow, change);
                apply(large, change);
            }
            const Decision decision = decide(quick, Time{100 + round});
            check_equal(decision, decide(slow, Time{100 + round}));
            check_equal(decision, decide(large, Time{100 + round}));
            const auto broken = broken_invariants(quick);
            CHECK_MESSAGE(broken.empty(), (broken.empty() ? "" : broken.front()));
            trees.hear(decision);
            check_equal_reasons(quick, slow, trees);
            check_equal_reasons(quick, large, trees);
        }
        quick_tries += quick.world().tries;
        slow_tries += slow.world().tries;
    }
    CHECK(quick_tries < slow_tries);
}

TEST_CASE("who is not concerned by what was given back is not tried") {
    State state;
    apply(state, NamespaceSet{"default", {}});
    apply(state, FlavorSet{{"f0", {}, {}, {}}});
    for (int i = 0; i < 100; ++i) {
        const std::string name = "q" + std::to_string(i);
        ClusterQueue queue = simple_queue(name, "cohort-" + std::to_string(i % 10), 10);
        if (i >= 90) queue.strategy = ClusterQueue::Strategy::strict_fifo;
        apply(state, QueueSet{queue});
        apply(state, LocalQueueSet{{"default", name, name, StopPolicy::none}});
        for (const char* part : {"/big", "/small", "/tiny"}) {
            const std::int64_t cpu = part[1] == 'b' ? 9 : part[1] == 's' ? 2 : 1;
            for (int k = 0; k < 10; ++k)
                apply(state, WorkloadSet{job(name + part + std::to_string(k), name, cpu)});
        }
    }
    decide(state, Time{2});
    const auto tries_of = [&](const Change& change) {
        const std::uint64_t before = state.world().tries;
        apply(state, change);
        decide(state, Time{3});
        return state.world().tries - before;
    };
    // Ten queues share 100: eleven big ones and a tiny one have it all. A newcomer needs too much.
    CHECK(tries_of(WorkloadSet{job("late", "q3", 50)}) == 0);
    std::map<std::int64_t, std::string> holders;  // Of cohort-3, by what they hold.
    for (int i = 3; i < 100; i += 10) {
        const std::string name = "q" + std::to_string(i);
        for (int k = 0; k < 10; ++k) {
            for (const char* part : {"/big", "/small", "/tiny"}) {
                const std::string id = name + part + std::to_string(k);
                const std::int64_t cpu = part[1] == 'b' ? 9 : 1;
                if (assignment_of(state, id)) holders[cpu] = id;
                if (!assignment_of(state, id) && cpu == 1) apply(state, WorkloadRemoved{id});
            }
        }
    }
    decide(state, Time{3});
    REQUIRE(holders.size() == 2);
    // Only big ones wait there by now: what the tiny one gives back is enough for none of them.
    CHECK(tries_of(WorkloadFinished{holders[1]}) == 0);
    // The head of the strict queue goes first, and leaves too little for the other nine.
    CHECK(tries_of(WorkloadFinished{holders[9]}) == 1);
}

TEST_CASE(
    "in a tree of very many queues numbers alone are no news, and whoever asks has them fresh") {
    for (const int queues : {64, 65}) {
        CAPTURE(queues);
        State state;
        apply(state, NamespaceSet{"default", {}});
        apply(state, FlavorSet{{"f0", {}, {}, {}}});
        for (int i = 0; i < queues; ++i) {
            const std::string name = "q" + std::to_string(i);
            apply(state, QueueSet{simple_queue(name, "all", i == 0 ? 10 : 0)});
            apply(state, LocalQueueSet{{"default", name, name, StopPolicy::none}});
        }
        for (int i = 0; i < 10; ++i)
            apply(state, WorkloadSet{job("small-" + std::to_string(i), "q0", 1)});
        decide(state, Time{2});
        for (int i = 0; i < queues; ++i) {
            const std::string name = "q" + std::to_string(i);
            apply(state, WorkloadSet{job("large-" + name, name, 5)});
        }
        CHECK(decide(state, Time{3}).waits.size() == static_cast<std::size_t>(queues));
        apply(state, WorkloadFinished{"small-0"});
        CHECK(decide(state, Time{4}).waits.size() == (queues == 64 ? 64U : 0U));
        const Explanation fresh = why(state, "large-q7", Time{5});
        REQUIRE(!fresh.constraints.empty());
        CHECK(fresh.constraints.front().short_by.value == 4);
        for (int i = 1; i < 5; ++i)
            apply(state, WorkloadFinished{"small-" + std::to_string(i)});
        CHECK(decide(state, Time{5}).admits.size() == 1);
    }
}

}  // namespace muster::decide

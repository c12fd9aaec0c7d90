// decide/lineup_test.cpp - what lineups find is what rounds find that wake everybody, byte for
// byte, in random trees of queues that do not preempt.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "decide/cycle.h"
#include "decide/small_world.h"
#include "decide/state_text.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

/// A cohort, or several below one, with limits of both kinds; workloads of few sizes or of many,
/// of one or two resources, that come and end. Now and then a queue is of another kind.
struct Crowd {
    Random random;
    std::vector<Change> changes;
    std::vector<std::string> queues;
    std::vector<std::string> running;
    std::vector<std::string> waiting;
    std::int64_t sizes;
    std::int64_t priorities;
    bool has_memory;
    bool is_nested;
    bool has_limits;
    bool is_mixed;               // With some of whom not all is known beforehand.
    bool only_arrivals = false;  // In this decision.
    bool only_ends = false;
    int made = 0;

    explicit Crowd(std::uint64_t seed) : random(seed) {
        sizes = below(3) == 0 ? 30 : 4;
        priorities = 1 + below(4);
        has_memory = below(2) == 0;
        is_nested = below(3) == 0;
        has_limits = below(3) != 0;
        is_mixed = below(4) == 0;
        if (below(4) == 0) {
            Options options;
            options.reasons = Options::Reasons::left_out;
            changes.emplace_back(OptionsSet{options});
        }
        changes.emplace_back(NamespaceSet{"default", {}});
        changes.emplace_back(FlavorSet{{"f0", {}, {}, {}}});
        for (const char* name : {"left", "right"}) {
            Cohort cohort;
            cohort.name = name;
            if (is_nested) cohort.parent = "root";
            if (is_nested && below(2) == 0) cohort.groups = groups();
            changes.emplace_back(CohortSet{cohort});
        }
        const std::int64_t count = 3 + below(20);
        for (int i = 0; i < count; ++i) {
            queues.push_back("q" + std::to_string(i));
            set_queue(queues.back());
        }
    }

    std::int64_t below(std::uint64_t limit) {
        return static_cast<std::int64_t>(random.below(limit));
    }

    std::vector<ResourceGroup> groups() {
        std::vector<ResourceGroup> all(1);
        FlavorQuotas quotas{"f0", {}};
        for (const char* resource : {"cpu", "memory"}) {
            if (resource[0] == 'm' && !has_memory) continue;
            all[0].resources.emplace_back(resource);
            Quota& quota = quotas.resources[resource];
            quota.nominal = {below(8)};
            if (has_limits && below(3) == 0) quota.borrowing_limit = Amount{below(6)};
            if (has_limits && below(3) == 0) quota.lending_limit = Amount{below(6)};
        }
        all[0].flavors.push_back(quotas);
        return all;
    }

    void set_queue(const std::string& name) {
        static constexpr const char* cohorts[] = {"left", "right", "root"};
        ClusterQueue queue;
        queue.name = name;
        queue.namespaces = Selector{};
        queue.cohort = cohorts[is_nested ? below(3) : below(8) == 0 ? 1 : 0];
        queue.groups = groups();
        if (is_mixed && below(40) == 0) queue.strategy = ClusterQueue::Strategy::strict_fifo;
        if (is_mixed && below(40) == 0)
            queue.preemption.reclaim_within_cohort = Preemption::Reclaim::any;
        changes.emplace_back(QueueSet{queue});
        changes.emplace_back(LocalQueueSet{{"default", name, name, StopPolicy::none}});
    }

    std::string some(std::vector<std::string>& of) {
        auto& chosen = of[static_cast<std::size_t>(below(of.size()))];
        std::swap(chosen, of.back());
        std::string name = std::move(of.back());
        of.pop_back();
        return name;
    }

    void submit() {
        Workload one = workload("w" + std::to_string(made++),
                                queues[static_cast<std::size_t>(below(queues.size()))],
                                below(static_cast<std::uint64_t>(sizes)) + (below(9) != 0 ? 1 : 0));
        one.priority = below(static_cast<std::uint64_t>(priorities));
        one.created = Time{below(40) + 1};
        if (has_memory && below(2) == 0)
            one.pod_sets[0].pod.requests["memory"] = {below(static_cast<std::uint64_t>(sizes))};
        if (is_mixed && below(50) == 0) one.pod_sets[0].min_count = 1;
        one.pod_sets[0].count = 1 + (below(5) == 0 ? below(3) : 0);
        waiting.push_back(one.id);
        changes.emplace_back(WorkloadSet{one});
    }

    void step() {
        if (below(150) == 0)
            return set_queue(queues[static_cast<std::size_t>(below(queues.size()))]);
        const bool has_enough = waiting.size() >= 6 * queues.size();
        if (only_arrivals || (!only_ends && !has_enough && below(3) != 0)) return submit();
        if (running.empty() || below(6) == 0) {
            if (!waiting.empty()) changes.emplace_back(WorkloadRemoved{some(waiting)});
            return;
        }
        const std::string one = some(running);
        changes.emplace_back(WorkloadFinished{one});
        if (below(2) == 0) changes.emplace_back(WorkloadRemoved{one});
    }

    void hear(const Decision& decision) {
        std::set<std::string> started;
        for (const Admit& admit : decision.admits)
            started.insert(admit.workload);
        std::erase_if(waiting, [&](const std::string& id) { return started.contains(id); });
        running.insert(running.end(), started.begin(), started.end());
        for (const Evict& evict : decision.evicts) {
            changes.emplace_back(WorkloadRemoved{evict.workload});
            changes.emplace_back(WorkloadFinished{evict.workload});
            std::erase(running, evict.workload);
        }
    }
};

void check_same(const Decision& one, const Decision& other) {
    REQUIRE(one.admits.size() == other.admits.size());
    for (std::size_t i = 0; i < one.admits.size(); ++i) {
        REQUIRE(one.admits[i].workload == other.admits[i].workload);
        REQUIRE(one.admits[i].assignment == other.admits[i].assignment);
    }
    REQUIRE(one.evicts.size() == other.evicts.size());
    REQUIRE(one.waits.size() == other.waits.size());
    for (std::size_t i = 0; i < one.waits.size(); ++i) {
        REQUIRE(one.waits[i].workload == other.waits[i].workload);
        REQUIRE(*one.waits[i].reason == *other.waits[i].reason);
    }
    REQUIRE(one.changed_queues == other.changed_queues);
    REQUIRE(one.look_again == other.look_again);
}

}  // namespace

TEST_CASE("a lineup decides as rounds that wake everybody") {
    std::uint64_t quick_tries = 0;
    std::uint64_t slow_tries = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        CAPTURE(seed);
        Crowd crowd(seed);
        State quick;
        State slow;
        for (State* state : {&quick, &slow})
            state->world().queues_with_fresh_numbers = 0;
        slow.world().lining_up = World::LiningUp::nowhere;
        for (int round = 0; round < 80; ++round) {
            CAPTURE(round);
            const std::int64_t kind = crowd.below(5);
            crowd.only_arrivals = round < 3 || kind == 0;
            crowd.only_ends = round >= 3 && (kind == 1 || kind == 2);
            for (std::int64_t i = round < 3 ? 30 : crowd.below(3); i >= 0; --i)
                crowd.step();
            for (const Change& change : std::exchange(crowd.changes, {})) {
                apply(quick, change);
                apply(slow, change);
            }
            if (crowd.below(40) == 0) quick = State(quick);
            const Decision decision = decide(quick, Time{100 + round});
            check_same(decision, decide(slow, Time{100 + round}));
            REQUIRE(text_of(quick) == text_of(slow));
            REQUIRE(broken_invariants(quick).empty());
            crowd.hear(decision);
        }
        quick_tries += quick.world().tries;
        slow_tries += slow.world().tries;
    }
    MESSAGE("tries: " << quick_tries << " of " << slow_tries);
    CHECK(quick_tries < slow_tries);
}

}  // namespace muster::decide

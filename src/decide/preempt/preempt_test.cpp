// decide/preempt/preempt_test.cpp - preemption in all small worlds and in random ones: it ends,
// takes nobody it need not take, and keeps every invariant.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "decide/cycle.h"
#include "decide/small_world.h"

namespace muster::decide {

namespace {

using Within = Preemption::WithinQueue;
using Reclaim = Preemption::Reclaim;

/// A flat cohort of queues with one flavor and one resource, without limits. It does what the
/// objects would do: shows what was decided, and ends what is evicted.
struct Small {
    State state;
    Time now{1'000'000'000};
    std::map<std::string, std::int64_t> nominal;                            // By queue.
    std::map<std::string, std::pair<std::string, std::int64_t>> workloads;  // Queue and size.
    std::set<std::string> holding;
    std::set<std::string> evicting;
    std::map<std::string, Preemption> policies;
    bool is_fair = false;
    std::int64_t evictions = 0;

    void add_queue(const std::string& name, std::int64_t quota, const Preemption& policy) {
        ClusterQueue queue;
        queue.name = name;
        queue.cohort = "c";
        queue.namespaces = Selector{};
        queue.preemption = policy;
        queue.groups.emplace_back().resources = {"cpu"};
        queue.groups.back().flavors.push_back({"f", {}});
        queue.groups.back().flavors.back().resources["cpu"].nominal = {quota};
        nominal[name] = quota;
        policies[name] = policy;
        apply(state, FlavorSet{{"f", {}, {}, {}}});
        apply(state, LocalQueueSet{{"default", name, name, StopPolicy::none}});
        apply(state, QueueSet{queue});
    }

    void add(const std::string& id, const std::string& queue, std::int64_t cpu,
             std::int64_t priority) {
        Workload made;
        made.id = id;
        made.ns = "default";
        made.local_queue = queue;
        made.priority = priority;
        made.created = now;
        made.pod_sets.emplace_back().pod.requests["cpu"] = {cpu};
        workloads[id] = {queue, cpu};
        apply(state, WorkloadSet{made});
        now = now + seconds(1);
    }

    void finish(std::string id) {
        apply(state, WorkloadFinished{id});
        holding.erase(id);
        evicting.erase(id);
        workloads.erase(id);
    }

    std::int64_t used_by(const std::string& queue, const std::set<std::string>& but) const {
        std::int64_t sum = 0;
        for (const auto* set : {&holding, &evicting}) {
            for (const std::string& id : *set) {
                const auto& [where, cpu] = workloads.at(id);
                if (where == queue && !but.contains(id)) sum += cpu;
            }
        }
        return sum;
    }

    bool fits_without(const std::string& id, const std::set<std::string>& gone,
                      bool borrowing) const {
        const auto& [queue, cpu] = workloads.at(id);
        std::int64_t used = 0;
        std::int64_t quota = 0;
        for (const auto& [name, amount] : nominal) {
            used += used_by(name, gone);
            quota += amount;
        }
        if (used + cpu > quota) return false;
        return borrowing || used_by(queue, gone) + cpu <= nominal.at(queue);
    }

    // With all of its victims gone a preemptor fits; with any one of them in place it does not, or
    // (where shares do not count) it borrows, which it may not do at others' expense.
    void check_victims(const Decision& decision) const {
        std::map<std::string, std::set<std::string>> victims;
        for (const Evict& evict : decision.evicts) {
            REQUIRE(evict.reason == Evict::Reason::preempted);
            REQUIRE(holding.contains(evict.workload));
            victims[evict.preemptor].insert(evict.workload);
        }
        std::set<std::string> leaving = evicting;
        for (const auto& [preemptor, those] : victims)
            leaving.insert(those.begin(), those.end());
        for (const auto& [preemptor, those] : victims) {
            CHECK(fits_without(preemptor, leaving, true));
            if (victims.size() > 1 || !evicting.empty() || !decision.admits.empty()) continue;
            for (const std::string& victim : those) {
                std::set<std::string> others = leaving;
                others.erase(victim);
                CHECK(!fits_without(preemptor, others, is_fair));
            }
        }
    }

    // Nobody waits who fits, unless somebody waits for room before it: whoever is leaving, or a
    // queue that keeps room for its first one.
    void check_rest() const {
        const bool plain = std::all_of(policies.begin(), policies.end(), [](const auto& known) {
            return known.second == Preemption{};
        });
        if (!plain || !evicting.empty()) return;
        for (const auto& [id, what] : workloads)
            if (!holding.contains(id)) REQUIRE(!fits_without(id, {}, true));
    }

    void decide_once() {
        const Decision decision = decide(state, now);
        check_victims(decision);
        for (const Evict& evict : decision.evicts) {
            holding.erase(evict.workload);
            evicting.insert(evict.workload);
            ++evictions;
            apply(state, WorkloadEvicted{evict.workload});
        }
        for (const Admit& admit : decision.admits) {
            REQUIRE(holding.insert(admit.workload).second);
            REQUIRE(!evicting.contains(admit.workload));
            apply(state, WorkloadAdmitted{admit.workload, admit.assignment, now});
        }
        const auto broken = broken_invariants(state);
        CHECK_MESSAGE(broken.empty(), (broken.empty() ? "" : broken.front()));
        std::int64_t used = 0;
        std::int64_t quota = 0;
        for (const auto& [name, amount] : nominal) {
            used += used_by(name, {});
            quota += amount;
        }
        REQUIRE(used <= quota);
        check_rest();
    }

    // Ends everything that is evicted, one by one, until nothing happens any more.
    void rest() {
        for (int round = 0; round < 200; ++round) {
            const auto before = std::pair(holding, evicting);
            decide_once();
            if (evicting.empty() && before == std::pair(holding, evicting)) return;
            if (evicting.empty()) continue;
            const std::string first = *evicting.begin();
            evicting.erase(first);
            apply(state, WorkloadReleased{first});
        }
        FAIL("preemption goes on without end");
    }
};

constexpr std::array withins = {Within::never, Within::lower_priority,
                                Within::lower_or_newer_equal_priority};
constexpr std::array reclaims = {Reclaim::never, Reclaim::lower_priority, Reclaim::any};

/// All that differ: who never reclaims does not do so while borrowing either.
Preemption policy_of(std::int64_t digit) {
    Preemption policy;
    policy.within_queue = withins[static_cast<std::size_t>(digit % 3)];
    const std::int64_t reclaim = digit / 3;
    policy.reclaim_within_cohort =
        reclaims[static_cast<std::size_t>(reclaim < 3 ? reclaim : reclaim - 2)];
    if (reclaim >= 3) policy.borrow_within_cohort = Preemption::WhileBorrowing::lower_priority;
    return policy;
}

}  // namespace

TEST_CASE(
    "all small worlds of preemption: 2 queues of 1 or 2, every policy, 3 workloads of 1 or 2 and "
    "priority 0 or 1, with and without fair sharing") {
    // All of them where the compiler optimises; else (and under sanitizers) every seventh, which
    // together still meet every digit.
#ifdef __OPTIMIZE__
    constexpr std::int64_t every = 1;
#else
    constexpr std::int64_t every = 7;
#endif
    constexpr std::int64_t policies = 15;
    std::int64_t worlds = 0;
    for (std::int64_t code = 0; code < 2 * 2 * 2 * policies * policies * 8 * 8; code += every) {
        Digits digit(code);
        Small world;
        world.is_fair = digit(2) == 1;
        if (world.is_fair) {
            Options options;
            options.fair_sharing.emplace();
            apply(world.state, OptionsSet{options});
        }
        const std::int64_t first = 1 + digit(2);
        const std::int64_t second = 1 + digit(2);
        world.add_queue("x", first, policy_of(digit(policies)));
        world.add_queue("y", second, policy_of(digit(policies)));
        const std::int64_t sizes = digit(8);
        const std::int64_t priorities = digit(8);
        for (std::int64_t i = 0; i < 3; ++i) {
            world.add("w" + std::to_string(i), i == 1 ? "y" : "x", 1 + ((sizes >> i) & 1),
                      (priorities >> i) & 1);
            world.rest();
        }
        if (!world.holding.empty()) {
            world.finish(*world.holding.begin());
            world.rest();
        }
        ++worlds;
    }
    CHECK(worlds == (115'200 + every - 1) / every);
}

TEST_CASE("random worlds of preemption come to rest, and keep the invariants on the way") {
    std::int64_t evictions = 0;
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const auto below = [&](std::uint64_t bound) {
            return static_cast<std::int64_t>(random.below(bound));
        };
        Small world;
        world.is_fair = random.below(2) == 0;
        if (world.is_fair) {
            Options options;
            options.fair_sharing.emplace();
            apply(world.state, OptionsSet{options});
        }
        for (int i = 0; i < 4; ++i)
            world.add_queue("q" + std::to_string(i), below(7), policy_of(below(15)));
        for (int step = 0; step < 30; ++step) {
            if (!world.holding.empty() && random.below(4) == 0) {
                auto one = world.holding.begin();
                std::advance(one, below(world.holding.size()));
                world.finish(std::string(*one));
            } else {
                world.add("w" + std::to_string(step), "q" + std::to_string(below(4)), 1 + below(5),
                          below(4));
            }
            if (random.below(3) != 0) world.rest();
        }
        world.rest();
        evictions += world.evictions;
    }
    CHECK(evictions > 100);
}

}  // namespace muster::decide

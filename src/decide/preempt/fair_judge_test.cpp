// decide/preempt/fair_judge_test.cpp - fair preemption against a plain version of itself: every
// search in random trees that live must end with the same victims, whatever it was spared.
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "decide/preempt/plain_fair.h"
#include "decide/preempt/victims.h"
#include "decide/small_world.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

using Strategy = Options::Strategy;

constexpr std::array withins = {Preemption::WithinQueue::never,
                                Preemption::WithinQueue::lower_priority,
                                Preemption::WithinQueue::lower_or_newer_equal_priority};

/// A tree of cohorts with two resources in two flavors, and queues of which most borrow. It
/// decides round by round; of those sent away some end late.
struct Living {
    static constexpr std::int64_t queues = 6;

    Random random;
    bool is_even = false;  // Equal queues without quota of their own, and one resource: many ties.
    State state{};
    Time now{1'000'000'000};
    std::set<std::string> waiting{};
    std::set<std::string> holding{};
    std::set<std::string> evicting{};
    std::int64_t named = 0;
    std::int64_t searches = 0;
    std::int64_t with_victims = 0;
    std::int64_t with_several = 0;
    std::int64_t with_five = 0;

    explicit Living(std::uint64_t seed) : random(seed) {
        Options options;
        options.fair_sharing.emplace();
        if (below(4) == 0) options.fair_sharing->push_back(Strategy::less_than_initial_share);
        if (below(4) == 0) options.fair_sharing = {Strategy::less_than_or_equal_to_final_share};
        apply(state, OptionsSet{options});
        is_even = below(2) == 0;
        for (const char* flavor : {"f0", "f1"})
            apply(state, FlavorSet{{flavor, {}, {}, {}}});
        set_tree();
        // At first some of the queues have it all.
        const std::uint64_t first = 1 + random.below(3);
        for (std::int64_t i = below(60); i > 0; --i)
            submit(below(first));
        decide_once();
    }

    std::int64_t below(std::uint64_t bound) {
        return static_cast<std::int64_t>(random.below(bound));
    }

    FairWeight weight() {
        if (is_even) return {};
        constexpr std::array<std::int64_t, 5> nanos = {1'000'000'000, 1'000'000'000, 2'000'000'000,
                                                       500'000'000, 0};
        return {nanos[random.below(nanos.size())]};
    }

    ResourceGroup group(std::uint64_t most) {
        ResourceGroup made;
        made.resources = {"cpu", "memory"};
        for (const char* flavor : {"f0", "f1"}) {
            made.flavors.push_back({flavor, {}});
            for (const char* resource : {"cpu", "memory"}) {
                Quota& quota = made.flavors.back().resources[resource];
                quota.nominal = {below(most)};
                if (!is_even && below(6) == 0) quota.lending_limit = Amount{below(3)};
            }
        }
        return made;
    }

    void set_tree() {
        const std::int64_t depth = below(4);
        const std::uint64_t most = random.below(2) == 0 ? 16 : 48;
        for (std::int64_t i = 0; i <= depth; ++i) {
            ResourceGroup own = group(i == 0 ? most : is_even ? 1 : 6);
            if (i == 0) {
                for (FlavorQuotas& flavor : own.flavors)
                    for (auto& [resource, quota] : flavor.resources)
                        quota.lending_limit.reset();
            }
            const std::string parent = i == 0 ? "" : "c" + std::to_string(below(i));
            apply(state, CohortSet{{"c" + std::to_string(i), parent, {own}, weight()}});
        }
        for (std::int64_t i = 0; i < queues; ++i) {
            ClusterQueue queue;
            queue.name = "q" + std::to_string(i);
            if (below(12) != 0) queue.cohort = "c" + std::to_string(below(depth + 1));
            queue.namespaces = Selector{};
            queue.weight = weight();
            queue.groups = {group(is_even ? 1 : 5)};
            queue.preemption.within_queue = withins[random.below(3)];
            queue.preemption.reclaim_within_cohort =
                below(4) == 0 ? Preemption::Reclaim::lower_priority : Preemption::Reclaim::any;
            if (below(8) == 0) queue.preemption.reclaim_within_cohort = Preemption::Reclaim::never;
            for (const Change& change : with_local(queue))
                apply(state, change);
        }
    }

    void submit(std::int64_t queue) {
        const std::string id = "w" + std::to_string(named++);
        Workload made = workload(id, "q" + std::to_string(queue), 1 + below(4));
        if (!is_even) made.pod_sets.front().pod.requests["memory"] = {below(5)};
        made.priority = below(4);
        made.created = now;
        apply(state, WorkloadSet{made});
        waiting.insert(id);
        now = now + seconds(1);
    }

    std::string any_of(const std::set<std::string>& names) {
        auto one = names.begin();
        std::advance(one, below(names.size()));
        return *one;
    }

    void step() {
        if (!evicting.empty() && below(3) == 0) {
            const std::string id = any_of(evicting);
            evicting.erase(id);
            waiting.insert(id);
            apply(state, WorkloadReleased{id});
        } else if (!holding.empty() && below(6) == 0) {
            const std::string id = any_of(holding);
            holding.erase(id);
            apply(state, WorkloadFinished{id});
        } else {
            submit(below(queues));
        }
    }

    void decide_once() {
        now = now + seconds(1);
        const Decision decision = decide(state, now);
        for (const Admit& admit : decision.admits) {
            waiting.erase(admit.workload);
            holding.insert(admit.workload);
            apply(state, WorkloadAdmitted{admit.workload, admit.assignment, now});
        }
        for (const Evict& evict : decision.evicts) {
            holding.erase(evict.workload);
            evicting.insert(evict.workload);
            apply(state, WorkloadEvicted{evict.workload});
        }
    }

    /// Each that waits asks in each flavor, as one pod or several and with any priority, when
    /// somebody is gone already or nobody.
    void judge() {
        const World& world = state.world();
        QuotaTree tree = world.tree;
        std::set<WorkloadId> gone;
        if (!holding.empty() && below(2) == 0) {
            const WorkloadId id = *world.workload_names.find(any_of(holding));
            const Held& held = *world.workload(id).held;
            for (const Share& share : world.live_shares(held, 0))
                tree.remove_usage(world.queue(held.queue).plan.node, share.what, share.amount);
            gone.insert(id);
        }
        const Scene scene{world, tree, gone};
        for (const std::string& name : waiting) {
            for (const char* flavor : {"f0", "f1"})
                judge_one(scene, name, flavor);
        }
    }

    void judge_one(const Scene& scene, const std::string& name, const std::string& flavor) {
        const World& world = scene.world;
        Preemptor asking;
        asking.workload = *world.workload_names.find(name);
        const WorkloadEntry& entry = world.workload(asking.workload);
        if (!entry.enqueued) return;
        asking.queue = *entry.enqueued;
        asking.priority = below(6);
        const std::int64_t pods = 1 + below(4);
        asking.queued = entry.queued == Time{} ? entry.created : entry.queued;
        const QuotaNode node = world.queue(asking.queue).plan.node;
        for (const auto& [what, of_pod] : needs_of(world, asking.workload, flavor)) {
            const Amount amount = of_pod * pods;
            if (scene.tree.potential(node, what) < amount) return;
            asking.needs.push_back({what, amount});
            if (scene.tree.available(node, what) < amount) asking.contested.push_back(what);
        }
        if (asking.contested.empty()) return;
        Plain plain{world, scene.tree, asking, scene.gone};
        const std::vector<Victim> expected = plain.find();
        const std::vector<Victim> found = find_victims(scene, asking, {});
        ++searches;
        with_victims += expected.empty() ? 0 : 1;
        with_several += expected.size() > 1 ? 1 : 0;
        with_five += expected.size() > 4 ? 1 : 0;
        CAPTURE(name);
        CAPTURE(flavor);
        REQUIRE(text_of(world, found) == text_of(world, expected));
    }

    static std::map<FlavorResource, Amount> needs_of(const World& world, WorkloadId id,
                                                     const std::string& flavor) {
        std::map<FlavorResource, Amount> needs;
        const PodSetNeed& pods = world.shapes.of(world.workload(id).shape).pod_sets.front();
        for (const auto& [resource, amount] : pods.requests)
            if (amount.value > 0) needs[{*world.book.flavors.find(flavor), resource}] = amount;
        return needs;
    }

    static std::string text_of(const World& world, const std::vector<Victim>& victims) {
        std::string text;
        for (const Victim& victim : victims) {
            text += world.name_of(victim.workload) + ":" +
                    std::to_string(static_cast<int>(victim.cause)) + " ";
        }
        return text;
    }
};

}  // namespace

TEST_CASE("fair preemption: every search in random living trees ends as the plain one does") {
    // A filter of candidates that outlives a change of shares shows in the 77th.
#ifdef __OPTIMIZE__
    constexpr std::uint64_t seeds = 300;
#else
    constexpr std::uint64_t seeds = 100;
#endif
    std::int64_t searches = 0;
    std::int64_t with_victims = 0;
    std::int64_t with_several = 0;
    std::int64_t with_five = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        Living living(seed);
        for (int round = 0; round < 8; ++round) {
            CAPTURE(round);
            for (std::int64_t i = living.below(6); i >= 0; --i)
                living.step();
            living.judge();
            living.decide_once();
            living.judge();
        }
        searches += living.searches;
        with_victims += living.with_victims;
        with_several += living.with_several;
        with_five += living.with_five;
    }
    CHECK(with_victims > searches / 5);
    CHECK(with_several > searches / 10);
    CHECK(with_five > searches / 100);
}

}  // namespace muster::decide

// decide/random_world_test.cpp - random worlds that live: every invariant after each decision, and
// any order of arrival gives the same state. One that fails is told as its smallest scenario.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/choices.h"
#include "decide/scenario_write.h"
#include "decide/small_world.h"
#include "decide/state_text.h"

namespace muster::decide {

namespace {

struct ObjectName {
    std::string operator()(const QueueSet& c) const { return "q/" + c.queue.name; }
    std::string operator()(const LocalQueueSet& c) const { return "l/" + c.queue.name; }
    std::string operator()(const FlavorSet& c) const { return "f/" + c.flavor.name; }
    std::string operator()(const NodeSet& c) const { return "n/" + c.node.name; }
    std::string operator()(const WorkloadSet& c) const { return "w/" + c.workload.id; }
    std::string operator()(const WorkloadFinished& c) const { return "w/" + c.id; }
    std::string operator()(const WorkloadReleased& c) const { return "w/" + c.id; }
    std::string operator()(const WorkloadFailed& c) const { return "w/" + c.id; }
    std::string operator()(const WorkloadRemoved& c) const { return "w/" + c.id; }
    std::string operator()(const NodeRemoved& c) const { return "n/" + c.name; }
    std::string operator()(const PodBound& c) const { return "p/" + c.name; }
    std::string operator()(const PodGone& c) const { return "p/" + c.name; }
    template <class Other>
    std::string operator()(const Other&) const {
        return {};
    }
};

/// A random world that lives: things come, go, change and fail, in any order.
struct RandomWorld {
    Choices choices;
    State state{};
    State turned{};  // Gets the same changes, those between two decisions in another order.
    ScenarioWriter told{};
    std::optional<std::string> wrong{};
    Time now = scenario_start;
    std::vector<Change> batch{};
    std::map<std::string, Workload> alive{};
    std::set<std::string> holding{};
    std::set<std::string> evicting{};
    std::set<std::string> pods{};
    std::int64_t named = 0;

    void demand_that(bool holds, const std::string& words) {
        if (!holds && !wrong) wrong = words;
    }

    std::int64_t below(std::int64_t bound) { return choices.below(bound); }

    std::string queue_name() { return "q" + std::to_string(below(4)); }

    template <class Set>
    std::string any_of(const Set& names) {
        return *choices.one_of(names);
    }

    void change_queue() {
        ClusterQueue made = queue(queue_name(), {below(8), below(8)});
        if (below(2) == 0) made.strategy = ClusterQueue::Strategy::strict_fifo;
        if (below(6) == 0) made.stop = StopPolicy::hold;
        if (below(6) == 0) made.stop = StopPolicy::hold_and_drain;
        if (below(2) == 0) made.cohort = "c";
        if (below(8) == 0) made.namespaces.reset();
        for (const Change& change : with_local(made))
            batch.push_back(change);
    }

    void change_workload() {
        Workload one = workload("w" + std::to_string(named++), below(3) == 0 ? "" : queue_name(),
                                1 + below(4));
        if (!alive.empty() && below(4) == 0) {
            one = choices.one_of(alive)->second;
            one.activity =
                below(3) == 0 ? Workload::Activity::deactivated : Workload::Activity::active;
            if (below(3) == 0) one.not_before = now + seconds(below(5));
        }
        one.priority = below(3);
        one.created = now;
        one.pod_sets.front().count = 1 + below(3);
        if (below(3) == 0) one.binds = Workload::Binds::quota_and_nodes;
        alive[one.id] = one;
        batch.emplace_back(WorkloadSet{one});
    }

    // A pod sits down, of a workload or of nobody, where it was promised a seat or elsewhere.
    void bind_pod() {
        PodBound pod;
        pod.name = "p" + std::to_string(named++);
        pod.node = "n" + std::to_string(below(3));
        pod.shape.requests["cpu"] = {1 + below(4)};
        if (!holding.empty() && below(3) != 0) {
            pod.workload = any_of(holding);
            const PodSet& set = alive.at(pod.workload).pod_sets.front();
            if (below(2) == 0) pod.shape.requests = set.pod.requests;
            if (below(2) == 0) pod.pod_set = set.name;
        }
        pods.insert(pod.name);
        batch.emplace_back(pod);
    }

    void step() {
        switch (below(14)) {
            case 10:
            case 11:
                bind_pod();
                break;
            case 12:
                if (!pods.empty()) {
                    const std::string name = any_of(pods);
                    pods.erase(name);
                    batch.emplace_back(PodGone{name});
                }
                break;
            case 13:
                if (!holding.empty()) {
                    const std::string name = take(any_of(holding));
                    batch.emplace_back(WorkloadRemoved{name});
                    if (below(2) == 0) batch.emplace_back(WorkloadReleased{name});
                } else {
                    batch.emplace_back(NodeRemoved{"n" + std::to_string(below(3))});
                }
                break;
            case 0:
                change_queue();
                break;
            case 1:
                batch.emplace_back(FlavorSet{{"f" + std::to_string(below(2)), {}, {}, {}}});
                break;
            case 2: {
                Node node;
                node.name = "n" + std::to_string(below(3));
                node.allocatable = {{"cpu", {below(9)}}, {"pods", {below(9)}}};
                batch.emplace_back(NodeSet{node});
                break;
            }
            case 3:
                if (!holding.empty()) batch.emplace_back(WorkloadFinished{take(any_of(holding))});
                break;
            case 4:
                if (!evicting.empty()) {
                    const std::string name = any_of(evicting);
                    evicting.erase(name);
                    batch.emplace_back(WorkloadReleased{name});
                }
                break;
            case 5:
                if (!holding.empty()) {
                    const std::string name = any_of(holding);
                    batch.emplace_back(WorkloadFailed{name});
                    holding.erase(name);
                }
                break;
            default:
                change_workload();
        }
    }

    std::string take(const std::string& name) {
        holding.erase(name);
        alive.erase(name);
        return name;
    }

    // Changes of one object keep their order; others may come in any.
    static std::string object_of(const Change& change) { return std::visit(ObjectName{}, change); }

    void decide_both() {
        std::vector<Change> other = batch;
        std::stable_sort(other.begin(), other.end(), [](const Change& a, const Change& b) {
            return object_of(a) > object_of(b);
        });
        for (const Change& change : batch) {
            told.write(change, now);
            apply(state, change);
        }
        for (const Change& change : other)
            apply(turned, change);
        batch.clear();
        now = now + seconds(1);
        told.cycle(now);
        const Decision decision = decide(state, now);
        decide(turned, now);
        const std::string text = text_of(state);
        demand_that(text == text_of(turned), "another order of arrival gives another state");
        const Decision again = decide(turned, now);
        demand_that(again.admits.empty() && again.evicts.empty() && text == text_of(turned),
                    "a state at rest decides again");
        for (const Admit& admit : decision.admits) {
            demand_that(holding.insert(admit.workload).second && !evicting.contains(admit.workload),
                        admit.workload + " is admitted twice");
            check_within_quota(admit);
        }
        for (const Evict& evict : decision.evicts) {
            demand_that(holding.erase(evict.workload) == 1,
                        evict.workload + " is evicted and holds nothing");
            evicting.insert(evict.workload);
        }
        const auto broken = broken_invariants(state);
        demand_that(broken.empty(), broken.empty() ? "" : broken.front());
    }

    // Without a cohort nobody admitted now may stand above the nominal quota.
    void check_within_quota(const Admit& admit) {
        const auto report = report_queue(state, admit.assignment.cluster_queue);
        demand_that(report.has_value(), "a queue that is unknown admits");
        if (wrong) return;
        for (const auto& set : admit.assignment.pod_sets) {
            for (const auto& [resource, flavor] : set.flavors) {
                const auto use = report->flavors.at(flavor).at(resource);
                demand_that(use.borrowed.value > 0 || use.used <= use.nominal,
                            admit.workload + " exceeds the quota");
            }
        }
    }

    void play() {
        for (int round = 0; round < 40 && choices.has() && !wrong; ++round) {
            for (std::int64_t i = below(8); i > 0; --i)
                step();
            decide_both();
        }
    }
};

}  // namespace

TEST_CASE("random worlds: every invariant after each decision, and any order of arrival is equal") {
    const auto played = [](const std::string& bytes) {
        RandomWorld world{Choices(bytes)};
        world.play();
        return world;
    };
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        const std::string bytes = random_bytes(seed, 300, 900);
        if (!played(bytes).wrong) continue;
        const RandomWorld least = played(shrunk(
            bytes, [&](const std::string& fewer) { return played(fewer).wrong.has_value(); }));
        FAIL("seed " << seed << ": " << *least.wrong << "\n" << least.told.text());
    }
}

}  // namespace muster::decide

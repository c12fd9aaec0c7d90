// decide/cycle_test.cpp - decisions in all small worlds, and in random large ones against a slow
// reference.
#include "decide/cycle.h"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "base/random.h"
#include "decide/small_world.h"

namespace muster::decide {

namespace {

void apply_all(State& state, const std::vector<Change>& changes) {
    for (const Change& change : changes)
        apply(state, change);
}

std::vector<std::string> admitted(const Decision& decision) {
    std::vector<std::string> names;
    for (const Admit& admit : decision.admits)
        names.push_back(admit.workload);
    return names;
}

void check_sound(const State& state) {
    const auto broken = broken_invariants(state);
    CHECK_MESSAGE(broken.empty(), (broken.empty() ? "" : broken.front()));
}

/// The obvious way: one queue with flavors in order, everything looked at again each time.
struct Reference {
    bool strict = false;
    std::vector<std::int64_t> free;  // By flavor.
    std::vector<Workload> waiting;

    std::vector<std::string> admit() {
        std::vector<std::string> names;
        std::sort(waiting.begin(), waiting.end(), [](const Workload& a, const Workload& b) {
            return std::tie(b.priority, a.created, a.id) < std::tie(a.priority, b.created, b.id);
        });
        for (auto at = waiting.begin(); at != waiting.end();) {
            const std::int64_t needs = at->pod_sets.front().pod.requests.at("cpu").value;
            const auto flavor = std::find_if(free.begin(), free.end(),
                                             [&](std::int64_t left) { return left >= needs; });
            if (flavor == free.end()) {
                if (strict) break;
                ++at;
                continue;
            }
            *flavor -= needs;
            names.push_back(at->id);
            at = waiting.erase(at);
        }
        return names;
    }
};

}  // namespace

TEST_CASE("nothing is decided twice, and an empty state rests") {
    State state;
    CHECK(decide(state, Time{1}).admits.empty());
    apply_all(state, with_local(queue("q", {2})));
    apply(state, FlavorSet{{"f0", {}, {}, {}}});
    apply(state, WorkloadSet{workload("a", "q", 1)});
    apply(state, WorkloadSet{workload("b", "q", 2)});
    const Decision first = decide(state, Time{2});
    CHECK(admitted(first) == std::vector<std::string>{"a"});
    REQUIRE(first.waits.size() == 1);
    CHECK(first.waits.front().reason->obstacles.front().short_by.value == 1);
    const Decision again = decide(state, Time{3});
    CHECK(again.admits.empty());
    CHECK(again.waits.empty());
    // What was decided is observed later, and the same object is set again: nothing new.
    apply(state, WorkloadAdmitted{"a", *assignment_of(state, "a")});
    apply(state, WorkloadSet{workload("a", "q", 1)});
    CHECK(decide(state, Time{4}).admits.empty());
    check_sound(state);
}

TEST_CASE("what comes back is given out in time, also when the clock was set back meanwhile") {
    State state;
    apply_all(state, with_local(queue("q", {1})));
    apply(state, FlavorSet{{"f0", {}, {}, {}}});
    apply(state, WorkloadSet{workload("a", "q", 1)});
    apply(state, WorkloadSet{workload("b", "q", 1)});
    const Time before = Time{} + seconds(7200);
    REQUIRE(decide(state, before).admits.size() == 1);
    apply(state, WorkloadFinished{"a"});
    CHECK(decide(state, before, milliseconds(40)).admits.empty());
    const Time after = before - seconds(3600);
    CHECK(decide(state, after, milliseconds(40)).look_again == after + milliseconds(40));
    CHECK(admitted(decide(state, after + milliseconds(40), milliseconds(40))) ==
          std::vector<std::string>{"b"});
    check_sound(state);
}

TEST_CASE("a copy of a state goes its own way") {
    State state;
    apply_all(state, with_local(queue("q", {1})));
    apply(state, FlavorSet{{"f0", {}, {}, {}}});
    apply(state, WorkloadSet{workload("a", "q", 1)});
    State copy = state;
    CHECK(decide(copy, Time{1}).admits.size() == 1);
    CHECK(decide(state, Time{1}).admits.size() == 1);
    apply(copy, WorkloadFinished{"a"});
    CHECK(assignment_of(state, "a"));
    CHECK(!assignment_of(copy, "a"));
    check_sound(copy);
}

TEST_CASE(
    "all small worlds: 1 queue, 2 flavors of 0 to 2, 3 workloads of 1 to 3 and priority 0 or 1") {
    std::int64_t worlds = 0;
    for (std::int64_t code = 0; code < 2 * 3 * 3 * 216; ++code) {
        Digits digit(code);
        Reference reference;
        reference.strict = digit(2) == 1;
        reference.free = {digit(3), digit(3)};
        ClusterQueue made = queue("q", reference.free);
        if (reference.strict) made.strategy = ClusterQueue::Strategy::strict_fifo;
        std::vector<Change> changes = with_local(made);
        changes.emplace_back(FlavorSet{{"f0", {}, {}, {}}});
        changes.emplace_back(FlavorSet{{"f1", {}, {}, {}}});
        for (const char* id : {"a", "b", "c"}) {
            Workload one = workload(id, "q", 1 + digit(3));
            one.priority = digit(2);
            reference.waiting.push_back(one);
            changes.emplace_back(WorkloadSet{one});
        }
        State state;
        apply_all(state, changes);
        const auto names = admitted(decide(state, Time{10}));
        REQUIRE(names == reference.admit());
        check_sound(state);
        // Any order of arrival gives the same.
        State turned;
        std::reverse(changes.begin(), changes.end());
        apply_all(turned, changes);
        REQUIRE(admitted(decide(turned, Time{10})) == names);
        // The first finishes: what it had goes to whoever is next.
        if (!names.empty()) {
            const Assignment had = *assignment_of(state, names.front());
            const std::string& flavor = had.pod_sets.front().flavors.at("cpu");
            reference.free[flavor == "f0" ? 0 : 1] += had.pod_sets.front().usage.at("cpu").value;
            apply(state, WorkloadFinished{names.front()});
            REQUIRE(admitted(decide(state, Time{11})) == reference.admit());
            check_sound(state);
        }
        ++worlds;
    }
    CHECK(worlds == 3888);
}

TEST_CASE(
    "all small node worlds: 2 nodes of 0 to 3, gangs of 1 or 2 pods of 1 to 3: never overfull") {
    for (std::int64_t code = 0; code < 4 * 4 * 6 * 6; ++code) {
        Digits digit(code);
        const std::vector<std::int64_t> size = {digit(4), digit(4)};
        State state;
        for (std::size_t i = 0; i < 2; ++i) {
            Node node;
            node.name = "n" + std::to_string(i);
            node.allocatable = {{"cpu", {size[i]}}};
            apply(state, NodeSet{node});
        }
        std::map<std::string, std::pair<std::int64_t, std::int64_t>> gangs;  // Pods, cpu of each.
        for (const char* id : {"a", "b"}) {
            gangs[id] = {1 + digit(2), 1 + digit(3)};
            Workload gang = workload(id, "", gangs[id].second);
            gang.pod_sets.front().count = gangs[id].first;
            apply(state, WorkloadSet{gang});
        }
        const auto names = admitted(decide(state, Time{10}));
        check_sound(state);
        // Every way to put the admitted pods on the nodes is tried: one must fit.
        std::vector<std::int64_t> pods;
        for (const std::string& name : names) {
            for (std::int64_t i = 0; i < gangs[name].first; ++i)
                pods.push_back(gangs[name].second);
        }
        bool fits = false;
        for (std::uint64_t way = 0; way < (1U << pods.size()); ++way) {
            std::vector<std::int64_t> used = {0, 0};
            for (std::size_t i = 0; i < pods.size(); ++i)
                used[(way >> i) & 1U] += pods[i];
            fits |= used[0] <= size[0] && used[1] <= size[1];
        }
        REQUIRE(fits);
    }
}

TEST_CASE("random worlds of one queue agree with the reference over their whole life") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random(seed);
        Reference reference;
        reference.strict = random.below(2) == 0;
        reference.free = {static_cast<std::int64_t>(random.below(20)),
                          static_cast<std::int64_t>(random.below(20))};
        ClusterQueue made = queue("q", reference.free);
        if (reference.strict) made.strategy = ClusterQueue::Strategy::strict_fifo;
        State state;
        apply_all(state, with_local(made));
        apply(state, FlavorSet{{"f0", {}, {}, {}}});
        apply(state, FlavorSet{{"f1", {}, {}, {}}});
        std::vector<std::string> running;
        for (int step = 0; step < 60; ++step) {
            if (!running.empty() && random.below(2) == 0) {
                const auto which =
                    running.begin() + static_cast<std::ptrdiff_t>(random.below(running.size()));
                const Assignment had = *assignment_of(state, *which);
                const auto& set = had.pod_sets.front();
                reference.free[set.flavors.at("cpu") == "f0" ? 0 : 1] += set.usage.at("cpu").value;
                apply(state, WorkloadFinished{*which});
                running.erase(which);
            } else {
                Workload one = workload("w" + std::to_string(step), "q",
                                        1 + static_cast<std::int64_t>(random.below(12)));
                one.priority = static_cast<std::int64_t>(random.below(3));
                one.created = Time{static_cast<std::int64_t>(1 + random.below(4))};
                reference.waiting.push_back(one);
                apply(state, WorkloadSet{one});
            }
            const auto names = admitted(decide(state, Time{100}));
            REQUIRE(names == reference.admit());
            running.insert(running.end(), names.begin(), names.end());
        }
        check_sound(state);
    }
}

}  // namespace muster::decide

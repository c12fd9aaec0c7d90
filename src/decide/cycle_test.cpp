// decide/cycle_test.cpp - decisions in all small worlds, in random large ones against a slow
// reference, and in every order of arrival.
#include "decide/cycle.h"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster::decide {

namespace {

ClusterQueue queue(const std::string& name, std::vector<std::int64_t> cpu_by_flavor) {
    ClusterQueue made;
    made.name = name;
    made.namespaces = Selector{};
    made.groups.emplace_back().resources = {"cpu"};
    for (std::size_t i = 0; i < cpu_by_flavor.size(); ++i) {
        FlavorQuotas flavor{"f" + std::to_string(i), {}};
        flavor.resources["cpu"].nominal = {cpu_by_flavor[i]};
        made.groups.back().flavors.push_back(std::move(flavor));
    }
    return made;
}

Workload workload(const std::string& id, const std::string& in, std::int64_t cpu) {
    Workload made;
    made.id = id;
    made.ns = "default";
    made.local_queue = in;
    made.binds = in.empty() ? Workload::Binds::quota_and_nodes : Workload::Binds::quota;
    made.created = Time{1};
    made.pod_sets.emplace_back().pod.requests["cpu"] = {cpu};
    return made;
}

std::vector<Change> with_local(const ClusterQueue& made) {
    return {QueueSet{made}, LocalQueueSet{{"default", made.name, made.name, StopPolicy::none}}};
}

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
        std::int64_t rest = code;
        const auto digit = [&](std::int64_t base) {
            const std::int64_t value = rest % base;
            rest /= base;
            return value;
        };
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
        std::int64_t rest = code;
        const auto digit = [&](std::int64_t base) {
            const std::int64_t value = rest % base;
            rest /= base;
            return value;
        };
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
    Random random;
    State state;
    State turned;  // Gets the same changes, those between two decisions in another order.
    Time now{1'000'000'000};
    std::vector<Change> batch;
    std::map<std::string, Workload> alive;
    std::set<std::string> holding;
    std::set<std::string> evicting;
    std::set<std::string> pods;
    std::int64_t named = 0;

    explicit RandomWorld(std::uint64_t seed) : random(seed) {}

    std::int64_t below(std::uint64_t bound) {
        return static_cast<std::int64_t>(random.below(bound));
    }

    std::string queue_name() { return "q" + std::to_string(below(4)); }

    template <class Set>
    std::string any_of(const Set& names) {
        auto at = names.begin();
        std::advance(at, below(names.size()));
        return *at;
    }

    void change_queue() {
        ClusterQueue made = queue(queue_name(), {below(8), below(8)});
        if (random.below(2) == 0) made.strategy = ClusterQueue::Strategy::strict_fifo;
        if (random.below(6) == 0) made.stop = StopPolicy::hold;
        if (random.below(6) == 0) made.stop = StopPolicy::hold_and_drain;
        if (random.below(2) == 0) made.cohort = "c";
        if (random.below(8) == 0) made.namespaces.reset();
        for (const Change& change : with_local(made))
            batch.push_back(change);
    }

    void change_workload() {
        Workload one = workload("w" + std::to_string(named++),
                                random.below(3) == 0 ? "" : queue_name(), 1 + below(4));
        if (!alive.empty() && random.below(4) == 0) {
            auto at = alive.begin();
            std::advance(at, below(alive.size()));
            one = at->second;
            one.activity =
                random.below(3) == 0 ? Workload::Activity::deactivated : Workload::Activity::active;
            if (random.below(3) == 0) one.not_before = now + seconds(below(5));
        }
        one.priority = below(3);
        one.created = Time{1 + below(5)};
        one.pod_sets.front().count = 1 + below(3);
        if (random.below(3) == 0) one.binds = Workload::Binds::quota_and_nodes;
        alive[one.id] = one;
        batch.emplace_back(WorkloadSet{one});
    }

    // A pod sits down, of a workload or of nobody, where it was promised a seat or elsewhere.
    void bind_pod() {
        PodBound pod;
        pod.name = "p" + std::to_string(named++);
        pod.node = "n" + std::to_string(below(3));
        pod.shape.requests["cpu"] = {1 + below(4)};
        if (!holding.empty() && random.below(3) != 0) {
            pod.workload = any_of(holding);
            const PodSet& set = alive.at(pod.workload).pod_sets.front();
            if (random.below(2) == 0) pod.shape.requests = set.pod.requests;
            if (random.below(2) == 0) pod.pod_set = set.name;
        }
        pods.insert(pod.name);
        batch.emplace_back(pod);
    }

    void step() {
        switch (random.below(14)) {
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
                    if (random.below(2) == 0) batch.emplace_back(WorkloadReleased{name});
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
        apply_all(state, batch);
        apply_all(turned, other);
        batch.clear();
        now = now + seconds(1);
        const Decision decision = decide(state, now);
        const Decision same = decide(turned, now);
        REQUIRE(admitted(decision) == admitted(same));
        REQUIRE(decision.evicts.size() == same.evicts.size());
        REQUIRE(decision.waits.size() == same.waits.size());
        for (std::size_t i = 0; i < decision.waits.size(); ++i) {
            REQUIRE(decision.waits[i].workload == same.waits[i].workload);
            REQUIRE(*decision.waits[i].reason == *same.waits[i].reason);
        }
        for (const Admit& admit : decision.admits) {
            REQUIRE(holding.insert(admit.workload).second);
            REQUIRE(!evicting.contains(admit.workload));
            check_within_quota(admit);
        }
        for (const Evict& evict : decision.evicts) {
            REQUIRE(holding.erase(evict.workload) == 1);
            evicting.insert(evict.workload);
        }
        check_sound(state);
    }

    // Without a cohort nobody admitted now may stand above the nominal quota.
    void check_within_quota(const Admit& admit) {
        const auto report = report_queue(state, admit.assignment.cluster_queue);
        REQUIRE(report);
        for (const auto& set : admit.assignment.pod_sets) {
            for (const auto& [resource, flavor] : set.flavors) {
                const auto use = report->flavors.at(flavor).at(resource);
                if (use.borrowed.value == 0) REQUIRE(use.used <= use.nominal);
            }
        }
    }
};

}  // namespace

TEST_CASE("random worlds: every invariant after each decision, and any order of arrival is equal") {
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
        CAPTURE(seed);
        RandomWorld world(seed);
        for (int round = 0; round < 25; ++round) {
            for (std::int64_t i = world.below(8); i > 0; --i)
                world.step();
            world.decide_both();
        }
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

// decide/fit/fit_test.cpp - the flavor that a workload gets, in all small worlds of a cohort: two
// flavors, limits of both kinds, and every fungibility, against the definition.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "decide/cycle.h"
#include "decide/small_world.h"

namespace muster::decide {

namespace {

using Search = FlavorFungibility::Search;
using Preference = FlavorFungibility::Preference;
using Limit = std::optional<Amount>;

/// Queue x asks; y lends, and neither preempts.
struct SmallFit {
    std::array<std::int64_t, 2> own{};   // x's nominal quota, by flavor.
    std::array<std::int64_t, 2> used{};  // Of it.
    std::array<std::int64_t, 2> others{};
    Limit borrowing;
    Limit lending;
    FlavorFungibility fungibility;
    std::int64_t size = 1;

    std::optional<std::size_t> expected() const;
    std::optional<std::size_t> got() const;
    ClusterQueue queue(const std::string& name, const std::array<std::int64_t, 2>& nominal) const;
};

// Of the flavors from the first to the one that ends the search the best: with the least borrowing.
std::optional<std::size_t> SmallFit::expected() const {
    std::optional<std::size_t> best;
    bool best_borrows = false;
    for (std::size_t f = 0; f < 2; ++f) {
        const std::int64_t lent = lending ? std::min(others[f], lending->value) : others[f];
        std::int64_t free = own[f] + lent - used[f];
        if (borrowing) free = std::min(free, own[f] + borrowing->value - used[f]);
        if (free < size) continue;
        const bool borrows = used[f] + size > own[f];
        if (!best || (best_borrows && !borrows)) {
            best = f;
            best_borrows = borrows;
        }
        if (!borrows || fungibility.when_can_borrow == Search::may_stop) break;
    }
    return best;
}

ClusterQueue SmallFit::queue(const std::string& name,
                             const std::array<std::int64_t, 2>& nominal) const {
    ClusterQueue made;
    made.name = name;
    made.cohort = "c";
    made.namespaces = Selector{};
    made.groups.emplace_back().resources = {"cpu"};
    for (std::size_t f = 0; f < 2; ++f) {
        FlavorQuotas quotas{"f" + std::to_string(f), {}};
        Quota& quota = quotas.resources["cpu"];
        quota.nominal = {nominal[f]};
        if (name == "x") quota.borrowing_limit = borrowing;
        if (name == "y") quota.lending_limit = lending;
        made.groups.back().flavors.push_back(std::move(quotas));
    }
    if (name == "x") made.fungibility = fungibility;
    return made;
}

Workload workload(const std::string& id, std::int64_t cpu) {
    Workload made;
    made.id = id;
    made.ns = "default";
    made.local_queue = "x";
    made.created = Time{1};
    made.pod_sets.emplace_back().pod.requests["cpu"] = {cpu};
    return made;
}

std::optional<std::size_t> SmallFit::got() const {
    State state;
    for (const std::string name : {"f0", "f1"})
        apply(state, FlavorSet{{name, {}, {}, {}}});
    apply(state, QueueSet{queue("x", own)});
    apply(state, QueueSet{queue("y", others)});
    apply(state, LocalQueueSet{{"default", "x", "x", StopPolicy::none}});
    for (std::size_t f = 0; f < 2; ++f) {
        if (used[f] == 0) continue;
        const std::string flavor = "f" + std::to_string(f);
        apply(state, WorkloadSet{workload("holder-" + flavor, used[f])});
        PodSetAssignment set{"main", 1, {{"cpu", flavor}}, {{"cpu", {used[f]}}}};
        apply(state, WorkloadAdmitted{"holder-" + flavor, {"x", {set}}});
    }
    apply(state, WorkloadSet{workload("new", size)});
    const Decision decision = decide(state, Time{2});
    const auto broken = broken_invariants(state);
    REQUIRE_MESSAGE(broken.empty(), (broken.empty() ? "" : broken.front()));
    if (decision.admits.empty()) return std::nullopt;
    const auto& flavors = decision.admits.front().assignment.pod_sets.front().flavors;
    return flavors.at("cpu") == "f0" ? 0 : 1;
}

}  // namespace

TEST_CASE(
    "all small worlds of fit: 2 flavors, quotas of 0 to 2, others' of 0 or 2, limits of none, 0 "
    "or 1, 0 or 1 used, 1 or 2 asked for, every fungibility") {
    std::int64_t worlds = 0;
    std::int64_t fits = 0;
    const std::array<Limit, 3> limits = {std::nullopt, Amount{0}, Amount{1}};
    for (std::int64_t code = 0; code < 9 * 4 * 4 * 9 * 2 * 2 * 3; ++code) {
        Digits digit(code);
        SmallFit world;
        world.own = {digit(3), digit(3)};
        world.used = {digit(2), digit(2)};
        world.others = {2 * digit(2), 2 * digit(2)};
        world.borrowing = limits[static_cast<std::size_t>(digit(3))];
        world.lending = limits[static_cast<std::size_t>(digit(3))];
        world.size = 1 + digit(2);
        world.fungibility.when_can_borrow = static_cast<Search>(digit(2));
        world.fungibility.preference = static_cast<Preference>(digit(3));
        const auto expected = world.expected();
        CAPTURE(code);
        REQUIRE(world.got() == expected);
        ++worlds;
        fits += expected ? 1 : 0;
    }
    CHECK(worlds == 15552);
    CHECK(fits > 5'000);
    CHECK(fits < 14'000);
}

}  // namespace muster::decide

// decide/quota/tree_test.cpp - the quota tree against Kueue's rules and a slow, plain reference.
#include "decide/quota/tree.h"

#include <algorithm>
#include <array>
#include <map>

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster::decide {

namespace {

constexpr FlavorResource cpu{};

Quota quota(std::int64_t nominal, std::optional<Amount> borrow = {},
            std::optional<Amount> lend = {}) {
    return {{nominal}, borrow, lend};
}

/// The definition of notes/kueue.md 2.7, computed from nothing each time.
struct Reference {
    std::vector<int> parent;  // -1: none. Children have larger numbers than parents.
    std::vector<Quota> quotas;
    std::vector<std::int64_t> held;

    std::int64_t subtree(std::size_t n) const {
        std::int64_t sum = quotas[n].nominal.value;
        for (std::size_t c = 0; c < parent.size(); ++c) {
            if (parent[c] == static_cast<int>(n)) sum += subtree(c) - local(c);
        }
        return sum;
    }
    std::int64_t local(std::size_t n) const {
        if (!quotas[n].lending_limit) return 0;
        return std::max<std::int64_t>(0, subtree(n) - quotas[n].lending_limit->value);
    }
    std::int64_t usage(std::size_t n) const {
        std::int64_t sum = held[n];
        for (std::size_t c = 0; c < parent.size(); ++c) {
            if (parent[c] == static_cast<int>(n)) {
                sum += std::max<std::int64_t>(0, usage(c) - local(c));
            }
        }
        return sum;
    }
    std::int64_t available(std::size_t n) const {
        if (parent[n] < 0) return subtree(n) - usage(n);
        std::int64_t above = available(static_cast<std::size_t>(parent[n]));
        if (quotas[n].borrowing_limit) {
            const std::int64_t used = std::max<std::int64_t>(0, usage(n) - local(n));
            above =
                std::min(above, subtree(n) - local(n) - used + quotas[n].borrowing_limit->value);
        }
        return std::max<std::int64_t>(0, local(n) - usage(n)) + above;
    }
    std::int64_t potential(std::size_t n) const {
        if (parent[n] < 0) return subtree(n);
        const std::int64_t most = local(n) + potential(static_cast<std::size_t>(parent[n]));
        if (!quotas[n].borrowing_limit) return most;
        return std::min(most, subtree(n) + quotas[n].borrowing_limit->value);
    }
};

void check_equal(const QuotaTree& tree, const Reference& reference) {
    for (std::size_t i = 0; i < reference.parent.size(); ++i) {
        const auto node = static_cast<QuotaNode>(i);
        REQUIRE(tree.subtree(node, cpu).value == reference.subtree(i));
        REQUIRE(tree.usage(node, cpu).value == reference.usage(i));
        REQUIRE(tree.available(node, cpu).value == reference.available(i));
        REQUIRE(tree.potential(node, cpu).value == reference.potential(i));
    }
}

QuotaTree build(const Reference& reference) {
    QuotaTree tree;
    for (std::size_t i = 0; i < reference.parent.size(); ++i) {
        const QuotaNode node = tree.add();
        if (reference.parent[i] >= 0) {
            tree.set_parent(node, static_cast<QuotaNode>(reference.parent[i]));
        }
        tree.set_quotas(node, {{cpu, reference.quotas[i]}});
    }
    tree.settle();
    return tree;
}

/// Each leaf takes 1 and then 2, and gives back in the other order; then all is as it was.
void play_leaves(Reference reference) {
    QuotaTree tree = build(reference);
    check_equal(tree, reference);
    const auto& parents = reference.parent;
    for (std::size_t leaf = 0; leaf < parents.size(); ++leaf) {
        if (std::count(parents.begin(), parents.end(), static_cast<int>(leaf)) > 0) continue;
        for (const std::int64_t amount : {1, 2, -1, -2}) {
            reference.held[leaf] += amount;
            const auto node = static_cast<QuotaNode>(leaf);
            if (amount > 0) tree.add_usage(node, cpu, {amount});
            if (amount < 0) tree.remove_usage(node, cpu, {-amount});
            check_equal(tree, reference);
        }
    }
}

}  // namespace

TEST_CASE("a lone queue has its nominal quota, and goes negative when it is cut") {
    QuotaTree tree;
    const QuotaNode q = tree.add();
    tree.set_quotas(q, {{cpu, quota(9)}});
    tree.settle();
    tree.add_usage(q, cpu, {6});
    CHECK(tree.available(q, cpu).value == 3);
    tree.set_quotas(q, {{cpu, quota(4)}});
    tree.settle();
    CHECK(tree.available(q, cpu).value == -2);
    CHECK(tree.potential(q, cpu).value == 4);
    tree.set_quotas(q, {});
    tree.settle();
    CHECK(tree.usage(q, cpu).value == 6);
    CHECK(tree.available(q, cpu).value == -6);
}

TEST_CASE("queues of a cohort borrow up to their limits and lend up to theirs") {
    QuotaTree tree;
    const QuotaNode cohort = tree.add();
    const QuotaNode a = tree.add();
    const QuotaNode b = tree.add();
    tree.set_parent(a, cohort);
    tree.set_parent(b, cohort);
    tree.set_quotas(a, {{cpu, quota(10, Amount{3})}});
    tree.set_quotas(b, {{cpu, quota(10, {}, Amount{4})}});
    tree.settle();
    CHECK(tree.available(a, cpu).value == 13);
    CHECK(tree.available(b, cpu).value == 20);
    CHECK(tree.lowest_room(a, cpu, {10}).height == 0);
    CHECK(tree.lowest_room(a, cpu, {11}).height == 1);
    tree.add_usage(a, cpu, {12});
    CHECK(tree.available(a, cpu).value == 1);
    CHECK(tree.available(b, cpu).value == 8);
    tree.remove_usage(a, cpu, {12});
    CHECK(tree.usage(cohort, cpu).value == 0);
}

TEST_CASE("an unlimited quota stays unlimited") {
    QuotaTree tree;
    const QuotaNode cohort = tree.add();
    const QuotaNode a = tree.add();
    tree.set_parent(a, cohort);
    tree.set_quotas(cohort, {{cpu, {unlimited(), {}, {}}}});
    tree.set_quotas(a, {{cpu, quota(1)}});
    tree.settle();
    tree.add_usage(a, cpu, {1'000'000});
    CHECK(is_unlimited(tree.available(a, cpu)));
    CHECK(is_unlimited(tree.potential(a, cpu)));
}

TEST_CASE("a circle of cohorts cuts its members off until it is cut itself") {
    QuotaTree tree;
    const QuotaNode x = tree.add();
    const QuotaNode y = tree.add();
    const QuotaNode q = tree.add();
    tree.set_parent(x, y);
    tree.set_parent(y, x);
    tree.set_parent(q, x);
    tree.set_quotas(q, {{cpu, quota(5)}});
    tree.settle();
    CHECK(tree.in_circle(q));
    CHECK(tree.in_circle(x));
    tree.add_usage(q, cpu, {2});
    tree.set_parent(y, std::nullopt);
    tree.settle();
    CHECK(!tree.in_circle(q));
    CHECK(tree.root_of(q) == y);
    CHECK(tree.usage(y, cpu).value == 2);
}

TEST_CASE("all small trees agree with the reference: 3 nodes, quotas 0 and 2, limits none, 0, 1") {
    const std::array<std::optional<Amount>, 3> limits = {std::nullopt, Amount{0}, Amount{1}};
    const std::array<std::vector<int>, 5> shapes = {
        {{-1, -1, -1}, {-1, 0, -1}, {-1, 0, 0}, {-1, 0, 1}, {-1, -1, 1}}};
    std::int64_t worlds = 0;
    for (const auto& shape : shapes) {
        for (std::uint64_t code = 0; code < 18 * 18 * 18; ++code) {
            Reference reference{shape, {}, {0, 0, 0}};
            std::uint64_t rest = code;
            for (int i = 0; i < 3; ++i) {
                const auto digit = rest % 18;
                rest /= 18;
                reference.quotas.push_back(quota(static_cast<std::int64_t>(digit % 2) * 2,
                                                 limits[digit / 2 % 3], limits[digit / 6]));
            }
            play_leaves(reference);
            ++worlds;
        }
    }
    CHECK(worlds == 29160);
}

TEST_CASE("all trees of 4 nodes agree with the reference: quotas 0 and 2, limits none and 1") {
    const std::array<std::vector<int>, 4> shapes = {
        {{-1, 0, 1, 2}, {-1, 0, 0, 0}, {-1, 0, 0, 1}, {-1, 0, 1, 1}}};
    std::int64_t worlds = 0;
    for (const auto& shape : shapes) {
        for (std::uint64_t code = 0; code < 8 * 8 * 8 * 8; ++code) {
            Reference reference{shape, {}, {0, 0, 0, 0}};
            for (int i = 0; i < 4; ++i) {
                const auto digit = code >> (3 * i);
                const auto limit = [&](int bit) -> std::optional<Amount> {
                    if ((digit >> bit) % 2 == 0) return std::nullopt;
                    return Amount{1};
                };
                reference.quotas.push_back(
                    quota(static_cast<std::int64_t>(digit % 2) * 2, limit(1), limit(2)));
            }
            play_leaves(reference);
            ++worlds;
        }
    }
    CHECK(worlds == 16384);
}

TEST_CASE("random trees agree with the reference, whether settled again or not") {
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        Random random(seed);
        Reference reference;
        const std::size_t count = 2 + random.below(8);
        for (std::size_t i = 0; i < count; ++i) {
            reference.parent.push_back(i == 0 ? -1 : static_cast<int>(random.below(i + 1)) - 1);
            const auto limit = [&]() -> std::optional<Amount> {
                if (random.below(2) == 0) return std::nullopt;
                return Amount{static_cast<std::int64_t>(random.below(8))};
            };
            reference.quotas.push_back(
                quota(static_cast<std::int64_t>(random.below(20)), limit(), limit()));
            reference.held.push_back(0);
        }
        QuotaTree tree = build(reference);
        for (int step = 0; step < 30; ++step) {
            const std::size_t leaf = random.below(count);
            if (std::count(reference.parent.begin(), reference.parent.end(),
                           static_cast<int>(leaf)) > 0) {
                continue;
            }
            const auto node = static_cast<QuotaNode>(leaf);
            if (reference.held[leaf] > 0 && random.below(2) == 0) {
                const auto less = static_cast<std::int64_t>(
                    1 + random.below(static_cast<std::uint64_t>(reference.held[leaf])));
                reference.held[leaf] -= less;
                tree.remove_usage(node, cpu, {less});
            } else {
                const auto more = static_cast<std::int64_t>(random.below(12));
                reference.held[leaf] += more;
                tree.add_usage(node, cpu, {more});
            }
            if (step % 7 == 0) tree.settle();
            check_equal(tree, reference);
        }
    }
}

}  // namespace muster::decide

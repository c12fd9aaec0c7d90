// decide/quota/share_test.cpp - shares compare exactly where floating point would not.
#include "decide/quota/share.h"

#include <limits>

#include <doctest/doctest.h>

namespace muster::decide {

namespace {

constexpr std::int64_t one = 1'000'000'000;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr FlavorResource cpu{};

BorrowedShare share(std::int64_t borrowed, std::int64_t lendable, std::int64_t weight = one) {
    BorrowedShare made{{borrowed}, {lendable}, {weight}, borrowed > 0};
    return made;
}

}  // namespace

TEST_CASE("shares compare as fractions, divided by their weights") {
    CHECK(compare(share(1, 3), share(1, 2)) < 0);
    CHECK(compare(share(2, 6), share(1, 3)) == 0);
    CHECK(compare(share(1, 3, 2 * one), share(1, 6)) == 0);
    CHECK(compare(share(1, 3, one / 2), share(2, 3)) == 0);
    CHECK(compare(share(0, 1), share(0, 9, one / 7)) == 0);
    // A difference in the last of eighteen digits.
    CHECK(compare(share(most - 1, most), share(most - 2, most - 1)) > 0);
    CHECK(compare(share(most - 1, most, most), share(most - 2, most - 1, most)) > 0);
}

TEST_CASE("weight zero and anything borrowed is more than everything, and compares by itself") {
    CHECK(compare(share(1, 1'000, 0), share(most, 1)) > 0);
    CHECK(compare(share(1, 3, 0), share(1, 2, 0)) < 0);
    CHECK(compare(share(0, 1, 0), share(1, 1'000)) < 0);
    CHECK(weighted_share(share(1, 1'000, 0)) == most);
    CHECK(weighted_share(share(0, 1, 0)) == 0);
}

TEST_CASE("the share that is shown is in thousandths and rounded up") {
    CHECK(weighted_share(share(1, 3)) == 334);
    CHECK(weighted_share(share(1, 2)) == 500);
    CHECK(weighted_share(share(1, 2, 2 * one)) == 250);
    CHECK(weighted_share(share(most, 1, 1)) == most);
}

TEST_CASE("the share of a node is that of the resource of which it borrows the largest part") {
    constexpr FlavorResource memory{FlavorId{}, ResourceId{1}};
    QuotaTree tree;
    const QuotaNode cohort = tree.add();
    const QuotaNode queue = tree.add();
    tree.set_parent(queue, cohort);
    const auto nominal = [](std::int64_t amount) {
        Quota quota;
        quota.nominal = {amount};
        return quota;
    };
    tree.set_quotas(cohort, {{cpu, nominal(10)}, {memory, nominal(100)}});
    tree.set_quotas(queue, {{cpu, nominal(2)}, {memory, nominal(0)}});
    tree.settle();
    CHECK(!borrowed_share(tree, queue).borrows);
    tree.add_usage(queue, cpu, {5});
    tree.add_usage(queue, memory, {20});
    const BorrowedShare mine = borrowed_share(tree, queue);
    CHECK(mine.borrowed.value == 3);
    CHECK(mine.lendable.value == 12);
    CHECK(borrows(tree, queue, memory));
    CHECK(!borrows(tree, queue, {FlavorId{9}, ResourceId{}}));
    CHECK(!borrowed_share(tree, cohort).borrows);
}

}  // namespace muster::decide

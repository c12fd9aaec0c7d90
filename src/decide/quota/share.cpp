// decide/quota/share.cpp - the part of what can be lent that a node has borrowed.
#include "decide/quota/share.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "decide/quota/fraction.h"

namespace muster::decide {

namespace {

Wide wide(std::int64_t value) {
    return static_cast<Wide>(std::max<std::int64_t>(0, value));
}

Fraction unweighted(const BorrowedShare& share) {
    if (share.borrowed.value <= 0) return {0, 1};
    return {wide(share.borrowed.value), wide(share.lendable.value)};
}

Fraction weighted(const BorrowedShare& share) {
    Fraction fraction = unweighted(share);
    if (fraction.over != 0) fraction.under *= wide(share.weight.nanos);
    return fraction;
}

}  // namespace

bool borrows(const QuotaTree& tree, QuotaNode node, FlavorResource what) {
    return (tree.usage(node, what) - tree.subtree(node, what)).value > 0;
}

BorrowedShare borrowed_share(const QuotaTree& tree, QuotaNode node) {
    BorrowedShare share;
    share.weight = tree.weight_of(node);
    const auto parent = tree.parent_of(node);
    if (!parent) return share;
    const auto consider = [&](ResourceId resource, Amount borrowed) {
        const BorrowedShare other{borrowed, tree.lendable(*parent, resource), {}};
        if (other.lendable.value <= 0 || compare(unweighted(other), unweighted(share)) <= 0) return;
        share.borrowed = other.borrowed;
        share.lendable = other.lendable;
    };
    // Mostly it is one resource; sums of several are kept apart.
    std::optional<std::pair<ResourceId, Amount>> only;
    std::map<ResourceId, Amount> sums;
    tree.visit(node, [&](FlavorResource what, Amount usage, Amount subtree) {
        const Amount over = usage - subtree;
        if (over.value <= 0) return;
        share.borrows = true;
        if (sums.empty() && (!only || only->first == what.resource)) {
            only = {what.resource, only ? only->second + over : over};
            return;
        }
        sums.insert(*only);
        sums[what.resource] += over;
    });
    if (only && sums.empty()) consider(only->first, only->second);
    for (const auto& [resource, borrowed] : sums)
        consider(resource, borrowed);
    return share;
}

std::strong_ordering compare(const BorrowedShare& a, const BorrowedShare& b) {
    if (a.is_infinite() && b.is_infinite()) return compare(unweighted(a), unweighted(b));
    if (a.is_infinite()) return std::strong_ordering::greater;
    if (b.is_infinite()) return std::strong_ordering::less;
    if (a.weight == b.weight && a.lendable == b.lendable) {
        return std::max<std::int64_t>(0, a.borrowed.value) <=>
               std::max<std::int64_t>(0, b.borrowed.value);
    }
    if (a.weight == b.weight) return compare(unweighted(a), unweighted(b));
    return compare(weighted(a), weighted(b));
}

std::int64_t weighted_share(const BorrowedShare& share) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (share.is_infinite()) return most;
    const Fraction fraction = weighted(share);
    if (fraction.over == 0) return 0;
    constexpr Wide thousandths = 1'000;
    constexpr Wide billionths = 1'000'000'000;
    const Wide rounded =
        (fraction.over * thousandths * billionths + fraction.under - 1) / fraction.under;
    return rounded > static_cast<Wide>(most) ? most : static_cast<std::int64_t>(rounded);
}

}  // namespace muster::decide

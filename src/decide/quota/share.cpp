// decide/quota/share.cpp - the part of what can be lent that a node has borrowed.
#include "decide/quota/share.h"

#include <algorithm>
#include <limits>
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

bool BorrowedShare::borrows_any_of(const std::vector<FlavorResource>& wanted) const {
    return std::any_of(on.begin(), on.end(), [&](FlavorResource what) {
        return std::find(wanted.begin(), wanted.end(), what) != wanted.end();
    });
}

BorrowedShare borrowed_share(const QuotaTree& tree, QuotaNode node) {
    BorrowedShare share;
    share.weight = tree.weight_of(node);
    const auto parent = tree.parent_of(node);
    if (!parent) return share;
    std::vector<std::pair<ResourceId, Amount>> sums;  // By resource.
    tree.visit(node, [&](FlavorResource what, Amount usage, Amount subtree) {
        const Amount over = usage - subtree;
        if (over.value <= 0) return;
        share.on.push_back(what);
        const auto at = std::lower_bound(
            sums.begin(), sums.end(), what.resource,
            [](const auto& sum, ResourceId resource) { return sum.first < resource; });
        if (at != sums.end() && at->first == what.resource) {
            at->second += over;
        } else {
            sums.insert(at, {what.resource, over});
        }
    });
    for (const auto& [resource, borrowed] : sums) {
        const Amount lendable = tree.lendable(*parent, resource);
        if (lendable.value <= 0) continue;
        const BorrowedShare other{borrowed, lendable, {}, {}};
        if (compare(unweighted(other), unweighted(share)) > 0) {
            share.borrowed = borrowed;
            share.lendable = lendable;
        }
    }
    return share;
}

std::strong_ordering compare(const BorrowedShare& a, const BorrowedShare& b) {
    if (a.is_infinite() && b.is_infinite()) return compare(unweighted(a), unweighted(b));
    if (a.is_infinite()) return std::strong_ordering::greater;
    if (b.is_infinite()) return std::strong_ordering::less;
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

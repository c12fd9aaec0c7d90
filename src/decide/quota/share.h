// decide/quota/share.h - how large a node's part is of what its parent can lend: the measure of
// fair sharing, in exact fractions.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/amount.h"
#include "decide/ids.h"
#include "decide/quota/tree.h"

namespace muster::decide {

/// What a queue or cohort uses beyond its own, of the resource of which that is the largest part of
/// what its parent could lend. Divided by its weight this is what fair sharing keeps even.
struct BorrowedShare {
    Amount borrowed;  // Of the resource that counts; 0 when nothing of it can be lent.
    Amount lendable;  // Of the same; at least 1 when `borrowed` is not 0.
    FairWeight weight;
    bool borrows = false;  // Anything at all.

    /// Weight 0 and anything borrowed: larger than every other share.
    bool is_infinite() const { return weight.nanos == 0 && borrows; }
};

/// A root shares with nobody and has none.
BorrowedShare borrowed_share(const QuotaTree& tree, QuotaNode node);

/// It uses more of it than its own.
bool borrows(const QuotaTree& tree, QuotaNode node, FlavorResource what);

/// By share divided by weight; infinite ones among themselves by the share alone.
std::strong_ordering compare(const BorrowedShare& a, const BorrowedShare& b);

/// In thousandths, divided by the weight and rounded up; the largest int64 for an infinite one.
std::int64_t weighted_share(const BorrowedShare& share);

}  // namespace muster::decide

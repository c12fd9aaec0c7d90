// decide/turns.h - the order in which the workloads tried in one round come to their turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "decide/evaluate.h"
#include "decide/quota/share.h"
#include "decide/world.h"

namespace muster::decide {

/// A workload that is tried in a round.
struct Nominee {
    QueueId queue{};
    QuotaNode node{};  // Of the queue.
    QuotaNode root{};
    ClassKey key;
    Turn turn;
    Attempt attempt;
    std::uint64_t ledger_version = 0;  // Of the nodes it was found to fit.
};

/// Hands out nominees one by one: who borrows least first, then by their turns. With fair sharing
/// each tree holds a tournament for every turn, because usage has changed: at each cohort whoever
/// does not borrow what it wants, then the smallest share with it admitted, then by turn.
class Turns {
public:
    Turns(const World& world, QuotaTree& tree, const std::vector<Nominee*>& nominees);

    /// The index of the next one; absent when all have had their turn.
    std::optional<std::size_t> next();

private:
    /// With its nominee admitted.
    struct Standing {
        BorrowedShare share;
        bool borrows_for_it = false;  // Some of what the nominee wants.
    };
    using Shares = std::map<std::pair<std::size_t, QuotaNode>, Standing>;  // Below a cohort.

    /// The nominees of one tree that are left: without fair sharing the last one is next.
    using Members = std::vector<std::size_t>;

    void enter_winner(std::size_t tree);
    std::size_t winner(const Members& members);
    Shares measure(const Members& members);
    bool wins(std::size_t a, std::size_t b, QuotaNode cohort, const Shares& shares) const;
    bool goes_before(std::size_t a, std::size_t b) const;

    const World& world_;
    QuotaTree& tree_;
    const Nominee& of(std::size_t i) const { return *nominees_[i]; }

    const std::vector<Nominee*>& nominees_;
    std::vector<std::vector<Share>> needs_;  // With fair sharing: all that each would take.
    std::vector<Members> trees_;
    /// A heap of one nominee of each tree, with its tree; the first to go is in front.
    std::vector<std::pair<std::size_t, std::size_t>> winners_;
    std::optional<std::size_t> played_;  // The tree whose winner had its turn and has no successor.
};

}  // namespace muster::decide

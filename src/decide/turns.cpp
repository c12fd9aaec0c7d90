// decide/turns.cpp - sorting, and the tournaments of fair sharing.
#include "decide/turns.h"

#include <algorithm>

namespace muster::decide {

Turns::Turns(const World& world, QuotaTree& tree, const std::vector<Nominee*>& nominees)
    : world_(world), tree_(tree), nominees_(nominees) {
    Members all;
    for (std::size_t i = 0; i < nominees.size(); ++i)
        all.push_back(i);
    std::sort(all.begin(), all.end(), [this](std::size_t a, std::size_t b) {
        return of(a).root != of(b).root ? of(a).root < of(b).root : goes_before(b, a);
    });
    for (const std::size_t member : all) {
        if (trees_.empty() || of(trees_.back().front()).root != of(member).root) {
            trees_.emplace_back();
        }
        trees_.back().push_back(member);
    }
    if (world.options.fair_sharing) {
        for (const Nominee* nominee : nominees)
            needs_.push_back(nominee->attempt.fit.total());
    }
    for (std::size_t i = 0; i < trees_.size(); ++i)
        enter_winner(i);
}

bool Turns::goes_before(std::size_t a, std::size_t b) const {
    const Nominee& left = of(a);
    const Nominee& right = of(b);
    if (left.attempt.fit.borrowing_level != right.attempt.fit.borrowing_level) {
        return left.attempt.fit.borrowing_level < right.attempt.fit.borrowing_level;
    }
    return left.turn < right.turn;
}

// With fair sharing it depends on what has happened since.
void Turns::enter_winner(std::size_t tree) {
    if (trees_[tree].empty()) return;
    winners_.emplace_back(winner(trees_[tree]), tree);
    std::push_heap(winners_.begin(), winners_.end(),
                   [this](const auto& a, const auto& b) { return goes_before(b.first, a.first); });
}

std::optional<std::size_t> Turns::next() {
    if (played_) enter_winner(*played_);
    played_.reset();
    if (winners_.empty()) return std::nullopt;
    std::pop_heap(winners_.begin(), winners_.end(),
                  [this](const auto& a, const auto& b) { return goes_before(b.first, a.first); });
    const auto [chosen, tree] = winners_.back();
    winners_.pop_back();
    Members& members = trees_[tree];
    members.erase(std::find(members.rbegin(), members.rend(), chosen).base() - 1);
    played_ = tree;
    return chosen;
}

std::size_t Turns::winner(const Members& members) {
    if (!world_.options.fair_sharing || members.size() == 1) return members.back();
    const Shares shares = measure(members);
    // From the deepest cohorts up; at the root one is left.
    std::map<std::pair<std::int64_t, QuotaNode>, std::size_t> best;  // By depth, deepest first.
    const auto depth_of = [this](QuotaNode node) {
        std::int64_t depth = 0;
        for (auto at = tree_.parent_of(node); at; at = tree_.parent_of(*at))
            ++depth;
        return depth;
    };
    const auto enter = [&](QuotaNode node, std::size_t member) {
        const auto parent = tree_.parent_of(node);
        if (!parent) return;
        const auto [at, is_first] = best.try_emplace({-depth_of(*parent), *parent}, member);
        if (!is_first && wins(member, at->second, *parent, shares)) at->second = member;
    };
    for (const std::size_t member : members)
        enter(of(member).node, member);
    std::size_t last = members.front();
    for (auto at = best.begin(); at != best.end(); ++at) {
        last = at->second;
        enter(at->first.second, last);
    }
    return last;
}

// The shares of all nodes from each queue up, as they would be with its nominee admitted.
Turns::Shares Turns::measure(const Members& members) {
    Shares shares;
    for (const std::size_t member : members) {
        const Nominee& nominee = of(member);
        const std::vector<Share>& needs = needs_[member];
        for (const Share& need : needs)
            tree_.add_usage(nominee.node, need.what, need.amount);
        QuotaNode at = nominee.node;
        for (auto above = tree_.parent_of(at); above; above = tree_.parent_of(at)) {
            const bool borrows_for_it =
                std::any_of(needs.begin(), needs.end(),
                            [&](const Share& need) { return borrows(tree_, at, need.what); });
            shares[{member, *above}] = {borrowed_share(tree_, at), borrows_for_it};
            at = *above;
        }
        for (const Share& need : needs)
            tree_.remove_usage(nominee.node, need.what, need.amount);
    }
    return shares;
}

bool Turns::wins(std::size_t a, std::size_t b, QuotaNode cohort, const Shares& shares) const {
    const Standing& left = shares.at({a, cohort});
    const Standing& right = shares.at({b, cohort});
    if (left.borrows_for_it != right.borrows_for_it) return right.borrows_for_it;
    const auto order = compare(left.share, right.share);
    return order != 0 ? order < 0 : of(a).turn < of(b).turn;
}

}  // namespace muster::decide

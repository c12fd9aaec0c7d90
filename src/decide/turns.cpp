// decide/turns.cpp - sorting, and the tournaments of fair sharing.
#include "decide/turns.h"

#include <algorithm>

namespace muster::decide {

Turns::Turns(const World& world, QuotaTree& tree, const std::vector<Nominee>& nominees)
    : world_(world), tree_(tree), nominees_(nominees) {
    for (std::size_t i = 0; i < nominees.size(); ++i)
        left_[nominees[i].root].push_back(i);
    for (auto& [root, members] : left_) {
        std::sort(members.begin(), members.end(),
                  [this](std::size_t a, std::size_t b) { return goes_before(a, b); });
    }
}

bool Turns::goes_before(std::size_t a, std::size_t b) const {
    const Nominee& left = nominees_[a];
    const Nominee& right = nominees_[b];
    if (left.attempt.fit.borrowing_level != right.attempt.fit.borrowing_level) {
        return left.attempt.fit.borrowing_level < right.attempt.fit.borrowing_level;
    }
    return left.turn < right.turn;
}

std::optional<std::size_t> Turns::next() {
    for (const auto& [root, members] : left_) {
        if (!winners_.contains(root)) winners_[root] = winner(members);
    }
    const auto first = std::min_element(
        winners_.begin(), winners_.end(),
        [this](const auto& a, const auto& b) { return goes_before(a.second, b.second); });
    if (first == winners_.end()) return std::nullopt;
    const auto [root, chosen] = *first;
    winners_.erase(first);
    const auto members = left_.find(root);
    std::erase(members->second, chosen);
    if (members->second.empty()) left_.erase(members);
    return chosen;
}

std::size_t Turns::winner(const std::vector<std::size_t>& members) {
    if (!world_.options.fair_sharing || members.size() == 1) return members.front();
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
        enter(nominees_[member].node, member);
    std::size_t last = members.front();
    for (auto at = best.begin(); at != best.end(); ++at) {
        last = at->second;
        enter(at->first.second, last);
    }
    return last;
}

// The shares of all nodes from each queue up, as they would be with its nominee admitted.
Turns::Shares Turns::measure(const std::vector<std::size_t>& members) {
    Shares shares;
    for (const std::size_t member : members) {
        const Nominee& nominee = nominees_[member];
        const std::vector<Share> needs = nominee.attempt.fit.total();
        for (const Share& need : needs)
            tree_.add_usage(nominee.node, need.what, need.amount);
        QuotaNode at = nominee.node;
        for (auto above = tree_.parent_of(at); above; above = tree_.parent_of(at)) {
            shares[{member, *above}] = borrowed_share(tree_, at);
            at = *above;
        }
        for (const Share& need : needs)
            tree_.remove_usage(nominee.node, need.what, need.amount);
    }
    return shares;
}

bool Turns::wins(std::size_t a, std::size_t b, QuotaNode cohort, const Shares& shares) const {
    const auto wanted = [this](std::size_t member) {
        std::vector<FlavorResource> all;
        for (const Share& need : nominees_[member].attempt.fit.total())
            all.push_back(need.what);
        return all;
    };
    const BorrowedShare& left = shares.at({a, cohort});
    const BorrowedShare& right = shares.at({b, cohort});
    const bool left_borrows = left.borrows_any_of(wanted(a));
    const bool right_borrows = right.borrows_any_of(wanted(b));
    if (left_borrows != right_borrows) return right_borrows;
    const auto order = compare(left, right);
    return order != 0 ? order < 0 : nominees_[a].turn < nominees_[b].turn;
}

}  // namespace muster::decide

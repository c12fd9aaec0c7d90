// decide/quota/tree.cpp - Kueue's arithmetic of nominal quotas, lending and borrowing limits.
#include "decide/quota/tree.h"

#include <algorithm>
#include <map>

namespace muster::decide {

QuotaNode QuotaTree::add() {
    const auto node = static_cast<QuotaNode>(nodes_.size());
    nodes_.emplace_back();
    nodes_.back().root = node;
    return node;
}

void QuotaTree::set_parent(QuotaNode node, std::optional<QuotaNode> parent) {
    nodes_[index(node)].wanted_parent = parent;
}

void QuotaTree::set_quotas(QuotaNode node, const Quotas& quotas) {
    auto& cells = nodes_[index(node)].cells;
    for (auto& [what, cell] : cells)
        cell.quota = {};
    for (const auto& [what, quota] : quotas)
        cell(node, what).quota = quota;
    std::erase_if(cells, [](const auto& entry) {
        return entry.second.quota == Quota{} && entry.second.held == Amount{};
    });
}

void QuotaTree::settle() {
    find_circles();
    for (Entry& entry : nodes_) {
        entry.height = 0;
        entry.children.clear();
        entry.lendable.clear();
        for (auto& [what, cell] : entry.cells) {
            cell.subtree = cell.quota.nominal;
            cell.usage = cell.held;
        }
    }
    const std::vector<QuotaNode> order = children_first();
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
        Entry& entry = nodes_[index(*node)];
        entry.root = entry.parent ? root_of(*entry.parent) : *node;
    }
    for (const QuotaNode node : order) {
        const Entry& entry = nodes_[index(node)];
        if (!entry.parent) continue;
        Entry& above = nodes_[index(*entry.parent)];
        above.height = std::max(above.height, entry.height + 1);
        above.children.push_back(node);
        for (const auto& [what, below] : entry.cells) {
            Cell& sum = cell(*entry.parent, what);
            sum.subtree += below.subtree - local(below);
            sum.usage += std::max(Amount{}, below.usage - local(below));
        }
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!nodes_[i].children.empty()) find_lendable(static_cast<QuotaNode>(i));
    }
}

// The root knows every flavor and resource of its tree.
void QuotaTree::find_lendable(QuotaNode cohort) {
    std::map<ResourceId, Amount> sums;
    for (const auto& [what, cell] : nodes_[index(root_of(cohort))].cells)
        sums[what.resource] += potential(cohort, what);
    nodes_[index(cohort)].lendable.assign(sums.begin(), sums.end());
}

Amount QuotaTree::lendable(QuotaNode cohort, ResourceId resource) const {
    for (const auto& [known, amount] : nodes_[index(cohort)].lendable) {
        if (known == resource) return amount;
    }
    return {};
}

Amount QuotaTree::available(QuotaNode node, FlavorResource what) const {
    const Cell* found = find(node, what);
    const auto parent = nodes_[index(node)].parent;
    if (!parent) return found == nullptr ? Amount{} : found->subtree - found->usage;
    const Reach own = found == nullptr ? Reach{} : reach(*found);
    return own.unused + std::min(available(*parent, what), own.most);
}

QuotaTree::Reach QuotaTree::reach(QuotaNode node, FlavorResource what) const {
    const Cell* found = find(node, what);
    return found == nullptr ? Reach{} : reach(*found);
}

QuotaTree::Reach QuotaTree::reach(const Cell& cell) {
    const Amount own = local(cell);
    Reach made{std::max(Amount{}, own - cell.usage), unlimited()};
    if (cell.quota.borrowing_limit) {
        const Amount shared = cell.subtree - own;
        const Amount used_above = std::max(Amount{}, cell.usage - own);
        made.most = shared - used_above + *cell.quota.borrowing_limit;
    }
    return made;
}

Amount QuotaTree::potential(QuotaNode node, FlavorResource what) const {
    const Cell* found = find(node, what);
    const Cell cell = found == nullptr ? Cell{} : *found;
    const auto parent = nodes_[index(node)].parent;
    if (!parent) return cell.subtree;
    const Amount most = local(cell) + potential(*parent, what);
    if (!cell.quota.borrowing_limit) return most;
    return std::min(most, cell.subtree + *cell.quota.borrowing_limit);
}

QuotaTree::Room QuotaTree::lowest_room(QuotaNode node, FlavorResource what, Amount amount) const {
    Amount rest = amount;
    while (true) {
        const Entry& entry = nodes_[index(node)];
        if (!entry.parent || !borrows_with(node, what, rest)) {
            return {entry.height, entry.parent.has_value()};
        }
        rest -= unused_local(node, what);
        node = *entry.parent;
    }
}

Amount QuotaTree::unused_local(QuotaNode node, FlavorResource what) const {
    const Cell* found = find(node, what);
    return found == nullptr ? Amount{} : std::max(Amount{}, local(*found) - found->usage);
}

void QuotaTree::add_usage(QuotaNode node, FlavorResource what, Amount amount) {
    cell(node, what).held += amount;
    raise(node, what, amount);
}

void QuotaTree::remove_usage(QuotaNode node, FlavorResource what, Amount amount) {
    cell(node, what).held -= amount;
    lower(node, what, amount);
}

void QuotaTree::raise(QuotaNode node, FlavorResource what, Amount amount) {
    Cell& here = cell(node, what);
    const Amount unused = std::max(Amount{}, local(here) - here.usage);
    here.usage += amount;
    const auto parent = nodes_[index(node)].parent;
    if (parent && amount > unused) raise(*parent, what, amount - unused);
}

void QuotaTree::lower(QuotaNode node, FlavorResource what, Amount amount) {
    Cell& here = cell(node, what);
    const Amount stored_above = here.usage - local(here);
    here.usage -= amount;
    const auto parent = nodes_[index(node)].parent;
    if (parent && stored_above > Amount{}) lower(*parent, what, std::min(amount, stored_above));
}

Amount QuotaTree::usage(QuotaNode node, FlavorResource what) const {
    const Cell* found = find(node, what);
    return found == nullptr ? Amount{} : found->usage;
}

Amount QuotaTree::subtree(QuotaNode node, FlavorResource what) const {
    const Cell* found = find(node, what);
    return found == nullptr ? Amount{} : found->subtree;
}

Quota QuotaTree::quota(QuotaNode node, FlavorResource what) const {
    const Cell* found = find(node, what);
    return found == nullptr ? Quota{} : found->quota;
}

std::vector<FlavorResource> QuotaTree::known(QuotaNode node) const {
    std::vector<FlavorResource> all;
    for (const auto& [what, cell] : nodes_[index(node)].cells)
        all.push_back(what);
    return all;
}

const QuotaTree::Cell* QuotaTree::find(QuotaNode node, FlavorResource what) const {
    const auto& cells = nodes_[index(node)].cells;
    const auto found = std::lower_bound(
        cells.begin(), cells.end(), what,
        [](const auto& entry, FlavorResource wanted) { return entry.first < wanted; });
    return found == cells.end() || found->first != what ? nullptr : &found->second;
}

QuotaTree::Cell& QuotaTree::cell(QuotaNode node, FlavorResource what) {
    auto& cells = nodes_[index(node)].cells;
    const auto found = std::lower_bound(
        cells.begin(), cells.end(), what,
        [](const auto& entry, FlavorResource wanted) { return entry.first < wanted; });
    if (found != cells.end() && found->first == what) return found->second;
    return cells.insert(found, {what, Cell{}})->second;
}

Amount within_limits(Amount wanted, const Quota& quota, Amount used, bool borrows) {
    if (!borrows) {
        wanted = std::min(wanted, quota.nominal - used);
    } else if (quota.borrowing_limit) {
        wanted = std::min(wanted, quota.nominal + *quota.borrowing_limit - used);
    }
    return std::max(Amount{}, wanted);
}

// The part that is never lent.
Amount QuotaTree::local(const Cell& cell) {
    if (!cell.quota.lending_limit) return {};
    return std::max(Amount{}, cell.subtree - *cell.quota.lending_limit);
}

void QuotaTree::find_circles() {
    const std::size_t count = nodes_.size();
    for (std::size_t i = 0; i < count; ++i) {
        // Floyd's two walkers, so that a path into a circle is told from being on it.
        const auto step = [&](std::optional<QuotaNode> at) {
            return at ? nodes_[index(*at)].wanted_parent : at;
        };
        const auto start = static_cast<QuotaNode>(i);
        std::optional<QuotaNode> slow = start;
        std::optional<QuotaNode> fast = start;
        do {
            slow = step(slow);
            fast = step(step(fast));
        } while (fast && slow != fast);
        nodes_[i].in_circle = fast.has_value();
        nodes_[i].parent = nodes_[i].in_circle ? std::nullopt : nodes_[i].wanted_parent;
    }
}

std::vector<QuotaNode> QuotaTree::children_first() const {
    std::vector<std::pair<std::int64_t, QuotaNode>> by_depth;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        std::int64_t depth = 0;
        for (auto at = nodes_[i].parent; at; at = nodes_[index(*at)].parent)
            ++depth;
        by_depth.emplace_back(-depth, static_cast<QuotaNode>(i));
    }
    std::sort(by_depth.begin(), by_depth.end());
    std::vector<QuotaNode> order;
    for (const auto& [depth, node] : by_depth)
        order.push_back(node);
    return order;
}

}  // namespace muster::decide

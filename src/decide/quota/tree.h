// decide/quota/tree.h - the tree of queues and cohorts: who may use how much, of whose quota.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "decide/ids.h"
#include "decide/workload.h"

namespace muster::decide {

/// A queue or a cohort in the tree.
enum class QuotaNode : std::uint32_t {};

/// Quotas and usage per flavor and resource. A node's subtree quota is its own nominal quota and
/// what its children lend; of its usage, what exceeds the part that it never lends counts at its
/// parent as well. Usage at a node always equals the sum of what is held below it.
class QuotaTree {
public:
    using Quotas = std::vector<std::pair<FlavorResource, Quota>>;

    QuotaNode add();
    void set_parent(QuotaNode node, std::optional<QuotaNode> parent);
    void set_quotas(QuotaNode node, const Quotas& quotas);
    void set_weight(QuotaNode node, FairWeight weight) { nodes_[index(node)].weight = weight; }

    /// Makes changes of parents and quotas felt. Requires: called after them, before any question.
    /// Nodes that are their own ancestors have no parent until the circle is cut.
    void settle();

    bool in_circle(QuotaNode node) const { return nodes_[index(node)].in_circle; }
    QuotaNode root_of(QuotaNode node) const { return nodes_[index(node)].root; }
    std::optional<QuotaNode> parent_of(QuotaNode node) const { return nodes_[index(node)].parent; }
    const std::vector<QuotaNode>& children_of(QuotaNode node) const {
        return nodes_[index(node)].children;
    }
    FairWeight weight_of(QuotaNode node) const { return nodes_[index(node)].weight; }

    /// What the node may still take; negative after quotas were cut below what is used.
    Amount available(QuotaNode node, FlavorResource what) const;
    /// Of a node with a parent: it may take what it never lends and does not use, and of what the
    /// parent may still take no more than `most`.
    struct Reach {
        Amount unused;
        Amount most = unlimited();
    };
    Reach reach(QuotaNode node, FlavorResource what) const;

    /// What it could take if nobody used anything.
    Amount potential(QuotaNode node, FlavorResource what) const;

    /// The lowest subtree around the node whose own quota has room for the amount besides what is
    /// used; when none has, the whole tree. Height 0: the node itself.
    struct Room {
        std::int64_t height = 0;
        bool below_root = false;
    };
    Room lowest_room(QuotaNode node, FlavorResource what, Amount amount) const;

    /// It uses no more than its subtree's quota.
    bool within_nominal(QuotaNode node, FlavorResource what) const {
        return usage(node, what) <= subtree(node, what);
    }
    /// With that much more it would use more than its subtree's quota.
    bool borrows_with(QuotaNode node, FlavorResource what, Amount amount) const {
        return usage(node, what) + amount > subtree(node, what);
    }
    /// What is left of the part that is never lent.
    Amount unused_local(QuotaNode node, FlavorResource what) const;

    /// Of a resource the sum over all flavors that the cohort could give to one of its members.
    Amount lendable(QuotaNode cohort, ResourceId resource) const;

    void add_usage(QuotaNode node, FlavorResource what, Amount amount);
    void remove_usage(QuotaNode node, FlavorResource what, Amount amount);

    Amount usage(QuotaNode node, FlavorResource what) const;
    Amount subtree(QuotaNode node, FlavorResource what) const;
    Amount nominal(QuotaNode node, FlavorResource what) const { return quota(node, what).nominal; }
    Quota quota(QuotaNode node, FlavorResource what) const;
    /// Every flavor and resource with a quota or a usage at the node.
    std::vector<FlavorResource> known(QuotaNode node) const;
    /// Calls `visit(what, usage, subtree)` for each of them.
    template <class Visit>
    void visit(QuotaNode node, const Visit& visit) const {
        for (const auto& [what, cell] : nodes_[index(node)].cells)
            visit(what, cell.usage, cell.subtree);
    }

private:
    struct Cell {
        Quota quota;
        Amount subtree;
        Amount held;   // By the node itself.
        Amount usage;  // And by its children, as far as it counts here.
    };
    struct Entry {
        std::optional<QuotaNode> wanted_parent;
        std::optional<QuotaNode> parent;  // As asked for, unless that closes a circle.
        QuotaNode root{};
        bool in_circle = false;
        std::int64_t height = 0;
        FairWeight weight;
        std::vector<QuotaNode> children;
        std::vector<std::pair<FlavorResource, Cell>> cells;   // By flavor and resource.
        std::vector<std::pair<ResourceId, Amount>> lendable;  // Of those with children.
    };

    const Cell* find(QuotaNode node, FlavorResource what) const;
    Cell& cell(QuotaNode node, FlavorResource what);
    static Amount local(const Cell& cell);
    static Reach reach(const Cell& cell);
    void raise(QuotaNode node, FlavorResource what, Amount amount);
    void lower(QuotaNode node, FlavorResource what, Amount amount);
    void find_circles();
    void find_lendable(QuotaNode cohort);
    std::vector<QuotaNode> children_first() const;

    std::vector<Entry> nodes_;
};

/// Of what it wants and does not fit, the part that the quota and the borrowing limit of whoever
/// has used so much would leave it.
Amount within_limits(Amount wanted, const Quota& quota, Amount used, bool borrows);

}  // namespace muster::decide

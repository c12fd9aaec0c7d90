// decide/changed_trees.cpp - finds the queues that something concerns, and by them the trees.
#include "decide/changed_trees.h"

#include <algorithm>

namespace muster::decide {

namespace {

/// `concerns` is asked about each queue that exists.
template <class Concerns>
void change_trees_of(World& world, const Concerns& concerns) {
    world.structure_changed = true;
    for (std::size_t i = 1; i < world.queues.size(); ++i) {
        const auto id = static_cast<QueueId>(i);
        const QueueEntry& entry = world.queues[i];
        if (entry.spec && concerns(id, entry)) world.trees_changed.insert(entry.plan.node);
    }
}

}  // namespace

void change_tree(World& world, QuotaNode node) {
    world.structure_changed = true;
    world.trees_changed.insert(node);
    if (const auto parent = world.tree.parent_of(node)) world.trees_changed.insert(*parent);
}

void change_trees_with_flavor(World& world, FlavorId flavor) {
    change_trees_of(world, [&](QueueId, const QueueEntry& entry) {
        const auto& groups = entry.plan.groups;
        return std::any_of(groups.begin(), groups.end(), [&](const GroupPlan& group) {
            return std::count(group.flavors.begin(), group.flavors.end(), flavor) > 0;
        });
    });
}

void change_trees_with_topology(World& world, const std::string& topology) {
    const auto has_it = [&](FlavorId flavor) {
        const auto& spec = world.book.spec(flavor);
        return spec && spec->topology == topology;
    };
    change_trees_of(world, [&](QueueId, const QueueEntry& entry) {
        const auto& groups = entry.plan.groups;
        return std::any_of(groups.begin(), groups.end(), [&](const GroupPlan& group) {
            return std::any_of(group.flavors.begin(), group.flavors.end(), has_it);
        });
    });
}

void change_trees_with_check(World& world, const std::string& check) {
    change_trees_of(world, [&](QueueId, const QueueEntry& entry) {
        const auto& rules = entry.spec->checks;
        return std::any_of(rules.begin(), rules.end(),
                           [&](const CheckRule& rule) { return rule.name == check; });
    });
}

}  // namespace muster::decide

// decide/fit/flavor_plan.h - what of a shape's chances in a queue does not change with what is
// used: which flavors its pods may have, in which order, and how much of each resource they need.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "decide/change.h"
#include "decide/decision.h"
#include "decide/fit/shape.h"
#include "decide/ids.h"
#include "decide/place/topology_book.h"
#include "decide/quota/tree.h"

namespace muster::decide {

struct FlavorBook;
struct QueuePlan;

/// Made once for a shape and a queue, good until queues, flavors or topologies change.
struct FlavorPlan {
    using Requests = std::vector<std::pair<ResourceId, Amount>>;

    /// A flavor of a resource group, and why the pods may not have it.
    struct Option {
        FlavorId flavor{};
        bool allowed = false;
        std::optional<Obstacle> obstacle = {};  // With one that is not allowed there may be none.
    };
    /// What is looked at in one go: a resource group, or a resource that has none.
    struct Choice {
        std::optional<std::size_t> group;
        std::vector<ResourceId> resources;  // Of those that the pods need.
        std::vector<Amount> least;          // Of each, with as few pods as may start.
        std::vector<Option> options;        // The flavors of the group in their order.
    };
    /// Pod sets that get the same flavors. Choices come in Kueue's order, that of a hash of names.
    struct Joint {
        std::vector<std::size_t> members;
        std::vector<Choice> choices;
    };

    std::vector<Requests> requests;  // Of one pod of each pod set; with "pods" where those count.
    std::vector<Joint> joints;
    /// A search that finds nothing has tried everything: no flavors are left for another time.
    bool is_simple = true;

    /// What the members of a joint need of a resource with so many pods of each pod set.
    Amount needed(const Joint& joint, ResourceId resource,
                  const std::vector<std::int64_t>& counts) const;
    /// Whatever is free, it is the same that it lacks.
    bool has_one_choice() const {
        return joints.size() == 1 && joints.front().choices.size() == 1 &&
               joints.front().choices.front().options.size() == 1;
    }
};

FlavorPlan plan_flavors(const FlavorBook& book, const QueuePlan& queue,
                        const TopologyBook* topologies, const Shape& shape);

/// What a queue could take of each flavor and resource at this moment, each worked out once.
class Headroom {
public:
    Headroom(const QuotaTree& tree, QuotaNode node) : tree_(&tree), node_(node) {}
    Amount of(FlavorResource what);

private:
    const QuotaTree* tree_;
    QuotaNode node_;
    std::vector<std::pair<FlavorResource, Amount>> known_;
};

/// False when it fits in no way for certain. What one pod set takes from another is left out, so
/// true is not certain.
bool may_fit(const FlavorPlan& plan, Options::Undeclared undeclared, Headroom& free);

}  // namespace muster::decide

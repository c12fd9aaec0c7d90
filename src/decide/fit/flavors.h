// decide/fit/flavors.h - which flavor each resource of each pod set comes from, or why from none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "decide/decision.h"
#include "decide/fit/shape.h"
#include "decide/ids.h"
#include "decide/quota/tree.h"

namespace muster::decide {

/// The resources and flavors that have names, and what the flavors are.
struct FlavorBook {
    Names<ResourceId> resources;
    Names<FlavorId> flavors;
    std::vector<std::optional<Flavor>> specs;  // By FlavorId; absent: named, but does not exist.

    FlavorId id_of(std::string_view flavor);
    const std::optional<Flavor>& spec(FlavorId flavor) const { return specs[index(flavor)]; }
};

/// One resource group of a queue in ids.
struct GroupPlan {
    std::vector<ResourceId> resources;
    std::vector<FlavorId> flavors;
    std::set<std::string, std::less<>> label_keys;  // What its flavors tell nodes apart by.
};

struct QueuePlan {
    QuotaNode node{};
    std::vector<GroupPlan> groups;
    std::optional<ResourceId> pods;  // When a group covers the number of pods.
};

/// An amount of one resource from one flavor, for all pods of a pod set.
struct Share {
    FlavorResource what;
    Amount amount;
};

struct PodSetFit {
    std::int64_t count = 0;
    std::vector<Share> shares;
};

/// A fit for a whole workload: whole, and within what is available.
struct Fit {
    std::vector<PodSetFit> pod_sets;
    std::int64_t borrowing_level = 0;  // The highest of its shares.
};

/// Why there is none.
struct NoFit {
    WaitReason::Rule rule = WaitReason::Rule::quota;
    std::vector<Obstacle> obstacles;
};

/// Exactly one of the two is set.
struct FitAnswer {
    std::optional<Fit> fit;
    NoFit no_fit;
};

/// Assigns flavors pod set by pod set: of each resource group touched, the first flavor that pods
/// tolerate and select and that has all resources. Stops at the first pod set that fits nowhere.
FitAnswer choose_flavors(const QuotaTree& tree, const FlavorBook& book, const QueuePlan& plan,
                         const Shape& shape);

/// True while every share, summed per flavor and resource, is available.
bool still_fits(const QuotaTree& tree, QuotaNode node, const Fit& fit);

}  // namespace muster::decide

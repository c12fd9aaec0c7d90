// decide/fit/flavors.h - which flavor each resource of each pod set comes from, or why from none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "decide/change.h"
#include "decide/decision.h"
#include "decide/fit/flavor_plan.h"
#include "decide/fit/shape.h"
#include "decide/ids.h"
#include "decide/place/topology_book.h"
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
};

struct QueuePlan {
    QuotaNode node{};
    std::vector<GroupPlan> groups;
    std::optional<ResourceId> pods;  // When a group covers the number of pods.
    Preemption preemption;
    FlavorFungibility fungibility;
    bool in_cohort = false;  // The queue names one.

    bool preempts() const {
        return preemption.within_queue != Preemption::WithinQueue::never ||
               preemption.reclaim_within_cohort != Preemption::Reclaim::never;
    }
    /// Some resource comes from one of several flavors.
    bool has_alternatives() const {
        return std::any_of(groups.begin(), groups.end(),
                           [](const GroupPlan& group) { return group.flavors.size() > 1; });
    }
    /// Equal needs of another priority are tried apart: they may preempt others, or meet others in
    /// the cohort in another round.
    bool tells_priorities_apart() const { return in_cohort || preempts(); }
};

/// An amount of one resource from one flavor, for all pods of a pod set.
struct Share {
    FlavorResource what;
    Amount amount;
};

struct PodSetFit {
    std::int64_t count = 0;
    std::vector<Share> shares;
    std::optional<TopologyAssignment> places = {};  // In the topology of its flavor, if any.
};

/// Flavors for a whole workload.
struct Fit {
    std::vector<PodSetFit> pod_sets;
    std::int64_t borrowing_level = 0;  // The highest of its shares.

    /// Summed per flavor and resource, without zeros.
    std::vector<Share> total() const;
};

/// Why there is none.
struct NoFit {
    WaitReason::Rule rule = WaitReason::Rule::quota;
    std::optional<WaitReason::Rule> named = {};  // See WaitReason.
    std::vector<Obstacle> obstacles;
};

/// The flavor with which the search begins next time, by pod set and resource group; those that
/// begin at the first one are not in it.
using FlavorMemory = std::map<std::pair<std::size_t, std::size_t>, std::size_t>;

/// What preemption could do for one resource of one flavor alone.
struct PreemptionOutlook {
    enum class Grade { no_candidates, preempt, reclaim };
    Grade grade = Grade::no_candidates;
    std::int64_t borrowing_level = 0;  // When the victims have gone.
};

/// What flavors are searched with.
struct FlavorSearch {
    enum class Obstacles { told, left_out };
    const QuotaTree& tree;
    const FlavorBook& book;
    const QueuePlan& queue;
    const FlavorPlan& plan;  // Of the queue and the shape.
    const Options& options;
    /// Asked only about what is not free now. It may change the tree while it runs.
    std::function<PreemptionOutlook(FlavorResource, Amount)> outlook;
    const FlavorMemory* memory = nullptr;  // Null: every search begins at the first flavor.
    const Fit* pinned = nullptr;           // Not null: only the flavors of this fit count.
    /// A flavor that fits by borrowing for one resource and by preemption for another may count as
    /// a fit that is not free yet; see FlavorAnswer::waits_to_be_free.
    bool patient = false;
    Obstacles obstacles = Obstacles::told;  // What stands in the way is told in words, or not.
};

struct FlavorAnswer {
    enum class Mode { no_fit, preempt, fit };
    Mode mode = Mode::no_fit;
    Fit fit;                                // With no_fit only the pod sets before the failing one.
    std::vector<FlavorResource> contested;  // With preempt: what is not free now.
    NoFit no_fit;                           // Unless it fits.
    bool waits_to_be_free = false;          // With fit: it is preferred, but not all of it is free.
    FlavorMemory memory;                    // Not empty: flavors are left to be tried.
};

/// Assigns flavors pod set by pod set, for `counts` pods of each: of each resource group touched
/// the best flavor that pods tolerate and select, as far as the queue's fungibility lets the search
/// go. Stops at the first group of a pod set that fits nowhere.
FlavorAnswer choose_flavors(const FlavorSearch& search, const Shape& shape,
                            const std::vector<std::int64_t>& counts);

/// True while every share, summed per flavor and resource, is available.
bool still_fits(const QuotaTree& tree, QuotaNode node, const Fit& fit);

}  // namespace muster::decide

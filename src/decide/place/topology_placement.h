// decide/place/topology_placement.h - finds the domains for one pod set, or for a leader and its
// workers, in one forest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "decide/ids.h"
#include "decide/place/pod.h"
#include "decide/place/topology.h"
#include "decide/place/topology_forest.h"

namespace muster::decide {

/// One pod set that wants a place.
struct TopologyNeed {
    std::string pod_set;
    TopologyRequest request;  // One that asks for nothing means: any room.
    std::int64_t count = 0;
    Amounts per_pod;  // With one of "pods".
    const PodShape* pod = nullptr;
};

/// Where, and under which assumptions.
struct TopologyQuery {
    /// `empty`: nothing is taken but what is promised here; what preemption could reach at best.
    enum class Assume { as_it_is, empty };
    const TopologyForest& forest;
    const Names<ResourceId>& resources;
    const std::vector<Toleration>& tolerations;  // The flavor's.
    TopologyProfile profile;
    Assume assume = Assume::as_it_is;
    std::map<TopologyForest::Index, Amounts> promised;  // To pod sets of the same workload.
    /// Only leaves under this domain of this level.
    std::optional<std::pair<std::size_t, TopologyForest::Index>> within;
};

/// Pods by leaf, in the order of the leaves; no zeros.
using TopologyPlaces = std::vector<std::pair<TopologyForest::Index, std::int64_t>>;

struct TopologyFound {
    TopologyPlaces workers;
    TopologyPlaces leader;  // Empty without one.
};

/// Kueue's two phases: what fits is counted up from the leaves, then domains are chosen down from
/// the requested level. Ties end in the domains' paths. Pods beyond whole slices get no place.
/// Of the refusal, the names of flavor and topology are left to the caller.
std::variant<TopologyFound, TopologyRefusal> place_in_topology(const TopologyQuery& query,
                                                               const TopologyNeed& workers,
                                                               const TopologyNeed* leader);

}  // namespace muster::decide

// decide/place/groups.h - which flavors with topologies may share nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "decide/workload.h"

namespace muster::decide {

/// Flavors that may share nodes, directly or through others.
enum class PlaceGroup : std::uint32_t {};

/// In the order of `flavors`; absent: it does not exist, or has no topology. A node that serves two
/// flavors has the labels of both: where these contradict each other there is none.
std::vector<std::optional<PlaceGroup>> place_groups_of(
    const std::vector<std::optional<Flavor>>& flavors);

/// Whether they have one in common. Requires: both are sorted.
bool have_common(const std::vector<PlaceGroup>& a, const std::vector<PlaceGroup>& b);
bool have_common(const std::vector<PlaceGroup>& a, const std::set<PlaceGroup>& b);

}  // namespace muster::decide

// decide/fit/no_fit.h - which rule is named when a pod set fits nowhere.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "decide/decision.h"

namespace muster::decide {

/// A flavor that does not serve a pod set at all.
struct Dismissed {
    std::size_t group = 0;
    WaitReason::Rule rule = WaitReason::Rule::quota;
};

/// A flavor is as hopeless as its worst obstacle, the workload as its best flavor.
WaitReason::Rule overall(const std::vector<Obstacle>& obstacles);

/// The rule that Kueue names where it is another one: of each group the flavor with the most hope,
/// of those the group with the least, be it satisfied by another flavor or not.
std::optional<WaitReason::Rule> named_instead(WaitReason::Rule rule,
                                              const std::vector<Dismissed>& dismissed);

}  // namespace muster::decide

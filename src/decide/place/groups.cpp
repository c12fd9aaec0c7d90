// decide/place/groups.cpp - flavors by the nodes that they may share.
#include "decide/place/groups.h"

#include <algorithm>

namespace muster::decide {

namespace {

bool may_share_nodes(const Flavor& a, const Flavor& b) {
    return std::all_of(a.node_labels.begin(), a.node_labels.end(), [&](const auto& label) {
        const auto other = b.node_labels.find(label.first);
        return other == b.node_labels.end() || other->second == label.second;
    });
}

}  // namespace

std::vector<std::optional<PlaceGroup>> place_groups_of(
    const std::vector<std::optional<Flavor>>& flavors) {
    std::vector<std::optional<PlaceGroup>> groups(flavors.size());
    for (std::size_t i = 0; i < flavors.size(); ++i) {
        if (!flavors[i] || flavors[i]->topology.empty()) continue;
        groups[i] = static_cast<PlaceGroup>(i);
        for (std::size_t k = 0; k < i; ++k) {
            if (!groups[k] || groups[k] == groups[i] || !may_share_nodes(*flavors[i], *flavors[k]))
                continue;
            std::replace(groups.begin(), groups.end(), groups[k], groups[i]);
        }
    }
    return groups;
}

bool have_common(const std::vector<PlaceGroup>& a, const std::vector<PlaceGroup>& b) {
    auto left = a.begin();
    auto right = b.begin();
    while (left != a.end() && right != b.end()) {
        if (*left == *right) return true;
        *left < *right ? ++left : ++right;
    }
    return false;
}

bool have_common(const std::vector<PlaceGroup>& a, const std::set<PlaceGroup>& b) {
    return std::any_of(a.begin(), a.end(), [&b](PlaceGroup group) { return b.contains(group); });
}

}  // namespace muster::decide

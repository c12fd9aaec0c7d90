// decide/double_admission.cpp - the tree without one workload, and whether it would fit in.
#include "decide/double_admission.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "decide/world.h"

namespace muster::decide {

bool exceeds_what_was_left(const State& state, std::string_view workload) {
    const World& world = state.world();
    const auto id = world.workload_names.find(workload);
    if (!id) return false;
    const WorkloadEntry& entry = world.workload(*id);
    const bool holds = entry.phase == WorkloadEntry::Phase::holding && entry.held != nullptr;
    if (!holds || entry.held->queue == no_queue) return false;
    const Held& held = *entry.held;
    std::map<FlavorResource, Amount> own;
    for (std::size_t i = 0; i < held.pod_sets.size(); ++i) {
        for (const Share& share : world.live_shares(held, i))
            own[share.what] += share.amount;
    }
    const QuotaNode node = world.queue(held.queue).plan.node;
    QuotaTree without = world.tree;
    for (const auto& [what, amount] : own)
        without.remove_usage(node, what, amount);
    return std::any_of(own.begin(), own.end(), [&](const auto& use) {
        const auto& [what, amount] = use;
        return amount > std::max(Amount{}, without.available(node, what));
    });
}

}  // namespace muster::decide

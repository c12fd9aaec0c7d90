// decide/preempt/victims.cpp - the entry to the search for victims.
#include "decide/preempt/victims.h"

#include <algorithm>

#include "decide/preempt/candidates.h"

namespace muster::decide {

std::vector<Victim> find_victims(const Scene& scene, const Preemptor& preemptor,
                                 const Suits& suits) {
    if (!scene.world.queue(preemptor.queue).plan.preempts()) return {};
    return scene.world.options.fair_sharing ? fair_victims(scene, preemptor, suits)
                                            : classical_victims(scene, preemptor, suits);
}

PreemptionOutlook preemption_outlook(const Scene& scene, const Preemptor& preemptor,
                                     const std::vector<Victim>& victims) {
    const QuotaNode node = scene.world.queue(preemptor.queue).plan.node;
    const Share& need = preemptor.needs.front();
    PreemptionOutlook outlook;
    if (victims.empty()) {
        outlook.borrowing_level = scene.tree.lowest_room(node, need.what, need.amount).height;
        return outlook;
    }
    outlook.grade = PreemptionOutlook::Grade::reclaim;
    for (const Victim& victim : victims) {
        const Held& held = *scene.world.workload(victim.workload).held;
        if (held.queue == preemptor.queue) outlook.grade = PreemptionOutlook::Grade::preempt;
    }
    const Removal removal(scene, victims);
    outlook.borrowing_level = scene.tree.lowest_room(node, need.what, need.amount).height;
    return outlook;
}

Removal::Removal(const Scene& scene, const std::vector<Victim>& victims) : tree_(scene.tree) {
    for (const Victim& victim : victims) {
        const Held& held = *scene.world.workload(victim.workload).held;
        for (std::size_t i = 0; i < held.pod_sets.size(); ++i) {
            for (const Share& share : scene.world.live_shares(held, i))
                removed_.emplace_back(scene.world.queue(held.queue).plan.node, share);
        }
    }
    for (const auto& [node, share] : removed_)
        tree_.remove_usage(node, share.what, share.amount);
}

Removal::~Removal() {
    for (const auto& [node, share] : removed_)
        tree_.add_usage(node, share.what, share.amount);
}

}  // namespace muster::decide

// decide/repair.cpp - pods whose node has failed get other places, or their workload has to go.
#include <algorithm>
#include <tuple>
#include <utility>

#include "decide/deciding.h"
#include "decide/fit/places.h"

namespace muster::decide {

namespace {

using Phase = WorkloadEntry::Phase;

bool is_on(const TopologyAssignment& places, const std::string& host) {
    return std::any_of(
        places.domains.begin(), places.domains.end(),
        [&](const TopologyAssignment::Domain& domain) { return domain.values.back() == host; });
}

}  // namespace

// In the order in which they would be admitted. With more than one failed node there is no repair.
void Deciding::repair() {
    std::vector<WorkloadId> hurt;
    for (const WorkloadId id : std::exchange(world.to_repair, {})) {
        const WorkloadEntry& entry = world.workload(id);
        if (entry.phase == Phase::holding && entry.object == WorkloadEntry::Object::exists) {
            hurt.push_back(id);
        }
    }
    std::sort(hurt.begin(), hurt.end(), [&](WorkloadId a, WorkloadId b) {
        const auto turn = [&](WorkloadId id) {
            const WorkloadEntry& entry = world.workload(id);
            return std::tuple(-entry.priority,
                              entry.queued == Time{} ? entry.created : entry.queued,
                              std::string_view(world.name_of(id)));
        };
        return turn(a) < turn(b);
    });
    for (const WorkloadId id : hurt) {
        const std::vector<std::string> failed = world.topologies.failed_hosts(world.name_of(id));
        if (failed.empty() || (failed.size() == 1 && repair(id, failed.front()))) continue;
        Evict evict;
        evict.workload = world.name_of(id);
        evict.reason = Evict::Reason::node_failures;
        evict.node = failed.front();
        mark_evicting(id);
        decision.evicts.push_back(std::move(evict));
    }
}

bool Deciding::repair(WorkloadId id, const std::string& node) {
    const WorkloadEntry& entry = world.workload(id);
    const Shape& shape = world.shapes.of(entry.shape);
    if (shape.pod_sets.size() != entry.held->pod_sets.size()) return false;
    Fit fit;
    fit.pod_sets = entry.held->pod_sets;
    const PlaceWants wants = wants_of(world.book, world.queue(entry.held->queue).plan, shape, fit);
    for (std::size_t i = 0; i < wants.asks.size(); ++i) {
        PodSetFit& held = entry.held->pod_sets[wants.pod_sets[i]];
        if (!held.places || !is_on(*held.places, node)) continue;
        auto places = world.topologies.replace(wants.asks[i], *held.places, node);
        if (auto* found = std::get_if<TopologyAssignment>(&places)) {
            held.places = std::move(*found);
            world.hold_places(id);  // The next pod set finds its places beside these.
        } else {
            return false;
        }
    }
    world.to_repair.erase(id);
    decision.moves.push_back({world.name_of(id), world.assignment(*entry.held)});
    return true;
}

}  // namespace muster::decide

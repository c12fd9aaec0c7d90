// decide/fit/shape.cpp - finds or makes the shape of pod sets.
#include "decide/fit/shape.h"

#include <algorithm>

#include "decide/place/topology.h"

namespace muster::decide {

namespace {

// Labels and namespace matter only to pods that are near to or far from others; without them jobs
// that differ in their generated labels share one shape.
PodSet essence(const PodSet& pod_set) {
    PodSet kept = pod_set;
    if (kept.pod.affinity.empty() && kept.pod.anti_affinity.empty()) {
        kept.pod.labels.clear();
        kept.pod.ns.clear();
    }
    return kept;
}

std::shared_ptr<const Shape> make_shape(const std::vector<PodSet>& pod_sets, Workload::Binds binds,
                                        Names<ResourceId>& resources) {
    auto shape = std::make_shared<Shape>();
    shape->binds = binds;
    for (const PodSet& pod_set : pod_sets) {
        PodSetNeed need;
        need.name = pod_set.name;
        need.count = std::max<std::int64_t>(0, pod_set.count - pod_set.reclaimable);
        need.min_count = std::min(need.count, pod_set.min_count.value_or(need.count));
        need.group = pod_set.group;
        need.topology = pod_set.topology;
        need.only_flavors = pod_set.only_flavors;
        need.pod = std::make_shared<const PodShape>(pod_set.pod);
        for (const auto& [name, amount] : pod_set.counted.value_or(pod_set.pod.requests)) {
            if (name == "pods" || amount.value < 0) continue;
            need.requests.emplace_back(resources.id_of(name), amount);
        }
        shape->pod_sets.push_back(std::move(need));
    }
    std::vector<std::string> names;
    for (const PodSetNeed& need : shape->pod_sets) {
        names.push_back(need.name);
        shape->counts.push_back(need.count);
        shape->asks_for_places |= asks_for_topology(need.topology);
    }
    shape->names = std::make_shared<const std::vector<std::string>>(std::move(names));
    return shape;
}

}  // namespace

ShapeId Shapes::hold(const std::vector<PodSet>& pod_sets, Workload::Binds binds,
                     Names<ResourceId>& resources) {
    auto made = std::make_shared<Key>();
    made->first = binds;
    for (const PodSet& pod_set : pod_sets)
        made->second.push_back(essence(pod_set));
    const std::shared_ptr<const Key> key = std::move(made);
    if (const ShapeId* found = ids_.find(key)) {
        hold_again(*found);
        return *found;
    }
    ShapeId id{};
    if (free_.empty()) {
        id = static_cast<ShapeId>(entries_.size());
        entries_.push_back({});
    } else {
        id = free_.back();
        free_.pop_back();
    }
    entries_.edit(index(id)) = {make_shape(key->second, binds, resources), key, 1};
    ids_.insert(key, id);
    return id;
}

void Shapes::drop(ShapeId shape) {
    Entry& entry = entries_.edit(index(shape));
    VERIFY(entry.uses > 0);
    if (--entry.uses > 0) return;
    ids_.erase(entry.key);
    entry = {};
    free_.push_back(shape);
}

}  // namespace muster::decide

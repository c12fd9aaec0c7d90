// decide/fit/places.cpp - from a fit to what is asked of the topologies, and back.
#include "decide/fit/places.h"

#include <algorithm>

namespace muster::decide {

TopologyBook::Assignments PlaceWants::of(const Fit& fit) const {
    TopologyBook::Assignments places;
    for (const std::size_t pod_set : pod_sets)
        places.push_back(fit.pod_sets[pod_set].places.value_or(TopologyAssignment{}));
    return places;
}

void PlaceWants::put_into(Fit& fit, const TopologyBook::Assignments& places) const {
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
        fit.pod_sets[pod_sets[i]].places.reset();
        if (!places[i].levels.empty()) fit.pod_sets[pod_sets[i]].places = places[i];
    }
}

bool has_only_topologies(const FlavorBook& book, const QueuePlan& plan) {
    bool any = false;
    for (const GroupPlan& group : plan.groups) {
        for (const FlavorId flavor : group.flavors) {
            if (!book.spec(flavor) || book.spec(flavor)->topology.empty()) return false;
            any = true;
        }
    }
    return any;
}

PlaceWants wants_of(const FlavorBook& book, const QueuePlan& plan, const Shape& shape,
                    const Fit& fit) {
    PlaceWants wants;
    const bool all = has_only_topologies(book, plan);
    for (std::size_t i = 0; i < shape.pod_sets.size() && i < fit.pod_sets.size(); ++i) {
        const PodSetNeed& need = shape.pod_sets[i];
        if (!all && !asks_for_topology(need.topology)) continue;
        TopologyAsk ask{need.name,     {},         fit.pod_sets[i].count,
                        need.topology, need.group, need.pod.get()};
        for (const Share& share : fit.pod_sets[i].shares) {
            const auto& spec = book.spec(share.what.flavor);
            if (spec && !spec->topology.empty()) ask.flavor = spec->name;
        }
        wants.pod_sets.push_back(i);
        wants.asks.push_back(std::move(ask));
    }
    return wants;
}

const TopologyBook& PlacesWithout::without(const std::set<std::string>& holders) {
    if (!copy_) {
        if (holders.empty()) return book_;
        copy_ = book_;
    }
    for (const std::string& holder : out_) {
        if (!holders.contains(holder)) copy_->count_in(holder);
    }
    for (const std::string& holder : holders) {
        if (!out_.contains(holder)) copy_->count_out(holder);
    }
    out_ = holders;
    return *copy_;
}

}  // namespace muster::decide

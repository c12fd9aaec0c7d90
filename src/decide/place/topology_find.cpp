// decide/place/topology_find.cpp - places for all pod sets of a workload, and for pods whose node
// has failed.
#include <algorithm>

#include "decide/place/topology_book.h"

namespace muster::decide {

namespace {

using Rule = TopologyRefusal::Rule;
using Domain = std::pair<std::size_t, TopologyForest::Index>;

TopologyRefusal refusal_of(Rule rule) {
    TopologyRefusal made;
    made.rule = rule;
    return made;
}

/// Pod sets that get their places together.
struct Group {
    std::size_t workers = 0;
    std::optional<std::size_t> leader;
    std::vector<std::size_t> members;  // In the order asked for.
};

std::vector<Group> groups_of(const std::vector<TopologyAsk>& asks) {
    std::vector<Group> groups;
    for (std::size_t i = 0; i < asks.size(); ++i) {
        if (asks[i].count <= 0) continue;
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
            const TopologyAsk& other = asks[group.members.front()];
            return !asks[i].group.empty() && other.group == asks[i].group &&
                   other.flavor == asks[i].flavor;
        });
        if (same == groups.end()) {
            groups.push_back({i, std::nullopt, {i}});
        } else {
            same->members.push_back(i);
        }
    }
    for (Group& group : groups) {
        if (group.members.size() < 2) continue;
        const bool turned = asks[group.members[1]].count > asks[group.members[0]].count;
        group.workers = group.members[turned ? 1 : 0];
        group.leader = group.members[turned ? 0 : 1];
    }
    return groups;
}

bool asks_for_slices(const TopologyRequest& request) {
    return !request.slices.empty() && request.slices.front().size > 0;
}

TopologyForest::Index ancestor(const TopologyForest& forest, TopologyForest::Index leaf,
                               std::size_t level) {
    for (std::size_t at = forest.levels().size() - 1; at > level; --at)
        leaf = forest.domains(at)[leaf].parent;
    return leaf;
}

/// The domain of the layer in which `lost` pods complete a slice; the first by path.
std::optional<Domain> broken_slice(const TopologyForest& forest,
                                   const TopologyRequest::Slice& layer, std::int64_t lost,
                                   const TopologyPlaces& rest) {
    const auto level = forest.level_of(layer.level);
    if (!level) return std::nullopt;
    std::map<TopologyForest::Index, std::int64_t> pods;
    for (const auto& [leaf, count] : rest)
        pods[ancestor(forest, leaf, *level)] += count;
    for (const auto& [domain, count] : pods) {
        if ((count + lost) % layer.size == 0) return Domain{*level, domain};
    }
    return std::nullopt;
}

/// What pods that leave their slices incomplete ask for: the innermost layer that they fill.
TopologyRequest part_of_slice(const TopologyRequest& request, std::int64_t lost) {
    TopologyRequest part = request;
    part.slices.clear();
    for (auto layer = request.slices.rbegin(); layer != request.slices.rend(); ++layer) {
        if (lost % layer->size != 0) continue;
        if (request.slices.size() > 1) part.slices.push_back(*layer);
        break;
    }
    return part;
}

}  // namespace

bool TopologyBook::has_levels(std::string_view flavor, const TopologyRequest& request) const {
    const auto found = flavors_.find(flavor);
    if (found == flavors_.end() || !found->second.forest) return false;
    const TopologyForest& forest = *found->second.forest;
    if (forest.levels().empty()) return false;
    const bool by_level = request.mode == TopologyRequest::Mode::required ||
                          request.mode == TopologyRequest::Mode::preferred;
    return (!by_level || forest.level_of(request.level)) &&
           std::all_of(request.slices.begin(), request.slices.end(),
                       [&](const auto& slice) { return forest.level_of(slice.level).has_value(); });
}

TopologyNeed TopologyBook::need_of(const TopologyAsk& ask) const {
    return {ask.pod_set, ask.request, ask.count, known_amounts_of(ask.pod->requests), ask.pod};
}

TopologyQuery TopologyBook::query_for(const FlavorEntry& flavor, Assume assume,
                                      const Promised& promised) const {
    TopologyQuery query{*flavor.forest, resources_, flavor.spec.tolerations, profile_, assume, {},
                        std::nullopt};
    for (const auto& [place, amounts] : promised) {
        if (const auto leaf = leaf_at(flavor, place)) query.promised[*leaf] = amounts;
    }
    return query;
}

TopologyAssignment TopologyBook::assignment_of(const FlavorEntry& flavor,
                                               const TopologyPlaces& places) const {
    const TopologyForest& forest = *flavor.forest;
    const auto skip =
        forest.leaves_are_nodes() ? static_cast<std::ptrdiff_t>(forest.levels().size()) - 1 : 0;
    TopologyAssignment made;
    made.levels.assign(forest.levels().begin() + skip, forest.levels().end());
    for (const auto& [leaf, count] : places) {
        const TopologyForest::Path& path = *forest.leaves()[leaf].path;
        made.domains.push_back({{path.begin() + skip, path.end()}, count});
    }
    return made;
}

std::variant<TopologyBook::Assignments, TopologyRefusal> TopologyBook::find(
    const std::vector<TopologyAsk>& asks, Assume assume) const {
    Assignments assignments(asks.size());
    Promised promised;
    for (const Group& group : groups_of(asks)) {
        const TopologyAsk& workers = asks[group.workers];
        const auto refuse = [&](TopologyRefusal refusal) {
            const auto flavor = flavors_.find(workers.flavor);
            refusal.pod_set = workers.pod_set;
            refusal.flavor = workers.flavor;
            if (flavor != flavors_.end()) refusal.topology = flavor->second.spec.topology;
            return refusal;
        };
        const auto flavor = flavors_.find(workers.flavor);
        if (flavor == flavors_.end() || !flavor->second.forest) {
            return refuse(refusal_of(Rule::no_topology));
        }
        if (group.members.size() > 2 || (group.leader && asks[*group.leader].count != 1)) {
            return refuse(refusal_of(Rule::bad_group));
        }
        if (const auto missing = unknown_resource(group.members, asks)) {
            TopologyRefusal refusal = refusal_of(Rule::does_not_fit);
            refusal.wanted = workers.count;
            refusal.excluded.total =
                static_cast<std::int64_t>(flavor->second.forest->leaves().size());
            refusal.excluded.resources[*missing] = refusal.excluded.total;
            return refuse(std::move(refusal));
        }
        const TopologyNeed need = need_of(workers);
        std::optional<TopologyNeed> leader;
        if (group.leader) leader = need_of(asks[*group.leader]);
        auto answer = place_in_topology(query_for(flavor->second, assume, promised), need,
                                        leader ? &*leader : nullptr);
        if (auto* refusal = std::get_if<TopologyRefusal>(&answer)) {
            return refuse(std::move(*refusal));
        }
        const auto& found = std::get<TopologyFound>(answer);
        assignments[group.workers] = assignment_of(flavor->second, found.workers);
        if (group.leader) {
            assignments[*group.leader] = assignment_of(flavor->second, found.leader);
        }
        for (const std::size_t member : group.members) {
            const Amounts per_pod = known_amounts_of(asks[member].pod->requests);
            for (const auto& domain : assignments[member].domains)
                add_to(
                    promised[place_of(workers.flavor, assignments[member].levels, domain.values)],
                    per_pod, domain.count);
        }
    }
    return assignments;
}

std::optional<std::string> TopologyBook::unknown_resource(
    const std::vector<std::size_t>& members, const std::vector<TopologyAsk>& asks) const {
    for (const std::size_t member : members) {
        for (const auto& [name, amount] : asks[member].pod->requests) {
            if (amount.value > 0 && !resources_.find(name)) return name;
        }
    }
    return std::nullopt;
}

bool TopologyBook::fits(const std::vector<TopologyAsk>& asks,
                        const Assignments& assignments) const {
    VERIFY(asks.size() == assignments.size());
    std::map<std::pair<std::string, TopologyForest::Index>, Amounts> sums;
    for (std::size_t i = 0; i < asks.size(); ++i) {
        const auto flavor = flavors_.find(asks[i].flavor);
        if (flavor == flavors_.end() || !flavor->second.forest) return false;
        for (const auto& domain : assignments[i].domains) {
            const auto leaf = leaf_at(
                flavor->second, place_of(asks[i].flavor, assignments[i].levels, domain.values));
            if (!leaf || unknown_resource({i}, asks)) return false;
            add_to(sums[{asks[i].flavor, *leaf}], known_amounts_of(asks[i].pod->requests),
                   domain.count);
        }
    }
    return std::all_of(sums.begin(), sums.end(), [&](const auto& entry) {
        const auto& [where, sum] = entry;
        const TopologyForest& forest = *flavors_.find(where.first)->second.forest;
        for (std::size_t i = 0; i < sum.size(); ++i) {
            if (sum[i].value > 0 &&
                sum[i] > forest.given(where.second, i) - forest.taken(where.second, i)) {
                return false;
            }
        }
        return true;
    });
}

std::variant<TopologyAssignment, TopologyRefusal> TopologyBook::replace(
    const TopologyAsk& ask, const TopologyAssignment& assignment, const std::string& node) const {
    TopologyRefusal refusal = refusal_of(Rule::no_replacement);
    refusal.pod_set = ask.pod_set;
    refusal.flavor = ask.flavor;
    refusal.node = node;
    const auto flavor = flavors_.find(ask.flavor);
    if (flavor == flavors_.end() || !flavor->second.forest ||
        !flavor->second.forest->leaves_are_nodes()) {
        return refusal;
    }
    refusal.topology = flavor->second.spec.topology;
    const TopologyForest& forest = *flavor->second.forest;
    TopologyAsk part = ask;
    part.count = 0;
    TopologyPlaces rest;
    for (const auto& domain : assignment.domains) {
        if (domain.values.back() == node) {
            part.count += domain.count;
            continue;
        }
        const auto leaf =
            leaf_at(flavor->second, place_of(ask.flavor, assignment.levels, domain.values));
        if (!leaf) {
            refusal.rule = Rule::stale;
            refusal.node = domain.values.back();
            return refusal;
        }
        rest.emplace_back(*leaf, domain.count);
    }
    TopologyQuery query = query_for(flavor->second, Assume::as_it_is, {});
    query.within = domain_to_stay_in(forest, ask, part.count, rest);
    if (query.within && asks_for_slices(ask.request) &&
        part.count % ask.request.slices.front().size != 0) {
        part.request = part_of_slice(ask.request, part.count);
    }
    auto answer = place_in_topology(query, need_of(part), nullptr);
    if (auto* found = std::get_if<TopologyRefusal>(&answer)) {
        found->flavor = refusal.flavor;
        found->topology = refusal.topology;
        return std::move(*found);
    }
    const TopologyPlaces& places = std::get<TopologyFound>(answer).workers;
    if (places.empty()) return refusal;
    std::map<TopologyForest::Index, std::int64_t> merged(rest.begin(), rest.end());
    for (const auto& [leaf, count] : places)
        merged[leaf] += count;
    return assignment_of(flavor->second, {merged.begin(), merged.end()});
}

std::optional<Domain> TopologyBook::domain_to_stay_in(const TopologyForest& forest,
                                                      const TopologyAsk& ask, std::int64_t lost,
                                                      const TopologyPlaces& rest) const {
    const TopologyRequest& request = ask.request;
    if (rest.empty()) return std::nullopt;
    if (asks_for_slices(request) && lost % request.slices.front().size != 0) {
        for (auto layer = request.slices.rbegin(); layer != request.slices.rend(); ++layer) {
            if (layer->size > 0 && lost % layer->size != 0) {
                return broken_slice(forest, *layer, lost, rest);
            }
        }
    }
    if (request.mode != TopologyRequest::Mode::required) return std::nullopt;
    const auto level = forest.level_of(request.level);
    if (!level) return std::nullopt;
    return Domain{*level, ancestor(forest, rest.front().first, *level)};
}

}  // namespace muster::decide

// decide/place/topology_count.cpp - phase 1: what a request means for this forest, and how many
// pods and slices fit into each domain.
#include <algorithm>
#include <limits>

#include "decide/place/topology_search.h"

namespace muster::decide {

namespace {

using Mode = TopologyRequest::Mode;
using Rule = TopologyRefusal::Rule;

// Sums over all leaves stay far from the end of int64.
constexpr std::int64_t most_pods = std::numeric_limits<std::int32_t>::max();

TopologyRefusal refusal(Rule rule, std::string level, std::string other_level = {}) {
    TopologyRefusal made;
    made.rule = rule;
    made.level = std::move(level);
    made.other_level = std::move(other_level);
    return made;
}

std::string taint_text(const Taint& taint) {
    const char* effect = taint.effect == Taint::Effect::no_execute ? "NoExecute" : "NoSchedule";
    return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + effect;
}

std::vector<Toleration> joined(const std::vector<Toleration>& a, const std::vector<Toleration>& b) {
    std::vector<Toleration> both = a;
    both.insert(both.end(), b.begin(), b.end());
    return both;
}

}  // namespace

std::optional<TopologyRefusal> TopologySearch::read_request() {
    const TopologyRequest& request = workers.request;
    const auto& levels = forest().levels();
    if (levels.empty()) return refusal(Rule::no_level, {});
    if (!request.slices.empty()) slice_size = request.slices.front().size;
    if (slice_size <= 0) return refusal(Rule::no_slice_size, {});
    required = request.mode == Mode::required;
    unconstrained = !required && request.mode != Mode::preferred;
    if (unconstrained) {
        level = request.slices.empty() ? lowest() : 0;
    } else {
        const auto found = forest().level_of(request.level);
        if (!found) return refusal(Rule::no_level, request.level);
        level = *found;
    }
    slice_level = lowest();
    if (!request.slices.empty()) {
        const std::string& name = request.slices.front().level;
        const auto found = forest().level_of(name);
        if (!found) return refusal(Rule::no_slice_level, name);
        slice_level = *found;
        if (level > slice_level) return refusal(Rule::slice_above_level, name, levels[level]);
    }
    return read_layers();
}

// An inner layer's size holds on every level from below the layer around it down to its own.
std::optional<TopologyRefusal> TopologySearch::read_layers() {
    inner_size.assign(forest().levels().size(), 0);
    std::size_t around = slice_level;
    std::int64_t size_around = slice_size;
    for (std::size_t i = 1; i < workers.request.slices.size(); ++i) {
        const TopologyRequest::Slice& layer = workers.request.slices[i];
        const auto found = forest().level_of(layer.level);
        if (!found) return refusal(Rule::no_layer_level, layer.level);
        if (*found <= around) {
            return refusal(Rule::layer_not_lower, layer.level, forest().levels()[around]);
        }
        if (layer.size <= 0) return refusal(Rule::no_slice_size, layer.level);
        if (size_around % layer.size != 0) {
            TopologyRefusal uneven = refusal(Rule::layer_not_dividing, layer.level);
            uneven.size = layer.size;
            uneven.other_size = size_around;
            return uneven;
        }
        for (std::size_t at = around + 1; at <= *found; ++at)
            inner_size[at] = layer.size;
        around = *found;
        size_around = layer.size;
    }
    return std::nullopt;
}

void TopologySearch::count_leaves() {
    for (std::size_t at = 0; at <= lowest(); ++at)
        rooms.emplace_back(forest().domains(at).size());
    const auto own = joined(workers.pod->tolerations, query.tolerations);
    std::vector<Toleration> leaders;
    if (leader != nullptr) leaders = joined(leader->pod->tolerations, query.tolerations);
    excluded.total = static_cast<std::int64_t>(forest().leaves().size());
    for (Index leaf = 0; leaf < forest().leaves().size(); ++leaf)
        count_leaf(leaf, own, leaders);
}

void TopologySearch::count_leaf(Index leaf, const std::vector<Toleration>& tolerations,
                                const std::vector<Toleration>& leader_tolerations) {
    const Node& node = *forest().leaves()[leaf].nodes.front();
    const bool is_node = forest().leaves_are_nodes();
    if (is_node && !may_hold(node, *workers.pod, tolerations, &excluded)) return;
    if (!is_within(leaf)) {
        ++excluded.other_domain;
        return;
    }
    Amounts left(std::max(workers.per_pod.size(), leader == nullptr ? 0 : leader->per_pod.size()));
    for (std::size_t i = 0; i < left.size(); ++i)
        left[i] = free(leaf, i);
    const auto fits = [&](const Amounts& per_pod, std::optional<std::size_t>* tightest) {
        std::int64_t most = most_pods;
        for (std::size_t i = 0; i < per_pod.size(); ++i) {
            if (per_pod[i].value <= 0) continue;
            const std::int64_t times = std::max<std::int64_t>(0, left[i].value / per_pod[i].value);
            const bool first = tightest != nullptr && !*tightest;
            const bool tie_by_name = tightest != nullptr && *tightest && times == most &&
                                     query.resources.name_of(ResourceId(i)) <
                                         query.resources.name_of(ResourceId(**tightest));
            if (!first && times >= most && !tie_by_name) continue;
            most = std::min(most, times);
            if (tightest != nullptr) *tightest = i;
        }
        return most;
    };
    Room& room = rooms[lowest()][leaf];
    std::optional<std::size_t> tightest;
    room.pods = fits(workers.per_pod, &tightest);
    if (room.pods == 0 && tightest) {
        ++excluded.resources[query.resources.name_of(ResourceId(*tightest))];
    }
    if (leader == nullptr) {
        room.led_pods = room.pods;
    } else if (fits(leader->per_pod, nullptr) > 0 &&
               (!is_node || may_hold(node, *leader->pod, leader_tolerations, nullptr))) {
        room.leaders = 1;
        for (std::size_t i = 0; i < leader->per_pod.size(); ++i)
            left[i] -= leader->per_pod[i];
        room.led_pods = fits(workers.per_pod, nullptr);
    }
}

bool TopologySearch::may_hold(const Node& node, const PodShape& pod,
                              const std::vector<Toleration>& tolerations,
                              TopologyExclusions* why_not) const {
    if (const Taint* taint = untolerated(node.taints, tolerations)) {
        if (why_not != nullptr) ++why_not->taints[taint_text(*taint)];
        return false;
    }
    for (const auto& [key, value] : pod.node_selector) {
        const auto found = node.labels.find(key);
        if (found != node.labels.end() && found->second == value) continue;
        if (why_not != nullptr) ++why_not->selector;
        return false;
    }
    const auto matches_term = [&](const NodeTerm& term) {
        return matches(term, node.labels, node.name);
    };
    if (pod.node_affinity.empty() ||
        std::any_of(pod.node_affinity.begin(), pod.node_affinity.end(), matches_term)) {
        return true;
    }
    if (why_not != nullptr) ++why_not->affinity;
    return false;
}

bool TopologySearch::is_within(Index leaf) const {
    if (!query.within) return true;
    Index domain = leaf;
    for (std::size_t at = lowest(); at > query.within->first; --at)
        domain = forest().domains(at)[domain].parent;
    return domain == query.within->second;
}

Amount TopologySearch::free(Index leaf, std::size_t resource) const {
    Amount left = forest().given(leaf, resource);
    if (query.assume == TopologyQuery::Assume::as_it_is) left -= forest().taken(leaf, resource);
    if (query.promised.empty()) return left;
    const auto promised = query.promised.find(leaf);
    if (promised != query.promised.end() && resource < promised->second.size()) {
        left -= promised->second[resource];
    }
    return left;
}

// Counts the domains [begin, end) of the level `from` and everything above none of them.
void TopologySearch::count_up(Rooms& counted, std::size_t from, Index begin, Index end) const {
    if (from < lowest() && begin < end) {
        const auto& domains = forest().domains(from);
        count_up(counted, from + 1, domains[begin].first_child,
                 domains[end - 1].first_child + domains[end - 1].children);
    }
    for (Index domain = begin; domain < end; ++domain) {
        Room& room = counted[from][domain];
        if (from < lowest()) room = sum_of_children(counted, from, domain);
        if (from != slice_level) continue;
        room.slices = room.pods / slice_size;
        room.led_slices = room.led_pods / slice_size;
    }
}

TopologySearch::Room TopologySearch::sum_of_children(const Rooms& counted, std::size_t at,
                                                     Index domain) const {
    const auto& here = forest().domains(at)[domain];
    const std::int64_t inner = inner_size[at + 1];
    const auto whole = [inner](std::int64_t pods) {
        return inner > 0 ? pods / inner * inner : pods;
    };
    Room sum;
    // The leader sits where it costs the least.
    std::optional<std::int64_t> pods_lost;
    std::optional<std::int64_t> slices_lost;
    for (Index i = here.first_child; i < here.first_child + here.children; ++i) {
        const Room& child = counted[at + 1][i];
        sum.pods += whole(child.pods);
        sum.slices += child.slices;
        sum.leaders = std::max(sum.leaders, child.leaders);
        if (leader != nullptr && child.leaders == 0) continue;
        const std::int64_t pods = whole(child.pods) - whole(child.led_pods);
        const std::int64_t slices = child.slices - child.led_slices;
        pods_lost = pods_lost ? std::min(*pods_lost, pods) : pods;
        slices_lost = slices_lost ? std::min(*slices_lost, slices) : slices;
    }
    if (pods_lost) sum.led_pods = sum.pods - *pods_lost;
    if (slices_lost) sum.led_slices = sum.slices - *slices_lost;
    return sum;
}

}  // namespace muster::decide

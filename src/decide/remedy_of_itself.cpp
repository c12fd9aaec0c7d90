// decide/remedy_of_itself.cpp - changes of the waiting workload itself, and of what it is refused
// for whatever is free.
#include <algorithm>
#include <set>
#include <utility>

#include "decide/remedy.h"

namespace muster::decide {

using Kind = Remedy::Kind;

namespace {

// The label that a namespace lacks for a selector, where one is enough and one can be named.
std::optional<std::pair<std::string, std::string>> label_lacking(const Selector& selector,
                                                                 const Labels& labels) {
    std::optional<std::pair<std::string, std::string>> lacking;
    const auto add = [&lacking](const std::string& key, const std::string& value) {
        if (lacking) return false;
        lacking.emplace(key, value);
        return true;
    };
    for (const auto& [key, value] : selector.labels) {
        const auto known = labels.find(key);
        if (known != labels.end() && known->second == value) continue;
        if (!add(key, value)) return std::nullopt;
    }
    for (const Requirement& each : selector.expressions) {
        if (matches(each, labels)) continue;
        const bool is_in = each.op == Requirement::Op::in && !each.values.empty();
        if (!is_in && each.op != Requirement::Op::exists) return std::nullopt;
        if (!add(each.key, is_in ? each.values.front() : "true")) return std::nullopt;
    }
    return lacking;
}

}  // namespace

Remedy RemedySearch::of_itself(Kind kind) const {
    Remedy made;
    made.kind = kind;
    made.workload = explanation_.workload;
    return made;
}

// Just above as few of the others as is enough.
std::optional<Remedy> RemedySearch::raise_priority() {
    const WorkloadEntry& mine = world_.workload(id_);
    if (!mine.enqueued || *mine.enqueued == no_queue) return std::nullopt;
    const QuotaNode root = world_.tree.root_of(world_.queue(*mine.enqueued).plan.node);
    std::set<std::int64_t> others;
    for (const QueueEntry& entry : world_.queues) {
        if (world_.tree.root_of(entry.plan.node) != root) continue;
        for (const Turn& turn : entry.pending.in_order(now_))
            others.insert(world_.workload(turn.workload).priority);
        for (const HolderTurn& holder : entry.holders)
            others.insert(holder.priority);
    }
    std::vector<std::int64_t> higher;
    for (const std::int64_t other : others) {
        if (other >= mine.priority) higher.push_back(other + 1);
    }
    Remedy made = of_itself(Kind::raise_priority);
    const auto starts_at = [&](std::size_t i) {
        made.priority = higher[i];
        return works(made);
    };
    if (higher.empty() || !starts_at(higher.size() - 1)) return std::nullopt;
    std::size_t low = 0;
    std::size_t high = higher.size() - 1;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (starts_at(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // At the same priority who came first goes first: one less may be enough.
    made.priority = higher[high] - 1;
    if (made.priority > mine.priority && works(made)) return made;
    made.priority = higher[high];
    return made;
}

// Kueue's namespace selector of the cluster queue against the labels of its namespace.
std::optional<Remedy> RemedySearch::label_namespace() {
    const auto queue = world_.queue_names.find(reason_.cluster_queue);
    const WorkloadEntry& entry = world_.workload(id_);
    if (!queue || !world_.queue(*queue).spec || !entry.local_queue) return std::nullopt;
    const std::optional<Selector>& selector = world_.queue(*queue).spec->namespaces;
    if (!selector) return std::nullopt;
    Remedy made;
    made.kind = Kind::label_namespace;
    made.queue = reason_.cluster_queue;
    made.ns = world_.local_queue(*entry.local_queue).ns;
    const auto labels = world_.namespaces.find(made.ns);
    const auto lacking =
        label_lacking(*selector, labels == world_.namespaces.end() ? Labels{} : labels->second);
    if (!lacking) return std::nullopt;
    made.label = lacking->first + "=" + lacking->second;
    return made;
}

std::optional<Remedy> RemedySearch::open_gate() {
    Remedy made = of_itself(Kind::open_gate);
    if (works(made)) return made;
    return std::nullopt;
}

std::optional<Remedy> RemedySearch::fit_flavor() {
    for (const Obstacle& obstacle : reason_.obstacles) {
        if (obstacle.rule != Obstacle::Rule::node_affinity) continue;
        Remedy made = of_itself(Kind::fit_flavor);
        made.pod_set = obstacle.pod_set;
        made.flavor = obstacle.flavor;
        if (works(made)) return made;
    }
    return std::nullopt;
}

// At least one pod must be left.
std::optional<Remedy> RemedySearch::fewer_pods() {
    return least_of_itself(Kind::fewer_pods);
}

// At least a quarter of what a pod asks for must be left: with less it would be another program.
std::optional<Remedy> RemedySearch::ask_less() {
    return least_of_itself(Kind::ask_less);
}

std::optional<Remedy> RemedySearch::least_of_itself(Kind kind) {
    Remedy made = of_itself(kind);
    for (const PodSetNeed& set : world_.shapes.of(world_.workload(id_).shape).pod_sets) {
        made.pod_set = set.name;
        if (kind == Kind::fewer_pods) {
            made.amount = Amount{set.count - 1};
            const bool is_sliced = !set.topology.slices.empty();  // Counts are multiples there.
            if (set.count < 2 || is_sliced) continue;
            if (auto found = smallest(made, made.amount.value)) return found;
            continue;
        }
        for (const auto& [resource, amount] : set.pod->requests) {
            made.resource = resource;
            made.amount = Amount{amount.value - amount.value / 4 - (amount.value % 4 != 0 ? 1 : 0)};
            if (made.amount.value < 1) continue;
            if (auto found = smallest(made, made.amount.value)) return found;
        }
    }
    return std::nullopt;
}

}  // namespace muster::decide

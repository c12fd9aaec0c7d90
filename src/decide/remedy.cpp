// decide/remedy.cpp - single changes tried on copies of the state, the likely ones first.
#include "decide/remedy.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace muster::decide {

namespace {

using Kind = Remedy::Kind;
using Rule = WaitReason::Rule;

constexpr std::int64_t tries_max = 240;  // Each on a copy of the state.
constexpr std::size_t nodes_max = 24;    // Nodes whose growth is tried.
constexpr int doublings_max = 5;         // Of an amount that is not enough.

Remedy remedy(Kind kind, std::string queue = {}, std::string flavor = {}) {
    Remedy made;
    made.kind = kind;
    made.queue = std::move(queue);
    made.flavor = std::move(flavor);
    return made;
}

}  // namespace

RemedySearch::RemedySearch(const State& state, const Explanation& explanation, WorkloadId id,
                           Time now)
    : state_(state),
      world_(state.world()),
      explanation_(explanation),
      reason_(*explanation.reason),
      id_(id),
      now_(now) {}

std::optional<Remedy> RemedySearch::find() {
    if (auto first = needed_first()) {
        first->workload = explanation_.workload;
        first->starts_it = works(*first);
        return first;
    }
    for (const Way way : ways()) {
        auto found = (this->*way)();
        if (!found) continue;
        return found;
    }
    return std::nullopt;
}

Remedy RemedySearch::missing(Kind kind) const {
    Remedy made = remedy(kind, reason_.cluster_queue);
    made.missing = reason_.detail;
    return made;
}

// What must be done before anything else counts, whether it starts then or not.
std::optional<Remedy> RemedySearch::needed_first() {
    switch (reason_.rule) {
        case Rule::deactivated:
            return remedy(Kind::activate);
        case Rule::local_queue_missing:
            return remedy(Kind::create_queue, reason_.local_queue);
        case Rule::cluster_queue_missing:
            return remedy(Kind::create_queue, reason_.cluster_queue);
        case Rule::local_queue_stopped:
            return remedy(Kind::resume_queue, reason_.local_queue);
        case Rule::cluster_queue_stopped:
            return remedy(Kind::resume_queue, reason_.cluster_queue);
        case Rule::flavor_missing:
            return remedy(Kind::create_flavor, reason_.cluster_queue, reason_.detail);
        case Rule::topology_missing:
            return missing(Kind::create_topology);
        case Rule::check_missing:
            return missing(Kind::create_check);
        case Rule::namespace_mismatch:
            return label_namespace();
        case Rule::admission_gated:
            return remedy(Kind::open_gate);
        default:
            return std::nullopt;
    }
}

// A few ways for each rule: what is small and likely comes first.
std::vector<RemedySearch::Way> RemedySearch::ways() const {
    using Self = RemedySearch;
    switch (reason_.rule) {
        case Rule::behind_head:
        case Rule::behind_preemptor:
            return {&Self::end_head,    &Self::raise_priority,
                    &Self::raise_quota, &Self::raise_borrowing_limit,
                    &Self::end_holder,  &Self::grow_node};
        case Rule::preemption_gated:
            return {&Self::open_gate,   &Self::end_victim,
                    &Self::raise_quota, &Self::raise_borrowing_limit,
                    &Self::end_holder,  &Self::ask_less,
                    &Self::fewer_pods};
        case Rule::preempting:
        case Rule::preemption_circle:
            return {&Self::end_victim, &Self::raise_quota,    &Self::raise_borrowing_limit,
                    &Self::end_holder, &Self::raise_priority, &Self::fewer_pods,
                    &Self::ask_less};
        case Rule::topology:
        case Rule::exceeds_topology:
            return {&Self::end_holder,     &Self::grow_node,  &Self::add_node, &Self::raise_quota,
                    &Self::raise_priority, &Self::fewer_pods, &Self::ask_less, &Self::fit_flavor};
        case Rule::overtaken:
        case Rule::deferred:
            return {&Self::end_holder,  &Self::raise_priority,
                    &Self::raise_quota, &Self::raise_borrowing_limit,
                    &Self::grow_node,   &Self::fewer_pods,
                    &Self::ask_less};
        case Rule::quota:
        case Rule::exceeds_maximum:
            return {&Self::raise_quota,    &Self::raise_borrowing_limit,
                    &Self::end_holder,     &Self::raise_priority,
                    &Self::tolerate_taint, &Self::fit_flavor,
                    &Self::fewer_pods,     &Self::ask_less};
        case Rule::no_matching_flavor:
            return {&Self::tolerate_taint, &Self::fit_flavor, &Self::raise_quota};
        case Rule::not_covered:
            return {&Self::cover_resource};
        case Rule::pods_not_ready:
            return {&Self::end_holder};
        case Rule::nodes:
        case Rule::exceeds_nodes:
            return {&Self::end_holder, &Self::grow_nodes_of_ledger, &Self::fewer_pods};
        default:
            return {};
    }
}

bool RemedySearch::works(const Remedy& remedy) {
    if (tried_ >= tries_max) return false;
    const std::vector<Change> changes = changes_of(state_, remedy);
    if (changes.empty()) return false;
    ++tried_;
    State copy = state_;
    for (const Change& change : changes)
        apply(copy, change);
    const Decision decision = decide(copy, now_);
    return std::any_of(decision.admits.begin(), decision.admits.end(),
                       [&](const Admit& admit) { return admit.workload == explanation_.workload; });
}

// Begins with the remedy's own amount. What helps, helps in larger amounts too.
std::optional<Remedy> RemedySearch::smallest(Remedy remedy, std::int64_t most) {
    std::int64_t too_little = 0;
    int doublings = 0;
    while (!works(remedy)) {
        too_little = remedy.amount.value;
        remedy.amount = std::min(Amount{most}, remedy.amount + remedy.amount);
        if (remedy.amount.value <= too_little || ++doublings > doublings_max) return std::nullopt;
    }
    Remedy less = remedy;
    less.amount = remedy.amount - Amount{1};
    while (remedy.amount.value - too_little > 1) {
        if (works(less)) {
            remedy.amount = less.amount;
        } else if (tried_ >= tries_max) {
            break;
        } else {
            too_little = less.amount.value;
        }
        less.amount = Amount{too_little + (remedy.amount.value - too_little) / 2};
    }
    return remedy;
}

// What is short of least comes first; without a number, each flavor of each resource it needs.
std::vector<Remedy> RemedySearch::amounts_short(Kind kind) const {
    std::vector<Remedy> all;
    const auto add = [&](const std::string& queue, const std::string& flavor,
                         const std::string& resource, Amount amount) {
        Remedy made = remedy(kind, queue, flavor);
        made.resource = resource;
        made.amount = std::max(Amount{1}, amount);
        all.push_back(std::move(made));
    };
    for (const Constraint& constraint : explanation_.constraints) {
        if (constraint.place != Constraint::Place::quota) continue;
        add(constraint.queue, constraint.flavor, constraint.resource, constraint.short_by);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Remedy& a, const Remedy& b) { return a.amount < b.amount; });
    const WorkloadEntry& entry = world_.workload(id_);
    if (!all.empty() || !entry.enqueued || *entry.enqueued == no_queue) return all;
    const QueuePlan& plan = world_.queue(*entry.enqueued).plan;
    const Needs needs = needs_of(world_, id_);
    for (const GroupPlan& group : plan.groups) {
        for (const ResourceId resource : group.resources) {
            const auto need = needs.of_all.find(world_.book.resources.name_of(resource));
            if (need == needs.of_all.end()) continue;
            for (const FlavorId flavor : group.flavors) {
                add(world_.queue_names.name_of(*entry.enqueued),
                    world_.book.flavors.name_of(flavor), need->first, need->second);
            }
        }
    }
    return all;
}

std::optional<Remedy> RemedySearch::raise_quota() {
    for (const Remedy& each : amounts_short(Kind::raise_quota)) {
        if (auto found = smallest(each, each.amount.value * 32)) return found;
    }
    return std::nullopt;
}

std::optional<Remedy> RemedySearch::raise_borrowing_limit() {
    for (const Remedy& each : amounts_short(Kind::raise_borrowing_limit)) {
        if (changes_of(state_, each).empty()) continue;
        if (auto found = smallest(each, each.amount.value * 8)) return found;
    }
    return std::nullopt;
}

std::optional<Remedy> RemedySearch::end_victim() {
    return end_one_of(reason_.victims);
}

std::optional<Remedy> RemedySearch::end_head() {
    return end_one_of({reason_.head});
}

// The smallest whose end is enough.
std::optional<Remedy> RemedySearch::end_holder() {
    return end_one_of(holders_by_size());
}

std::optional<Remedy> RemedySearch::end_one_of(const std::vector<std::string>& candidates) {
    std::int64_t left = 64;
    for (const std::string& candidate : candidates) {
        if (--left < 0) break;
        Remedy made = remedy(Kind::end_workload);
        made.workload = candidate;
        if (works(made)) return made;
    }
    return std::nullopt;
}

// Who holds the least of what is short comes first, then who has the fewest pods. Nodes are shared
// by all trees.
std::vector<std::string> RemedySearch::holders_by_size() const {
    std::map<std::string, Amount> amounts;
    for (const Constraint& constraint : explanation_.constraints) {
        for (const Holder& holder : constraint.holders)
            amounts.try_emplace(holder.workload, holder.amount);
    }
    std::vector<std::tuple<bool, std::int64_t, std::string>> all;
    for (const auto& [name, amount] : amounts)
        all.emplace_back(false, amount.value, name);
    for (const QueueEntry& entry : world_.queues) {
        for (const HolderTurn& holder : entry.holders) {
            if (amounts.contains(*holder.name.text)) continue;
            std::int64_t pods = 0;
            for (const std::int64_t live : world_.workload(holder.workload).held->live)
                pods += live;
            all.emplace_back(true, pods, *holder.name.text);
        }
    }
    std::sort(all.begin(), all.end());
    std::vector<std::string> names;
    for (auto& [is_other, size, name] : all)
        names.push_back(std::move(name));
    return names;
}

std::optional<Remedy> RemedySearch::cover_resource() {
    for (const Obstacle& obstacle : reason_.obstacles) {
        if (obstacle.rule != Obstacle::Rule::not_covered) continue;
        const auto queue = world_.queue_names.find(reason_.cluster_queue);
        if (!queue || !world_.queue(*queue).spec) continue;
        for (const ResourceGroup& group : world_.queue(*queue).spec->groups) {
            for (const FlavorQuotas& flavor : group.flavors) {
                Remedy made = remedy(Kind::cover_resource, reason_.cluster_queue, flavor.flavor);
                made.resource = obstacle.resource;
                made.amount = std::max(Amount{1}, needs_of(world_, id_).of_all[obstacle.resource]);
                if (auto found = smallest(made, made.amount.value)) return found;
            }
        }
    }
    return std::nullopt;
}

std::optional<Remedy> RemedySearch::tolerate_taint() {
    for (const Obstacle& obstacle : reason_.obstacles) {
        if (obstacle.rule != Obstacle::Rule::untolerated_taint) continue;
        Remedy made = remedy(Kind::tolerate_taint, {}, obstacle.flavor);
        made.taint = obstacle.taint.key;
        if (works(made)) return made;
    }
    return std::nullopt;
}

// More of one resource on one node.
std::optional<Remedy> RemedySearch::grow_node() {
    const Needs needs = needs_of(world_, id_);
    std::optional<Remedy> best;
    std::size_t looked_at = 0;
    for (const std::shared_ptr<const Node>& node : world_.topologies.nodes()) {
        if (++looked_at > nodes_max) break;
        for (const auto& [resource, all] : needs.of_all) {
            if (all.value <= 0) continue;
            Remedy made = remedy(Kind::add_capacity);
            made.node = node->name;
            made.resource = resource;
            made.amount = all;
            if (best && best->resource == resource) {
                made.amount = best->amount - Amount{1};  // Only less of the same is better.
                if (made.amount.value <= 0 || !works(made)) continue;
            }
            if (best && best->resource != resource) continue;
            if (auto found = smallest(made, made.amount.value)) best = std::move(found);
        }
    }
    return best;
}

// One more node like one that there is, just large enough for as many pods as are missing.
std::optional<Remedy> RemedySearch::add_node() {
    const Needs needs = needs_of(world_, id_);
    std::size_t looked_at = 0;
    for (const std::shared_ptr<const Node>& node : world_.topologies.nodes()) {
        if (++looked_at > nodes_max) break;
        Remedy made = remedy(Kind::add_node);
        made.node = node->name;
        made.workload = explanation_.workload;
        made.amount = Amount{std::max<std::int64_t>(1, needs.pods)};
        if (auto found = smallest(made, made.amount.value)) return found;
    }
    return std::nullopt;
}

// What gangs without topology lack on the nodes, where that is one resource.
std::optional<Remedy> RemedySearch::grow_nodes_of_ledger() {
    if (explanation_.constraints.empty()) return std::nullopt;
    const Constraint& least = *std::min_element(
        explanation_.constraints.begin(), explanation_.constraints.end(),
        [](const Constraint& a, const Constraint& b) { return a.short_by < b.short_by; });
    for (const Constraint& constraint : explanation_.constraints) {
        if (constraint.resource != least.resource) return std::nullopt;
    }
    Remedy found = remedy(Kind::add_capacity);
    found.resource = least.resource;
    found.node = least.node;
    found.amount = least.short_by;
    found.starts_it = !found.node.empty() && works(found);
    if (!found.starts_it) return found;
    return smallest(found, found.amount.value);
}

}  // namespace muster::decide

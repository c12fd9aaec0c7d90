// decide/fit/flavor_plan.cpp - matches pods with flavors, before anything is counted.
#include "decide/fit/flavor_plan.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/hash.h"
#include "decide/fit/flavors.h"
#include "decide/fit/places.h"

namespace muster::decide {

namespace {

using Joint = FlavorPlan::Joint;
using Option = FlavorPlan::Option;
using Choice = FlavorPlan::Choice;

bool covers(const GroupPlan& group, ResourceId resource) {
    return std::find(group.resources.begin(), group.resources.end(), resource) !=
           group.resources.end();
}

// Of the pod's demands only those about labels that the flavor itself declares count; a term that
// loses all its expressions matches, as in Kueue.
bool selects_flavor(const PodShape& pod, const Labels& labels) {
    for (const auto& [key, value] : pod.node_selector) {
        const auto found = labels.find(key);
        if (found != labels.end() && found->second != value) return false;
    }
    if (pod.node_affinity.empty()) return true;
    const auto term_allows = [&](const NodeTerm& term) {
        return std::all_of(
            term.expressions.begin(), term.expressions.end(), [&](const Requirement& requirement) {
                return !labels.contains(requirement.key) || matches(requirement, labels);
            });
    };
    return std::any_of(pod.node_affinity.begin(), pod.node_affinity.end(), term_allows);
}

/// The work on one plan.
struct Planner {
    const FlavorBook& book;
    const QueuePlan& queue;
    const TopologyBook* topologies;
    const Shape& shape;
    FlavorPlan plan{};

    void add_requests();
    void add_joints();
    std::vector<Choice> choices_of(const Joint& joint) const;
    Option option(const Joint& joint, FlavorId flavor) const;
    std::optional<Obstacle> topology_obstacle(const Joint& joint, const Flavor& flavor,
                                              FlavorId id) const;
    Obstacle obstacle(Obstacle::Rule rule, const Joint& joint, FlavorId flavor) const;
};

void Planner::add_requests() {
    for (const PodSetNeed& pod_set : shape.pod_sets) {
        FlavorPlan::Requests all = pod_set.requests;
        if (queue.pods) all.emplace_back(*queue.pods, Amount{1});
        plan.requests.push_back(std::move(all));
    }
}

void Planner::add_joints() {
    std::map<std::string_view, std::size_t> by_group;
    for (std::size_t i = 0; i < shape.pod_sets.size(); ++i) {
        const std::string_view group = shape.pod_sets[i].group;
        const auto known = by_group.find(group);
        const bool joins = !group.empty() && known != by_group.end();
        if (!joins) {
            if (!group.empty()) by_group[group] = plan.joints.size();
            plan.joints.emplace_back();
        }
        Joint& joint = joins ? plan.joints[known->second] : plan.joints.back();
        joint.members.push_back(i);
    }
    for (Joint& joint : plan.joints)
        joint.choices = choices_of(joint);
    plan.is_simple = plan.joints.size() <= 1 || !queue.has_alternatives();
}

std::vector<Choice> Planner::choices_of(const Joint& joint) const {
    std::vector<std::int64_t> fewest;
    for (const PodSetNeed& pod_set : shape.pod_sets)
        fewest.push_back(pod_set.min_count);
    std::vector<std::pair<std::uint64_t, Choice>> all;
    const auto add = [&](ResourceId resource) {
        // The order in which Kueue keeps resources: FNV-1a of their names.
        const std::uint64_t place = stable_hash(book.resources.name_of(resource));
        Choice made;
        for (std::size_t i = 0; i < queue.groups.size() && !made.group; ++i) {
            if (covers(queue.groups[i], resource)) made.group = i;
        }
        auto known = std::find_if(all.begin(), all.end(), [&](const auto& other) {
            return made.group && other.second.group == made.group;
        });
        if (known == all.end()) known = all.insert(all.end(), {place, std::move(made)});
        known->first = std::min(known->first, place);
        known->second.resources.push_back(resource);
        known->second.least.push_back(plan.needed(joint, resource, fewest));
    };
    std::vector<ResourceId> seen;
    for (const std::size_t member : joint.members) {
        for (const auto& [resource, amount] : plan.requests[member]) {
            if (std::find(seen.begin(), seen.end(), resource) != seen.end()) continue;
            seen.push_back(resource);
            add(resource);
        }
    }
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Choice> choices;
    for (auto& [place, choice] : all) {
        if (choice.group) {
            for (const FlavorId flavor : queue.groups[*choice.group].flavors)
                choice.options.push_back(option(joint, flavor));
        }
        choices.push_back(std::move(choice));
    }
    return choices;
}

Option Planner::option(const Joint& joint, FlavorId flavor) const {
    const auto& spec = book.spec(flavor);
    if (!spec) return {flavor, false, obstacle(Obstacle::Rule::flavor_missing, joint, flavor)};
    for (const std::size_t member : joint.members) {
        const auto& only = shape.pod_sets[member].only_flavors;
        if (!only.empty() && !std::binary_search(only.begin(), only.end(), spec->name))
            return {flavor, false};
        const PodShape& pod = *shape.pod_sets[member].pod;
        for (const Taint& taint : spec->taints) {
            if (taint.effect == Taint::Effect::prefer_no_schedule) continue;
            if (tolerates(pod.tolerations, taint) || tolerates(spec->tolerations, taint)) continue;
            Obstacle tainted = obstacle(Obstacle::Rule::untolerated_taint, joint, flavor);
            tainted.taint = taint;
            return {flavor, false, std::move(tainted)};
        }
        if (!selects_flavor(pod, spec->node_labels))
            return {flavor, false, obstacle(Obstacle::Rule::node_affinity, joint, flavor)};
    }
    auto refused = topology_obstacle(joint, *spec, flavor);
    const bool allowed = !refused;
    return {flavor, allowed, std::move(refused)};
}

// Who asks for a place needs a topology that has the level. Who does not may have one only where
// the queue has nothing else.
std::optional<Obstacle> Planner::topology_obstacle(const Joint& joint, const Flavor& flavor,
                                                   FlavorId id) const {
    for (const std::size_t member : joint.members) {
        const TopologyRequest& request = shape.pod_sets[member].topology;
        auto rule = Obstacle::Rule::topology_only;
        if (asks_for_topology(request)) {
            if (topologies != nullptr && topologies->has_levels(flavor.name, request)) continue;
            rule = flavor.topology.empty() ? Obstacle::Rule::no_topology
                                           : Obstacle::Rule::no_topology_level;
        } else if (flavor.topology.empty() || has_only_topologies(book, queue)) {
            continue;
        }
        return obstacle(rule, joint, id);
    }
    return std::nullopt;
}

Obstacle Planner::obstacle(Obstacle::Rule rule, const Joint& joint, FlavorId flavor) const {
    Obstacle made;
    made.rule = rule;
    made.pod_set = shape.pod_sets[joint.members.front()].name;
    made.flavor = book.flavors.name_of(flavor);
    return made;
}

}  // namespace

Amount FlavorPlan::needed(const Joint& joint, ResourceId resource,
                          const std::vector<std::int64_t>& counts) const {
    Amount sum;
    for (const std::size_t member : joint.members) {
        for (const auto& [own, amount] : requests[member]) {
            if (own == resource) sum += amount * counts[member];
        }
    }
    return sum;
}

FlavorPlan plan_flavors(const FlavorBook& book, const QueuePlan& queue,
                        const TopologyBook* topologies, const Shape& shape) {
    Planner planner{book, queue, topologies, shape};
    planner.add_requests();
    planner.add_joints();
    return std::move(planner.plan);
}

Amount Headroom::of(FlavorResource what) {
    for (const auto& [known, amount] : known_) {
        if (known == what) return amount;
    }
    known_.emplace_back(what, std::max(Amount{}, tree_->available(node_, what)));
    return known_.back().second;
}

bool may_fit(const FlavorPlan& plan, Options::Undeclared undeclared, Headroom& free) {
    const auto has_room = [&](const Choice& choice, FlavorId flavor) {
        for (std::size_t i = 0; i < choice.resources.size(); ++i) {
            if (choice.least[i] > free.of({flavor, choice.resources[i]})) return false;
        }
        return true;
    };
    const auto is_possible = [&](const Choice& choice) {
        if (!choice.group) {
            return undeclared == Options::Undeclared::ignore || choice.least[0] == Amount{};
        }
        return std::any_of(choice.options.begin(), choice.options.end(), [&](const Option& option) {
            return option.allowed && has_room(choice, option.flavor);
        });
    };
    return std::all_of(plan.joints.begin(), plan.joints.end(), [&](const Joint& joint) {
        return std::all_of(joint.choices.begin(), joint.choices.end(), is_possible);
    });
}

}  // namespace muster::decide

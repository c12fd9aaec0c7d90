// decide/fit/flavors.cpp - Kueue's flavor assignment, without preemption.
#include "decide/fit/flavors.h"

#include <algorithm>

namespace muster::decide {

namespace {

using Requests = std::vector<std::pair<ResourceId, Amount>>;

/// The work on one workload: what its pod sets have been given so far.
struct Chooser {
    const QuotaTree& tree;
    const FlavorBook& book;
    const QueuePlan& plan;
    std::vector<Share> given;
    NoFit no_fit;
    Fit fit;

    bool choose(const PodSetNeed& need);
    bool choose_in_group(const PodSetNeed& need, const GroupPlan& group, const Requests& wanted,
                         PodSetFit& result);
    bool flavor_allows(const PodSetNeed& need, const GroupPlan& group, FlavorId flavor);
    bool flavor_has(const PodSetNeed& need, FlavorId flavor, const Requests& wanted);
    Amount given_of(FlavorResource what) const;
    Obstacle obstacle(Obstacle::Rule rule, const PodSetNeed& need, FlavorId flavor) const;
};

bool covers(const GroupPlan& group, ResourceId resource) {
    return std::find(group.resources.begin(), group.resources.end(), resource) !=
           group.resources.end();
}

// Of the pod's demands only those about labels that the group's flavors declare count; a term
// that loses all its expressions matches every flavor, as in Kueue.
bool selects_flavor(const PodShape& pod, const GroupPlan& group, const Labels& labels) {
    for (const auto& [key, value] : pod.node_selector) {
        if (!group.label_keys.contains(key)) continue;
        const auto found = labels.find(key);
        if (found == labels.end() || found->second != value) return false;
    }
    if (pod.node_affinity.empty()) return true;
    const auto term_allows = [&](const NodeTerm& term) {
        return std::all_of(
            term.expressions.begin(), term.expressions.end(), [&](const Requirement& requirement) {
                return !group.label_keys.contains(requirement.key) || matches(requirement, labels);
            });
    };
    return std::any_of(pod.node_affinity.begin(), pod.node_affinity.end(), term_allows);
}

WaitReason::Rule overall(const std::vector<Obstacle>& obstacles) {
    const auto any = [&](Obstacle::Rule rule) {
        return std::any_of(obstacles.begin(), obstacles.end(),
                           [&](const Obstacle& o) { return o.rule == rule; });
    };
    if (any(Obstacle::Rule::not_covered)) return WaitReason::Rule::not_covered;
    // A flavor that exceeds the maximum in one resource may be short in another as well; it is
    // hopeless all the same.
    for (const Obstacle& o : obstacles) {
        if (o.rule != Obstacle::Rule::insufficient) continue;
        const bool hopeless =
            std::any_of(obstacles.begin(), obstacles.end(), [&](const Obstacle& other) {
                return other.flavor == o.flavor && other.rule == Obstacle::Rule::exceeds_maximum;
            });
        if (!hopeless) return WaitReason::Rule::quota;
    }
    if (any(Obstacle::Rule::exceeds_maximum)) return WaitReason::Rule::exceeds_maximum;
    return WaitReason::Rule::no_matching_flavor;
}

}  // namespace

FlavorId FlavorBook::id_of(std::string_view flavor) {
    const FlavorId id = flavors.id_of(flavor);
    if (specs.size() < flavors.limit()) specs.resize(flavors.limit());
    return id;
}

FitAnswer choose_flavors(const QuotaTree& tree, const FlavorBook& book, const QueuePlan& plan,
                         const Shape& shape) {
    Chooser chooser{tree, book, plan, {}, {}, {}};
    for (const PodSetNeed& need : shape.pod_sets) {
        if (chooser.choose(need)) continue;
        chooser.no_fit.rule = overall(chooser.no_fit.obstacles);
        return {std::nullopt, std::move(chooser.no_fit)};
    }
    return {std::move(chooser.fit), {}};
}

bool still_fits(const QuotaTree& tree, QuotaNode node, const Fit& fit) {
    std::vector<Share> sums;
    for (const PodSetFit& pod_set : fit.pod_sets) {
        for (const Share& share : pod_set.shares) {
            const auto sum = std::find_if(sums.begin(), sums.end(),
                                          [&](const Share& s) { return s.what == share.what; });
            if (sum == sums.end()) {
                sums.push_back(share);
            } else {
                sum->amount += share.amount;
            }
        }
    }
    return std::all_of(sums.begin(), sums.end(), [&](const Share& sum) {
        return sum.amount <= std::max(Amount{}, tree.available(node, sum.what));
    });
}

bool Chooser::choose(const PodSetNeed& need) {
    PodSetFit result;
    result.count = need.count;
    Requests all;
    for (const auto& [resource, amount] : need.requests) {
        all.emplace_back(resource, amount * need.count);
    }
    if (plan.pods) all.emplace_back(*plan.pods, Amount{need.count});
    for (const auto& [resource, amount] : all) {
        if (amount.value == 0) continue;
        if (std::any_of(plan.groups.begin(), plan.groups.end(),
                        [&, wanted = resource](const GroupPlan& g) { return covers(g, wanted); })) {
            continue;
        }
        Obstacle missing;
        missing.rule = Obstacle::Rule::not_covered;
        missing.pod_set = need.name;
        missing.resource = book.resources.name_of(resource);
        missing.needed = amount;
        no_fit.obstacles = {std::move(missing)};
        return false;
    }
    for (const GroupPlan& group : plan.groups) {
        Requests wanted;
        for (const auto& [resource, amount] : all) {
            if (covers(group, resource)) wanted.emplace_back(resource, amount);
        }
        if (!wanted.empty() && !choose_in_group(need, group, wanted, result)) return false;
    }
    fit.pod_sets.push_back(std::move(result));
    return true;
}

bool Chooser::choose_in_group(const PodSetNeed& need, const GroupPlan& group,
                              const Requests& wanted, PodSetFit& result) {
    no_fit.obstacles.clear();
    for (const FlavorId flavor : group.flavors) {
        if (!flavor_allows(need, group, flavor) || !flavor_has(need, flavor, wanted)) continue;
        for (const auto& [resource, amount] : wanted) {
            const FlavorResource what{flavor, resource};
            const Amount total = given_of(what) + amount;
            fit.borrowing_level =
                std::max(fit.borrowing_level, tree.borrowing_level(plan.node, what, total));
            given.push_back({what, amount});
            result.shares.push_back({what, amount});
        }
        return true;
    }
    return false;
}

bool Chooser::flavor_allows(const PodSetNeed& need, const GroupPlan& group, FlavorId flavor) {
    const auto& spec = book.spec(flavor);
    if (!spec) {
        no_fit.obstacles.push_back(obstacle(Obstacle::Rule::flavor_missing, need, flavor));
        return false;
    }
    for (const Taint& taint : spec->taints) {
        if (taint.effect == Taint::Effect::prefer_no_schedule) continue;
        if (tolerates(need.pod->tolerations, taint) || tolerates(spec->tolerations, taint))
            continue;
        no_fit.obstacles.push_back(obstacle(Obstacle::Rule::untolerated_taint, need, flavor));
        no_fit.obstacles.back().taint = taint;
        return false;
    }
    if (!selects_flavor(*need.pod, group, spec->node_labels)) {
        no_fit.obstacles.push_back(obstacle(Obstacle::Rule::node_affinity, need, flavor));
        return false;
    }
    return true;
}

bool Chooser::flavor_has(const PodSetNeed& need, FlavorId flavor, const Requests& wanted) {
    bool has_all = true;
    for (const auto& [resource, amount] : wanted) {
        const FlavorResource what{flavor, resource};
        const Amount earlier = given_of(what);
        const Amount free = std::max(Amount{}, tree.available(plan.node, what));
        if (earlier + amount <= free) continue;
        has_all = false;
        const Amount maximum = tree.potential(plan.node, what);
        const bool never = earlier + amount > maximum;
        Obstacle lack = obstacle(
            never ? Obstacle::Rule::exceeds_maximum : Obstacle::Rule::insufficient, need, flavor);
        lack.resource = book.resources.name_of(resource);
        lack.needed = amount;
        lack.earlier = earlier;
        lack.maximum = maximum;
        lack.free = free;
        lack.short_by = earlier + amount - free;
        no_fit.obstacles.push_back(std::move(lack));
    }
    return has_all;
}

Amount Chooser::given_of(FlavorResource what) const {
    Amount sum;
    for (const Share& share : given) {
        if (share.what == what) sum += share.amount;
    }
    return sum;
}

Obstacle Chooser::obstacle(Obstacle::Rule rule, const PodSetNeed& need, FlavorId flavor) const {
    Obstacle made;
    made.rule = rule;
    made.pod_set = need.name;
    made.flavor = book.flavors.name_of(flavor);
    return made;
}

}  // namespace muster::decide

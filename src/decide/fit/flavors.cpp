// decide/fit/flavors.cpp - Kueue's flavor assignment.
#include "decide/fit/flavors.h"

#include <algorithm>
#include <limits>

#include "decide/fit/no_fit.h"
#include "decide/fit/places.h"

namespace muster::decide {

namespace {

using Requests = std::vector<std::pair<ResourceId, Amount>>;
using Mode = FlavorAnswer::Mode;

/// How well one flavor serves: better kinds are larger, lower levels are better.
struct Grade {
    enum class Kind { no_fit, no_candidates, preempt, reclaim, fit };
    Kind kind = Kind::no_fit;
    std::int64_t level = 0;
};

constexpr Grade worst{Grade::Kind::no_fit, std::numeric_limits<std::int64_t>::max()};
constexpr Grade best{Grade::Kind::fit, 0};

bool preferred(Grade a, Grade b, FlavorFungibility::Preference preference) {
    if (a.kind == Grade::Kind::no_fit) return false;
    if (b.kind == Grade::Kind::no_fit) return true;
    const bool a_hopeless = a.kind == Grade::Kind::no_candidates;
    const bool b_hopeless = b.kind == Grade::Kind::no_candidates;
    if (a_hopeless != b_hopeless) return b_hopeless;
    if (preference == FlavorFungibility::Preference::preemption_over_borrowing) {
        return a.level != b.level ? a.level < b.level : a.kind > b.kind;
    }
    return a.kind != b.kind ? a.kind > b.kind : a.level < b.level;
}

bool search_goes_on(Grade grade, const FlavorFungibility& fungibility) {
    using Search = FlavorFungibility::Search;
    if (grade.kind <= Grade::Kind::no_candidates) return true;
    if (grade.kind != Grade::Kind::fit && fungibility.when_can_preempt == Search::try_next_flavor) {
        return true;
    }
    return grade.level > 0 && fungibility.when_can_borrow == Search::try_next_flavor;
}

/// One flavor as it serves the resources of a group.
struct Offer {
    FlavorId flavor{};
    Grade grade = worst;
    WaitReason::Rule flaw = WaitReason::Rule::quota;  // Of a grade of kind no_fit.
    std::vector<std::pair<ResourceId, Grade>> resources;
};

/// Pod sets that get the same flavors, and what they need together.
struct Joint {
    std::vector<std::size_t> members;
    Requests requests;  // By resource.
};

/// What of a joint is looked at in one go: a resource group, or a resource that has none.
struct Step {
    std::uint64_t place = 0;
    std::optional<std::size_t> group;
    ResourceId uncovered{};
};

/// The work on one workload: what its pod sets have been given so far.
struct Chooser {
    const FlavorSearch& search;
    const Shape& shape;
    const std::vector<std::int64_t>& counts;
    std::vector<Share> given;
    std::vector<Obstacle> obstacles;   // Of the pod sets at work.
    std::vector<Dismissed> dismissed;  // The same, of all groups so far.
    FlavorAnswer answer;

    std::vector<Joint> joints() const;
    Requests requests_of(std::size_t pod_set) const;
    bool choose(const Joint& joint);
    std::vector<Step> steps_of(const Joint& joint) const;
    bool is_uncovered(const Joint& joint, ResourceId resource);
    bool choose_in_group(const Joint& joint, std::size_t group, const Requests& wanted);
    bool flavor_allows(const Joint& joint, FlavorId flavor);
    bool topology_allows(const Joint& joint, const Flavor& flavor, FlavorId id);
    bool is_pinned(const Joint& joint, FlavorId flavor, const Requests& wanted) const;
    Offer offer_of(const Joint& joint, FlavorId flavor, const Requests& wanted);
    Grade grade_of(const Joint& joint, FlavorResource what, Amount amount, Offer& offer);
    void take(const Joint& joint, const Offer& offer);
    Amount given_of(FlavorResource what) const;
    Obstacle obstacle(Obstacle::Rule rule, const Joint& joint, FlavorId flavor) const;
};

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

// FNV-1a: the order in which Kueue keeps resources.
std::uint64_t place_of(std::string_view resource) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : resource)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash;
}

}  // namespace

FlavorId FlavorBook::id_of(std::string_view flavor) {
    const FlavorId id = flavors.id_of(flavor);
    if (specs.size() < flavors.limit()) specs.resize(flavors.limit());
    return id;
}

std::vector<Share> Fit::total() const {
    std::map<FlavorResource, Amount> sums;
    for (const PodSetFit& pod_set : pod_sets) {
        for (const Share& share : pod_set.shares)
            sums[share.what] += share.amount;
    }
    std::vector<Share> all;
    for (const auto& [what, amount] : sums) {
        if (amount.value != 0) all.push_back({what, amount});
    }
    return all;
}

FlavorAnswer choose_flavors(const FlavorSearch& search, const Shape& shape,
                            const std::vector<std::int64_t>& counts) {
    Chooser chooser{search, shape, counts, {}, {}, {}, {}};
    FlavorAnswer& answer = chooser.answer;
    answer.fit.pod_sets.resize(shape.pod_sets.size());
    for (std::size_t i = 0; i < counts.size(); ++i)
        answer.fit.pod_sets[i].count = counts[i];
    for (const Joint& joint : chooser.joints()) {
        chooser.obstacles.clear();
        chooser.dismissed.clear();
        if (chooser.choose(joint)) continue;
        const WaitReason::Rule rule = overall(chooser.obstacles);
        answer.no_fit = {rule, named_instead(rule, chooser.dismissed),
                         std::move(chooser.obstacles)};
        answer.contested.clear();
        answer.waits_to_be_free = false;
        // A pod set that fits nowhere begins anew; those before it go on where they were.
        std::erase_if(answer.memory, [&](const auto& known) {
            return known.first.first == joint.members.front();
        });
        return std::move(answer);
    }
    if (!answer.contested.empty()) answer.waits_to_be_free = false;
    answer.mode = answer.contested.empty() ? Mode::fit : Mode::preempt;
    auto& contested = answer.contested;
    std::sort(contested.begin(), contested.end());
    contested.erase(std::unique(contested.begin(), contested.end()), contested.end());
    return std::move(answer);
}

std::vector<std::int64_t> counts_of(const Shape& shape) {
    std::vector<std::int64_t> counts;
    for (const PodSetNeed& need : shape.pod_sets)
        counts.push_back(need.count);
    return counts;
}

bool still_fits(const QuotaTree& tree, QuotaNode node, const Fit& fit) {
    const std::vector<Share> total = fit.total();
    return std::all_of(total.begin(), total.end(), [&](const Share& sum) {
        return sum.amount <= std::max(Amount{}, tree.available(node, sum.what));
    });
}

namespace {

std::vector<Joint> Chooser::joints() const {
    std::vector<Joint> all;
    std::map<std::string_view, std::size_t> by_group;
    for (std::size_t i = 0; i < shape.pod_sets.size(); ++i) {
        const std::string_view group = shape.pod_sets[i].group;
        const auto known = by_group.find(group);
        const bool joins = !group.empty() && known != by_group.end();
        if (!joins) {
            if (!group.empty()) by_group[group] = all.size();
            all.emplace_back();
        }
        Joint& joint = joins ? all[known->second] : all.back();
        joint.members.push_back(i);
        for (const auto& [resource, amount] : requests_of(i)) {
            const auto sum =
                std::find_if(joint.requests.begin(), joint.requests.end(),
                             [&, wanted = resource](const auto& r) { return r.first == wanted; });
            if (sum == joint.requests.end()) {
                joint.requests.emplace_back(resource, amount);
            } else {
                sum->second += amount;
            }
        }
    }
    return all;
}

Requests Chooser::requests_of(std::size_t pod_set) const {
    Requests all;
    for (const auto& [resource, amount] : shape.pod_sets[pod_set].requests)
        all.emplace_back(resource, amount * counts[pod_set]);
    if (search.plan.pods) all.emplace_back(*search.plan.pods, Amount{counts[pod_set]});
    return all;
}

bool Chooser::choose(const Joint& joint) {
    std::vector<Obstacle> kept;
    for (const Step& step : steps_of(joint)) {
        obstacles.clear();
        if (!step.group) {
            if (is_uncovered(joint, step.uncovered)) return false;
            continue;
        }
        Requests wanted;
        for (const auto& [resource, amount] : joint.requests) {
            if (covers(search.plan.groups[*step.group], resource)) {
                wanted.emplace_back(resource, amount);
            }
        }
        if (!choose_in_group(joint, *step.group, wanted)) return false;
        kept.insert(kept.end(), obstacles.begin(), obstacles.end());
    }
    auto& all = answer.no_fit.obstacles;
    all.insert(all.end(), kept.begin(), kept.end());
    return true;
}

std::vector<Step> Chooser::steps_of(const Joint& joint) const {
    std::vector<Step> steps;
    for (const auto& [resource, amount] : joint.requests) {
        Step step{place_of(search.book.resources.name_of(resource)), std::nullopt, resource};
        for (std::size_t i = 0; i < search.plan.groups.size() && !step.group; ++i) {
            if (covers(search.plan.groups[i], resource)) step.group = i;
        }
        const auto same = std::find_if(steps.begin(), steps.end(), [&](const Step& other) {
            return step.group && other.group == step.group;
        });
        if (same == steps.end()) {
            steps.push_back(step);
        } else {
            same->place = std::min(same->place, step.place);
        }
    }
    std::sort(steps.begin(), steps.end(),
              [](const Step& a, const Step& b) { return a.place < b.place; });
    return steps;
}

// What no group covers and is not zero is an obstacle, unless it is to be ignored.
bool Chooser::is_uncovered(const Joint& joint, ResourceId resource) {
    if (search.options.undeclared == Options::Undeclared::ignore) return false;
    const auto wanted =
        std::find_if(joint.requests.begin(), joint.requests.end(),
                     [&](const auto& request) { return request.first == resource; });
    if (wanted->second.value == 0) return false;
    Obstacle missing;
    missing.rule = Obstacle::Rule::not_covered;
    missing.pod_set = shape.pod_sets[joint.members.front()].name;
    missing.resource = search.book.resources.name_of(resource);
    missing.needed = wanted->second;
    obstacles = {std::move(missing)};
    return true;
}

bool Chooser::choose_in_group(const Joint& joint, std::size_t group, const Requests& wanted) {
    const GroupPlan& plan = search.plan.groups[group];
    const std::pair key{joint.members.front(), group};
    std::size_t at = 0;
    if (search.memory != nullptr) {
        const auto known = search.memory->find(key);
        if (known != search.memory->end()) at = known->second;
    }
    std::optional<Offer> chosen;
    const auto better = [&](Grade a, Grade b) {
        return preferred(a, b, search.plan.fungibility.preference);
    };
    std::size_t tried = at;
    for (; at < plan.flavors.size(); ++at) {
        tried = at;
        const FlavorId flavor = plan.flavors[at];
        if (search.pinned != nullptr && !is_pinned(joint, flavor, wanted)) continue;
        if (!flavor_allows(joint, flavor)) {
            dismissed.push_back({group, WaitReason::Rule::no_matching_flavor});
            continue;
        }
        Offer offer = offer_of(joint, flavor, wanted);
        if (offer.grade.kind == Grade::Kind::no_fit) dismissed.push_back({group, offer.flaw});
        const bool goes_on = search_goes_on(offer.grade, search.plan.fungibility);
        if (!goes_on || better(offer.grade, chosen ? chosen->grade : worst)) {
            chosen = std::move(offer);
        }
        if (!goes_on) break;
    }
    if (!chosen) return false;
    if (std::all_of(chosen->resources.begin(), chosen->resources.end(),
                    [](const auto& r) { return r.second.kind == Grade::Kind::fit; })) {
        obstacles.clear();
    }
    if (tried + 1 < plan.flavors.size()) answer.memory[key] = tried + 1;
    take(joint, *chosen);
    return true;
}

bool Chooser::flavor_allows(const Joint& joint, FlavorId flavor) {
    const auto& spec = search.book.spec(flavor);
    if (!spec) {
        obstacles.push_back(obstacle(Obstacle::Rule::flavor_missing, joint, flavor));
        return false;
    }
    for (const std::size_t member : joint.members) {
        const auto& only = shape.pod_sets[member].only_flavors;
        if (!only.empty() && !std::binary_search(only.begin(), only.end(), spec->name))
            return false;
        const PodShape& pod = *shape.pod_sets[member].pod;
        for (const Taint& taint : spec->taints) {
            if (taint.effect == Taint::Effect::prefer_no_schedule) continue;
            if (tolerates(pod.tolerations, taint) || tolerates(spec->tolerations, taint)) continue;
            obstacles.push_back(obstacle(Obstacle::Rule::untolerated_taint, joint, flavor));
            obstacles.back().taint = taint;
            return false;
        }
        if (!selects_flavor(pod, spec->node_labels)) {
            obstacles.push_back(obstacle(Obstacle::Rule::node_affinity, joint, flavor));
            return false;
        }
    }
    return topology_allows(joint, *spec, flavor);
}

// Who asks for a place needs a topology that has the level. Who does not may have one only where
// the queue has nothing else.
bool Chooser::topology_allows(const Joint& joint, const Flavor& flavor, FlavorId id) {
    for (const std::size_t member : joint.members) {
        const TopologyRequest& request = shape.pod_sets[member].topology;
        auto rule = Obstacle::Rule::topology_only;
        if (asks_for_topology(request)) {
            if (search.topologies != nullptr &&
                search.topologies->has_levels(flavor.name, request)) {
                continue;
            }
            rule = flavor.topology.empty() ? Obstacle::Rule::no_topology
                                           : Obstacle::Rule::no_topology_level;
        } else if (flavor.topology.empty() || has_only_topologies(search.book, search.plan)) {
            continue;
        }
        obstacles.push_back(obstacle(rule, joint, id));
        return false;
    }
    return true;
}

bool Chooser::is_pinned(const Joint& joint, FlavorId flavor, const Requests& wanted) const {
    return std::any_of(joint.members.begin(), joint.members.end(), [&](std::size_t member) {
        const auto& shares = search.pinned->pod_sets[member].shares;
        return std::any_of(shares.begin(), shares.end(), [&](const Share& share) {
            return share.what.flavor == flavor && share.what.resource == wanted.front().first;
        });
    });
}

// As good as it is for the resource that it serves worst.
Offer Chooser::offer_of(const Joint& joint, FlavorId flavor, const Requests& wanted) {
    Offer offer{flavor, best, WaitReason::Rule::quota, {}};
    for (const auto& [resource, amount] : wanted) {
        const Grade grade = grade_of(joint, {flavor, resource}, amount, offer);
        if (preferred(offer.grade, grade, search.plan.fungibility.preference)) offer.grade = grade;
        offer.resources.emplace_back(resource, grade);
    }
    return offer;
}

Grade Chooser::grade_of(const Joint& joint, FlavorResource what, Amount amount, Offer& offer) {
    const QuotaTree& tree = search.tree;
    const QuotaNode node = search.plan.node;
    const Amount earlier = given_of(what);
    const Amount total = earlier + amount;
    const Amount free = std::max(Amount{}, tree.available(node, what));
    const Amount maximum = tree.potential(node, what);
    const bool never = total > maximum;
    const QuotaTree::Room room = tree.lowest_room(node, what, total);
    if (!never && total <= free) return {Grade::Kind::fit, room.height};

    Obstacle lack = obstacle(never ? Obstacle::Rule::exceeds_maximum : Obstacle::Rule::insufficient,
                             joint, what.flavor);
    lack.resource = search.book.resources.name_of(what.resource);
    lack.needed = amount;
    lack.earlier = earlier;
    lack.maximum = maximum;
    lack.free = free;
    lack.short_by = total - free;
    obstacles.push_back(std::move(lack));
    if (never) {
        offer.flaw = WaitReason::Rule::exceeds_maximum;
        return {Grade::Kind::no_fit, 0};
    }

    const Preemption& policy = search.plan.preemption;
    const bool while_borrowing =
        policy.borrow_within_cohort != Preemption::WhileBorrowing::never ||
        (search.options.fair_sharing && policy.reclaim_within_cohort != Preemption::Reclaim::never);
    if (tree.nominal(node, what) < total && !room.below_root && !while_borrowing) {
        return {Grade::Kind::no_fit, room.height};
    }
    if (!search.plan.preempts()) return {Grade::Kind::no_candidates, room.height};
    const PreemptionOutlook outlook = search.outlook(what, total);
    switch (outlook.grade) {
        case PreemptionOutlook::Grade::reclaim:
            return {Grade::Kind::reclaim, outlook.borrowing_level};
        case PreemptionOutlook::Grade::preempt:
            return {Grade::Kind::preempt, outlook.borrowing_level};
        case PreemptionOutlook::Grade::no_candidates:
            break;
    }
    return {Grade::Kind::no_candidates, outlook.borrowing_level};
}

void Chooser::take(const Joint& joint, const Offer& offer) {
    const bool counts_as_fit = search.patient && offer.grade.kind == Grade::Kind::fit;
    for (const auto& [resource, grade] : offer.resources) {
        const FlavorResource what{offer.flavor, resource};
        answer.fit.borrowing_level = std::max(answer.fit.borrowing_level, grade.level);
        if (grade.kind != Grade::Kind::fit) {
            if (counts_as_fit) answer.waits_to_be_free = true;
            if (!counts_as_fit) answer.contested.push_back(what);
        }
        for (const std::size_t member : joint.members) {
            for (const auto& [own, amount] : requests_of(member)) {
                if (own != resource) continue;
                given.push_back({what, amount});
                answer.fit.pod_sets[member].shares.push_back({what, amount});
            }
        }
    }
}

Amount Chooser::given_of(FlavorResource what) const {
    Amount sum;
    for (const Share& share : given) {
        if (share.what == what) sum += share.amount;
    }
    return sum;
}

Obstacle Chooser::obstacle(Obstacle::Rule rule, const Joint& joint, FlavorId flavor) const {
    Obstacle made;
    made.rule = rule;
    made.pod_set = shape.pod_sets[joint.members.front()].name;
    made.flavor = search.book.flavors.name_of(flavor);
    return made;
}

}  // namespace

}  // namespace muster::decide

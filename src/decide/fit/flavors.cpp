// decide/fit/flavors.cpp - Kueue's flavor assignment.
#include "decide/fit/flavors.h"

#include <algorithm>
#include <limits>

#include "decide/fit/no_fit.h"

namespace muster::decide {

namespace {

using Joint = FlavorPlan::Joint;
using Choice = FlavorPlan::Choice;
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
    std::vector<Grade> resources;                     // In the order of the choice.
};

/// The work on one workload: what its pod sets have been given so far.
struct Chooser {
    const FlavorSearch& search;
    const Shape& shape;
    const std::vector<std::int64_t>& counts;
    std::vector<Obstacle> obstacles;   // Of the pod sets at work.
    std::vector<Dismissed> dismissed;  // The same, of all groups so far.
    FlavorAnswer answer;

    bool tells() const { return search.obstacles == FlavorSearch::Obstacles::told; }
    bool choose(const Joint& joint);
    bool is_uncovered(const Joint& joint, ResourceId resource);
    bool choose_in_group(const Joint& joint, const Choice& choice);
    void dismiss(const Choice& choice, const FlavorPlan::Option& option);
    bool is_pinned(const Joint& joint, FlavorId flavor, ResourceId resource) const;
    Offer offer_of(const Joint& joint, const Choice& choice, FlavorId flavor);
    Grade grade_of(const Joint& joint, FlavorResource what, Amount amount, Offer& offer);
    void tell_lack(const Joint& joint, FlavorResource what, Obstacle lack);
    void take(const Joint& joint, const Choice& choice, const Offer& offer);
    Amount given_of(FlavorResource what) const;
};

}  // namespace

FlavorId FlavorBook::id_of(std::string_view flavor) {
    const FlavorId id = flavors.id_of(flavor);
    if (specs.size() < flavors.limit()) specs.resize(flavors.limit());
    return id;
}

std::vector<Share> Fit::total() const {
    std::vector<Share> all;
    for (const PodSetFit& pod_set : pod_sets)
        all.insert(all.end(), pod_set.shares.begin(), pod_set.shares.end());
    if (all.size() > 1) {
        std::sort(all.begin(), all.end(),
                  [](const Share& a, const Share& b) { return a.what < b.what; });
        auto last = all.begin();
        for (auto next = last + 1; next != all.end(); ++next) {
            if (next->what == last->what) {
                last->amount += next->amount;
            } else {
                *++last = *next;
            }
        }
        all.erase(last + 1, all.end());
    }
    std::erase_if(all, [](const Share& share) { return share.amount.value == 0; });
    return all;
}

FlavorAnswer choose_flavors(const FlavorSearch& search, const Shape& shape,
                            const std::vector<std::int64_t>& counts) {
    Chooser chooser{search, shape, counts, {}, {}, {}};
    FlavorAnswer& answer = chooser.answer;
    answer.fit.pod_sets.resize(shape.pod_sets.size());
    for (std::size_t i = 0; i < counts.size(); ++i)
        answer.fit.pod_sets[i].count = counts[i];
    for (const Joint& joint : search.plan.joints) {
        chooser.obstacles.clear();
        chooser.dismissed.clear();
        if (chooser.choose(joint)) continue;
        if (chooser.tells()) {
            const WaitReason::Rule rule = overall(chooser.obstacles);
            answer.no_fit = {rule, named_instead(rule, chooser.dismissed),
                             std::move(chooser.obstacles)};
        }
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

bool still_fits(const QuotaTree& tree, QuotaNode node, const Fit& fit) {
    const auto fits = [&](const Share& sum) {
        return sum.amount <= std::max(Amount{}, tree.available(node, sum.what));
    };
    if (fit.pod_sets.size() == 1) {
        const std::vector<Share>& shares = fit.pod_sets.front().shares;  // Each resource once.
        return std::all_of(shares.begin(), shares.end(), fits);
    }
    const std::vector<Share> total = fit.total();
    return std::all_of(total.begin(), total.end(), fits);
}

namespace {

bool Chooser::choose(const Joint& joint) {
    std::vector<Obstacle> kept;
    for (const Choice& choice : joint.choices) {
        obstacles.clear();
        if (!choice.group) {
            if (is_uncovered(joint, choice.resources.front())) return false;
            continue;
        }
        if (!choose_in_group(joint, choice)) return false;
        kept.insert(kept.end(), obstacles.begin(), obstacles.end());
    }
    auto& all = answer.no_fit.obstacles;
    all.insert(all.end(), kept.begin(), kept.end());
    return true;
}

// What no group covers and is not zero is an obstacle, unless it is to be ignored.
bool Chooser::is_uncovered(const Joint& joint, ResourceId resource) {
    if (search.options.undeclared == Options::Undeclared::ignore) return false;
    const Amount wanted = search.plan.needed(joint, resource, counts);
    if (wanted.value == 0) return false;
    Obstacle missing;
    missing.rule = Obstacle::Rule::not_covered;
    missing.pod_set = shape.pod_sets[joint.members.front()].name;
    missing.resource = search.book.resources.name_of(resource);
    missing.needed = wanted;
    obstacles = {std::move(missing)};
    return true;
}

bool Chooser::choose_in_group(const Joint& joint, const Choice& choice) {
    const std::pair key{joint.members.front(), *choice.group};
    std::size_t at = 0;
    if (search.memory != nullptr) {
        const auto known = search.memory->find(key);
        if (known != search.memory->end()) at = known->second;
    }
    std::optional<Offer> chosen;
    const auto better = [&](Grade a, Grade b) {
        return preferred(a, b, search.queue.fungibility.preference);
    };
    std::size_t tried = at;
    for (; at < choice.options.size(); ++at) {
        tried = at;
        const FlavorPlan::Option& option = choice.options[at];
        if (search.pinned != nullptr && !is_pinned(joint, option.flavor, choice.resources.front()))
            continue;
        if (!option.allowed) {
            dismiss(choice, option);
            continue;
        }
        Offer offer = offer_of(joint, choice, option.flavor);
        if (offer.grade.kind == Grade::Kind::no_fit)
            dismissed.push_back({*choice.group, offer.flaw});
        const bool goes_on = search_goes_on(offer.grade, search.queue.fungibility);
        if (!goes_on || better(offer.grade, chosen ? chosen->grade : worst)) {
            chosen = std::move(offer);
        }
        if (!goes_on) break;
    }
    if (!chosen) return false;
    if (std::all_of(chosen->resources.begin(), chosen->resources.end(),
                    [](Grade grade) { return grade.kind == Grade::Kind::fit; })) {
        obstacles.clear();
    }
    if (tried + 1 < choice.options.size()) answer.memory[key] = tried + 1;
    take(joint, choice, *chosen);
    return true;
}

void Chooser::dismiss(const Choice& choice, const FlavorPlan::Option& option) {
    if (!tells()) return;
    if (option.obstacle) obstacles.push_back(*option.obstacle);
    dismissed.push_back({*choice.group, WaitReason::Rule::no_matching_flavor});
}

bool Chooser::is_pinned(const Joint& joint, FlavorId flavor, ResourceId resource) const {
    return std::any_of(joint.members.begin(), joint.members.end(), [&](std::size_t member) {
        const auto& shares = search.pinned->pod_sets[member].shares;
        return std::any_of(shares.begin(), shares.end(), [&](const Share& share) {
            return share.what.flavor == flavor && share.what.resource == resource;
        });
    });
}

// As good as it is for the resource that it serves worst.
Offer Chooser::offer_of(const Joint& joint, const Choice& choice, FlavorId flavor) {
    Offer offer{flavor, best, WaitReason::Rule::quota, {}};
    offer.resources.reserve(choice.resources.size());
    for (const ResourceId resource : choice.resources) {
        const Amount amount = search.plan.needed(joint, resource, counts);
        const Grade grade = grade_of(joint, {flavor, resource}, amount, offer);
        if (preferred(offer.grade, grade, search.queue.fungibility.preference)) offer.grade = grade;
        offer.resources.push_back(grade);
    }
    return offer;
}

Grade Chooser::grade_of(const Joint& joint, FlavorResource what, Amount amount, Offer& offer) {
    const QuotaTree& tree = search.tree;
    const QuotaNode node = search.queue.node;
    const Amount earlier = given_of(what);
    const Amount total = earlier + amount;
    const Amount free = std::max(Amount{}, tree.available(node, what));
    const Amount maximum = tree.potential(node, what);
    const bool never = total > maximum;
    const QuotaTree::Room room = tree.lowest_room(node, what, total);
    if (!never && total <= free) return {Grade::Kind::fit, room.height};

    if (tells()) {
        Obstacle lack;
        lack.rule = never ? Obstacle::Rule::exceeds_maximum : Obstacle::Rule::insufficient;
        lack.needed = amount;
        lack.earlier = earlier;
        lack.maximum = maximum;
        lack.free = free;
        lack.short_by = total - free;
        tell_lack(joint, what, std::move(lack));
    }
    if (never) {
        offer.flaw = WaitReason::Rule::exceeds_maximum;
        return {Grade::Kind::no_fit, 0};
    }

    const Preemption& policy = search.queue.preemption;
    const bool while_borrowing =
        policy.borrow_within_cohort != Preemption::WhileBorrowing::never ||
        (search.options.fair_sharing && policy.reclaim_within_cohort != Preemption::Reclaim::never);
    if (tree.nominal(node, what) < total && !room.below_root && !while_borrowing) {
        return {Grade::Kind::no_fit, room.height};
    }
    if (!search.queue.preempts()) return {Grade::Kind::no_candidates, room.height};
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

void Chooser::tell_lack(const Joint& joint, FlavorResource what, Obstacle lack) {
    lack.pod_set = shape.pod_sets[joint.members.front()].name;
    lack.flavor = search.book.flavors.name_of(what.flavor);
    lack.resource = search.book.resources.name_of(what.resource);
    obstacles.push_back(std::move(lack));
}

void Chooser::take(const Joint& joint, const Choice& choice, const Offer& offer) {
    const bool counts_as_fit = search.patient && offer.grade.kind == Grade::Kind::fit;
    for (std::size_t i = 0; i < choice.resources.size(); ++i) {
        const FlavorResource what{offer.flavor, choice.resources[i]};
        const Grade grade = offer.resources[i];
        answer.fit.borrowing_level = std::max(answer.fit.borrowing_level, grade.level);
        if (grade.kind != Grade::Kind::fit) {
            if (counts_as_fit) answer.waits_to_be_free = true;
            if (!counts_as_fit) answer.contested.push_back(what);
        }
        for (const std::size_t member : joint.members) {
            for (const auto& [own, amount] : search.plan.requests[member]) {
                if (own != what.resource) continue;
                answer.fit.pod_sets[member].shares.push_back({what, amount * counts[member]});
            }
        }
    }
}

// By groups and pod sets before.
Amount Chooser::given_of(FlavorResource what) const {
    Amount sum;
    for (const PodSetFit& pod_set : answer.fit.pod_sets) {
        for (const Share& share : pod_set.shares) {
            if (share.what == what) sum += share.amount;
        }
    }
    return sum;
}

}  // namespace

}  // namespace muster::decide

// decide/preempt/classical.cpp - victims by priority and by who is nearer to the quota.
#include <algorithm>
#include <iterator>
#include <utility>

#include "decide/preempt/candidates.h"

namespace muster::decide {

namespace {

/// The search for one preemptor.
struct Classical {
    const Scene& scene;
    const Preemptor& preemptor;
    const Preemption& policy;
    std::vector<Candidate> nearer{};   // The preemptor's side is nearer to the quota they use.
    std::vector<Candidate> farther{};  // Only priorities are for the preemptor.
    std::vector<Candidate> own{};
    std::vector<const Candidate*> order{};

    void collect();
    void collect_below(QuotaNode cohort, QuotaNode top, std::optional<QuotaNode> done,
                       bool has_advantage);
    void add(QueueId queue, QuotaNode top, bool has_advantage);
    bool fits_own_quota(QuotaNode node, std::vector<Share>& rest) const;
    bool is_under_nominal() const;
    void put_in_order();
    std::vector<Borrowing> attempts() const;
    bool is_valid(const Candidate& candidate, Borrowing borrowing) const;
    std::vector<Victim> attempt(Borrowing borrowing, const Suits& suits) const;
};

void Classical::collect() {
    own = own_candidates(scene, preemptor);
    if (policy.reclaim_within_cohort == Preemption::Reclaim::never) return;
    const QuotaNode start = scene.world.queue(preemptor.queue).plan.node;
    std::vector<Share> rest = preemptor.needs;
    bool has_advantage = fits_own_quota(start, rest);
    std::optional<QuotaNode> done;
    for (auto top = scene.tree.parent_of(start); top; top = scene.tree.parent_of(*top)) {
        collect_below(*top, *top, done, has_advantage);
        has_advantage |= fits_own_quota(*top, rest);
        done = top;
    }
}

// Subtrees that use no more than their own are left alone.
void Classical::collect_below(QuotaNode cohort, QuotaNode top, std::optional<QuotaNode> done,
                              bool has_advantage) {
    for (const QuotaNode child : scene.tree.children_of(cohort)) {
        const auto queue = scene.world.queue_at(child);
        if (child == done || queue == preemptor.queue ||
            within_nominal(scene.tree, child, preemptor)) {
            continue;
        }
        if (queue) {
            add(*queue, top, has_advantage);
        } else {
            collect_below(child, top, done, has_advantage);
        }
    }
}

void Classical::add(QueueId queue, QuotaNode top, bool has_advantage) {
    const bool may_borrow = policy.borrow_within_cohort != Preemption::WhileBorrowing::never;
    for (Candidate& candidate : candidates_of(scene, preemptor, queue)) {
        candidate.under = top;
        if (!has_advantage) {
            const bool beneath =
                candidate.priority < preemptor.priority &&
                candidate.priority <= policy.max_priority_threshold.value_or(candidate.priority);
            candidate.unless_borrowing = !may_borrow || !beneath;
            if (!candidate.unless_borrowing) {
                candidate.cause = PreemptionCause::in_cohort_reclaim_while_borrowing;
            }
        }
        (has_advantage ? nearer : farther).push_back(std::move(candidate));
    }
}

// `rest` becomes what the node's parent would have to give.
bool Classical::fits_own_quota(QuotaNode node, std::vector<Share>& rest) const {
    bool fits = true;
    for (Share& share : rest) {
        fits &= !scene.tree.borrows_with(node, share.what, share.amount);
        share.amount = std::max(Amount{}, share.amount - scene.tree.unused_local(node, share.what));
    }
    return fits;
}

bool Classical::is_under_nominal() const {
    const QuotaNode node = scene.world.queue(preemptor.queue).plan.node;
    return std::all_of(preemptor.contested.begin(), preemptor.contested.end(),
                       [&](FlavorResource what) {
                           return scene.tree.usage(node, what) < scene.tree.nominal(node, what);
                       });
}

// Those that are leaving already, of all three kinds, before the others.
void Classical::put_in_order() {
    for (auto* kind : {&nearer, &farther, &own})
        std::sort(kind->begin(), kind->end(), preempted_before);
    for (const bool leaving : {true, false}) {
        for (const auto* kind : {&nearer, &farther, &own}) {
            for (const Candidate& candidate : *kind) {
                if (candidate.leaving == leaving) order.push_back(&candidate);
            }
        }
    }
}

std::vector<Borrowing> Classical::attempts() const {
    const bool forbidden = policy.borrow_within_cohort == Preemption::WhileBorrowing::never;
    if ((nearer.empty() && farther.empty()) || (forbidden && !is_under_nominal())) {
        return {Borrowing::allowed};
    }
    if (forbidden && nearer.empty()) return {Borrowing::forbidden, Borrowing::allowed};
    return {Borrowing::allowed, Borrowing::forbidden};
}

// Victims before it may have brought its queue, or a cohort around it, back to its own quota.
bool Classical::is_valid(const Candidate& candidate, Borrowing borrowing) const {
    if (candidate.own) return true;
    if (borrowing == Borrowing::allowed && candidate.unless_borrowing) return false;
    for (std::optional<QuotaNode> node = candidate.node; node && node != candidate.under;
         node = scene.tree.parent_of(*node)) {
        if (within_nominal(scene.tree, *node, preemptor)) return false;
    }
    return true;
}

std::vector<Victim> Classical::attempt(Borrowing borrowing, const Suits& suits) const {
    Trial trial(scene, preemptor, suits);
    for (const Candidate* candidate : order) {
        if (!is_valid(*candidate, borrowing)) continue;
        trial.choose(*candidate, candidate->cause);
        if (trial.fits(borrowing)) return trial.give_back(borrowing);
    }
    return {};
}

}  // namespace

std::vector<Victim> classical_victims(const Scene& scene, const Preemptor& preemptor,
                                      const Suits& suits) {
    Classical search{scene, preemptor, scene.world.queue(preemptor.queue).plan.preemption};
    search.collect();
    search.put_in_order();
    for (const Borrowing borrowing : search.attempts()) {
        auto victims = search.attempt(borrowing, suits);
        if (!victims.empty()) return victims;
    }
    return {};
}

}  // namespace muster::decide

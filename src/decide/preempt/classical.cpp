// decide/preempt/classical.cpp - victims by priority and by who is nearer to the quota.
#include <algorithm>
#include <deque>
#include <utility>

#include "decide/preempt/candidates.h"

namespace muster::decide {

namespace {

/// The search for one preemptor.
struct Classical {
    const Scene& scene;
    const Preemptor& preemptor;
    const Preemption& policy;
    std::deque<CandidateLine> nearer{};   // The preemptor's side is nearer to the quota they use.
    std::deque<CandidateLine> farther{};  // Only priorities are for the preemptor.
    std::deque<CandidateLine> own{};

    void collect();
    void collect_below(QuotaNode cohort, QuotaNode top, std::optional<QuotaNode> done,
                       bool has_advantage);
    void add(QueueId queue, QuotaNode top, bool has_advantage);
    bool fits_own_quota(QuotaNode node, std::vector<Share>& rest) const;
    bool is_under_nominal() const;
    std::vector<Borrowing> attempts();
    bool is_futile(Borrowing borrowing);
    bool is_valid(const Candidate& candidate, Borrowing borrowing) const;
    std::vector<Victim> attempt(Borrowing borrowing, const Suits& suits);
};

void Classical::collect() {
    own.emplace_back(scene, preemptor, preemptor.queue);
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
    (has_advantage ? nearer : farther)
        .emplace_back(scene, preemptor, queue, [this, top, has_advantage](Candidate& candidate) {
            candidate.under = top;
            if (has_advantage) return;
            const bool beneath =
                candidate.priority < preemptor.priority &&
                candidate.priority <= policy.max_priority_threshold.value_or(candidate.priority);
            candidate.unless_borrowing =
                policy.borrow_within_cohort == Preemption::WhileBorrowing::never || !beneath;
            if (!candidate.unless_borrowing) {
                candidate.cause = PreemptionCause::in_cohort_reclaim_while_borrowing;
            }
        });
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

bool has_any(std::deque<CandidateLine>& lines) {
    return std::any_of(lines.begin(), lines.end(), [](CandidateLine& line) {
        line.rewind();
        return line.peek() != nullptr;
    });
}

std::vector<Borrowing> Classical::attempts() {
    const bool forbidden = policy.borrow_within_cohort == Preemption::WhileBorrowing::never;
    const bool is_near = has_any(nearer);
    if ((!is_near && !has_any(farther)) || (forbidden && !is_under_nominal())) {
        return {Borrowing::allowed};
    }
    if (forbidden && !is_near) return {Borrowing::forbidden, Borrowing::allowed};
    return {Borrowing::allowed, Borrowing::forbidden};
}

// Others' leaving does not change what the preemptor's own queue uses.
bool Classical::is_futile(Borrowing borrowing) {
    if (borrowing == Borrowing::allowed || has_any(own)) return false;
    const QuotaNode node = scene.world.queue(preemptor.queue).plan.node;
    return std::any_of(preemptor.needs.begin(), preemptor.needs.end(), [&](const Share& need) {
        return scene.tree.borrows_with(node, need.what, need.amount);
    });
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

// Those that are leaving already, of all three kinds, before the others.
std::vector<Victim> Classical::attempt(Borrowing borrowing, const Suits& suits) {
    if (is_futile(borrowing)) return {};
    const bool farther_count = borrowing == Borrowing::forbidden ||
                               policy.borrow_within_cohort != Preemption::WhileBorrowing::never;
    std::deque<CandidateLine> nobody;
    MergedLines kinds[] = {MergedLines(nearer), MergedLines(farther_count ? farther : nobody),
                           MergedLines(own)};
    Trial trial(scene, preemptor, suits);
    for (const bool leaving : {true, false}) {
        for (MergedLines& kind : kinds) {
            for (const Candidate* next = kind.peek(); next != nullptr && next->leaving == leaving;
                 next = kind.peek()) {
                kind.pop();
                if (!is_valid(*next, borrowing)) continue;
                trial.choose(*next, next->cause);
                if (trial.fits(borrowing)) return trial.give_back(borrowing);
            }
        }
    }
    return {};
}

}  // namespace

std::vector<Victim> classical_victims(const Scene& scene, const Preemptor& preemptor,
                                      const Suits& suits) {
    Classical search{scene, preemptor, scene.world.queue(preemptor.queue).plan.preemption};
    search.collect();
    for (const Borrowing borrowing : search.attempts()) {
        auto victims = search.attempt(borrowing, suits);
        if (!victims.empty()) return victims;
    }
    return {};
}

}  // namespace muster::decide

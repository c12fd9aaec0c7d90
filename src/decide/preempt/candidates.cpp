// decide/preempt/candidates.cpp - the policies about whom to preempt, and the trial.
#include "decide/preempt/candidates.h"

#include <algorithm>
#include <tuple>

namespace muster::decide {

namespace {

bool is_contested(const Preemptor& preemptor, FlavorResource what) {
    return std::binary_search(preemptor.contested.begin(), preemptor.contested.end(), what);
}

bool uses_contested(const Held& held, const Preemptor& preemptor) {
    return std::any_of(held.pod_sets.begin(), held.pod_sets.end(), [&](const PodSetFit& set) {
        return std::any_of(set.shares.begin(), set.shares.end(),
                           [&](const Share& share) { return is_contested(preemptor, share.what); });
    });
}

bool uses_as_much(const Held& held, const std::vector<Share>& other) {
    std::size_t at = 0;
    bool as_much = true;
    for (std::size_t i = 0; i < held.pod_sets.size(); ++i) {
        visit_live_shares(held, i, [&](FlavorResource what, Amount amount) {
            as_much = as_much && at < other.size() && what == other[at].what &&
                      amount >= other[at].amount;
            ++at;
        });
    }
    return as_much && at == other.size();
}

Time queued_of(const WorkloadEntry& entry) {
    return entry.queued == Time{} ? entry.created : entry.queued;
}

bool own_policy_gives_up(Preemption::WithinQueue policy, const Preemptor& preemptor,
                         const WorkloadEntry& holder) {
    switch (policy) {
        case Preemption::WithinQueue::never:
            return false;
        case Preemption::WithinQueue::lower_priority:
            return holder.priority < preemptor.priority;
        case Preemption::WithinQueue::lower_or_newer_equal_priority:
            return holder.priority < preemptor.priority ||
                   (holder.priority == preemptor.priority && preemptor.queued < queued_of(holder));
    }
    return false;
}

bool cohort_policy_gives_up(Preemption::Reclaim policy, const Preemptor& preemptor,
                            const WorkloadEntry& holder) {
    switch (policy) {
        case Preemption::Reclaim::never:
            return false;
        case Preemption::Reclaim::lower_priority:
            return holder.priority < preemptor.priority;
        case Preemption::Reclaim::any:
            return true;
    }
    return false;
}

Candidate candidate_of(const World& world, QueueId queue, WorkloadId id) {
    const WorkloadEntry& entry = world.workload(id);
    Candidate made;
    made.workload = id;
    made.queue = queue;
    made.node = world.queue(queue).plan.node;
    made.leaving = is_leaving(entry);
    made.priority = entry.priority;
    made.reserved = entry.held->reserved;
    made.name = world.workload_names.ranked(id);
    for (std::size_t i = 0; i < entry.held->pod_sets.size(); ++i) {
        made.usage.reserve(made.usage.size() + entry.held->pod_sets[i].shares.size());
        visit_live_shares(*entry.held, i, [&](FlavorResource what, Amount amount) {
            made.usage.push_back({what, amount});
        });
    }
    return made;
}

}  // namespace

bool preempted_before(const Candidate& a, const Candidate& b) {
    const auto uses = compare(b.use, a.use);
    if (a.own && b.own && a.leaving == b.leaving && uses != 0) return uses < 0;
    return std::tuple(!a.leaving, a.own, a.priority, b.reserved, a.name) <
           std::tuple(!b.leaving, b.own, b.priority, a.reserved, b.name);
}

CandidateLine::CandidateLine(const Scene& scene, const Preemptor& preemptor, QueueId queue,
                             Dress dress)
    : scene_(scene), preemptor_(preemptor), queue_(queue), dress_(std::move(dress)) {}

// Nobody is looked at before somebody asks.
void CandidateLine::begin() {
    has_begun_ = true;
    const QueueEntry& entry = scene_.world.queue(queue_);
    const Preemption& policy = scene_.world.queue(preemptor_.queue).plan.preemption;
    const bool own = queue_ == preemptor_.queue;
    if (own ? policy.within_queue == Preemption::WithinQueue::never
            : policy.reclaim_within_cohort == Preemption::Reclaim::never ||
                  entry.active != QueueReport::Active::ready) {
        return;
    }
    next_ = entry.holders.begin();
    end_ = entry.holders.end();
    if (!own || !scene_.world.goes_by_use(queue_)) return;
    // Holders do not stand in the order of what their local queues have used.
    while (next_ != end_)
        find_next();
    std::sort(found_.begin(), found_.end(),
              [](const auto& a, const auto& b) { return preempted_before(*a, *b); });
}

const Candidate* CandidateLine::peek() {
    if (!has_begun_) begin();
    if (at_ == found_.size()) find_next();
    return at_ < found_.size() ? found_[at_].get() : nullptr;
}

void CandidateLine::find_next() {
    for (; next_ != end_; ++next_) {
        if (ends_before(*next_)) {
            next_ = end_;
            return;
        }
        const WorkloadEntry& holder = scene_.world.workload(next_->workload);
        if (scene_.gone.contains(next_->workload) || !uses_contested(*holder.held, preemptor_) ||
            !gives_up(holder) ||
            (refused_ != nullptr && uses_as_much(*holder.held, refused_->usage))) {
            continue;
        }
        found_.push_back(
            std::make_unique<Candidate>(candidate_of(scene_.world, queue_, next_->workload)));
        Candidate& made = *found_.back();
        made.own = queue_ == preemptor_.queue;
        if (!made.own) made.cause = PreemptionCause::in_cohort_reclamation;
        if (made.own && holder.local_queue && scene_.world.goes_by_use(queue_)) {
            made.use = scene_.world.last_use_of(*holder.local_queue);
        }
        if (dress_) dress_(made);
        ++next_;
        return;
    }
}

bool CandidateLine::gives_up(const WorkloadEntry& holder) const {
    const Preemption& policy = scene_.world.queue(preemptor_.queue).plan.preemption;
    return queue_ == preemptor_.queue
               ? own_policy_gives_up(policy.within_queue, preemptor_, holder)
               : cohort_policy_gives_up(policy.reclaim_within_cohort, preemptor_, holder);
}

// Behind those that are leaving, priorities only rise.
bool CandidateLine::ends_before(const HolderTurn& holder) const {
    const Preemption& policy = scene_.world.queue(preemptor_.queue).plan.preemption;
    const bool any =
        queue_ != preemptor_.queue && policy.reclaim_within_cohort == Preemption::Reclaim::any;
    return !any && holder.stage == HolderTurn::Stage::staying &&
           holder.priority > preemptor_.priority;
}

MergedLines::MergedLines(std::deque<CandidateLine>& lines) {
    for (CandidateLine& line : lines) {
        line.rewind();
        if (const Candidate* first = line.peek()) heap_.emplace_back(first, &line);
    }
    std::make_heap(heap_.begin(), heap_.end(), is_later);
}

void MergedLines::pop() {
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    Front& last = heap_.back();
    last.second->pop();
    last.first = last.second->peek();
    if (last.first == nullptr) {
        heap_.pop_back();
    } else {
        std::push_heap(heap_.begin(), heap_.end(), is_later);
    }
}

bool within_nominal(const QuotaTree& tree, QuotaNode node, const Preemptor& preemptor) {
    return std::all_of(preemptor.contested.begin(), preemptor.contested.end(),
                       [&](FlavorResource what) { return tree.within_nominal(node, what); });
}

void Trial::take_out(const Candidate& candidate) {
    for (const Share& share : candidate.usage)
        scene_.tree.remove_usage(candidate.node, share.what, share.amount);
}

void Trial::put_back(const Candidate& candidate) {
    for (const Share& share : candidate.usage)
        scene_.tree.add_usage(candidate.node, share.what, share.amount);
}

void Trial::choose(const Candidate& candidate, PreemptionCause cause) {
    take_out(candidate);
    chosen_.emplace_back(&candidate, cause);
}

void Trial::put_all_back() {
    count_preemptor(Counted::no);
    for (const auto& [candidate, cause] : chosen_)
        put_back(*candidate);
    chosen_.clear();
}

void Trial::count_preemptor(Counted counted) {
    if (std::exchange(counted_, counted) == counted) return;
    const QuotaNode node = scene_.world.queue(preemptor_.queue).plan.node;
    for (const Share& need : preemptor_.needs) {
        if (counted == Counted::yes) {
            scene_.tree.add_usage(node, need.what, need.amount);
        } else {
            scene_.tree.remove_usage(node, need.what, need.amount);
        }
    }
}

bool Trial::fits(Borrowing borrowing) {
    const Counted before = counted_;
    count_preemptor(Counted::no);
    const QuotaNode node = scene_.world.queue(preemptor_.queue).plan.node;
    const QuotaTree& tree = scene_.tree;
    bool fits =
        std::all_of(preemptor_.needs.begin(), preemptor_.needs.end(), [&](const Share& need) {
            if (borrowing == Borrowing::forbidden &&
                tree.borrows_with(node, need.what, need.amount)) {
                return false;
            }
            return need.amount <= std::max(Amount{}, tree.available(node, need.what));
        });
    if (fits && suits_) fits = suits_(victims());
    count_preemptor(before);
    return fits;
}

// The last one chosen is needed for sure.
std::vector<Victim> Trial::give_back(Borrowing borrowing) {
    for (std::size_t i = chosen_.size() - 1; i-- > 0;) {
        const auto given = chosen_[i];
        put_back(*given.first);
        const auto last = chosen_.back();
        chosen_[i] = last;
        chosen_.pop_back();
        if (fits(borrowing)) continue;
        chosen_.push_back(last);
        chosen_[i] = given;
        take_out(*given.first);
    }
    return victims();
}

std::vector<Victim> Trial::victims() const {
    std::vector<Victim> all;
    for (const auto& [candidate, cause] : chosen_)
        all.push_back({candidate->workload, cause});
    return all;
}

}  // namespace muster::decide

// decide/preempt/plain_fair.h - fair preemption in its plainest form, for tests to compare with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "decide/preempt/victims.h"
#include "decide/quota/share.h"
#include "decide/world.h"

namespace muster::decide {

/// The search as its rules say it: everybody is looked at, every share is worked out when it is
/// asked for, and nothing is kept but who was chosen, who was passed over and who is done with.
struct Plain {
    struct One {
        WorkloadId workload{};
        QueueId queue{};
        bool leaving = false;
        bool own = false;
        std::int64_t priority = 0;
        Time reserved;
        std::string name;
        std::vector<Share> usage;
    };
    using Strategy = Options::Strategy;
    using Line = std::vector<One>;
    using Chosen = std::vector<std::pair<One, PreemptionCause>>;

    const World& world;
    QuotaTree& tree;
    const Preemptor& preemptor;
    const std::set<WorkloadId>& gone;

    Chosen chosen{};
    Line left{};  // Whom the first strategy passed over.
    std::set<QuotaNode> done{};

    QuotaNode node_of(QueueId queue) const { return world.queue(queue).plan.node; }
    QuotaNode own() const { return node_of(preemptor.queue); }

    static bool comes_first(const One& a, const One& b) {
        return std::tuple(!a.leaving, a.own, a.priority, b.reserved, a.name) <
               std::tuple(!b.leaving, b.own, b.priority, a.reserved, b.name);
    }

    bool is_given_up(const WorkloadEntry& entry, QueueId queue) const {
        const Preemption& policy = world.queue(preemptor.queue).plan.preemption;
        const bool lower = entry.priority < preemptor.priority;
        if (queue == preemptor.queue) {
            const Time queued = entry.queued == Time{} ? entry.created : entry.queued;
            const bool newer = entry.priority == preemptor.priority && preemptor.queued < queued;
            if (policy.within_queue == Preemption::WithinQueue::lower_or_newer_equal_priority) {
                return lower || newer;
            }
            return policy.within_queue == Preemption::WithinQueue::lower_priority && lower;
        }
        if (tree.root_of(node_of(queue)) != tree.root_of(own()) || !borrows_contested(queue)) {
            return false;
        }
        return policy.reclaim_within_cohort == Preemption::Reclaim::any ||
               (policy.reclaim_within_cohort == Preemption::Reclaim::lower_priority && lower);
    }

    bool is_contested(FlavorResource what) const {
        return std::count(preemptor.contested.begin(), preemptor.contested.end(), what) > 0;
    }

    bool borrows_contested(QueueId queue) const {
        return std::any_of(
            preemptor.contested.begin(), preemptor.contested.end(),
            [&](FlavorResource what) { return borrows(tree, node_of(queue), what); });
    }

    Line candidates() const {
        Line all;
        for (std::size_t i = 0; i < world.workloads.size(); ++i) {
            const auto id = static_cast<WorkloadId>(i);
            const WorkloadEntry& entry = world.workload(id);
            if (entry.held == nullptr || gone.contains(id)) continue;
            if (!is_given_up(entry, entry.held->queue)) continue;
            One one{id,
                    entry.held->queue,
                    is_leaving(entry),
                    entry.held->queue == preemptor.queue,
                    entry.priority,
                    entry.held->reserved,
                    world.name_of(id),
                    world.live_shares(*entry.held, 0)};
            const bool uses = std::any_of(one.usage.begin(), one.usage.end(),
                                          [&](const Share& s) { return is_contested(s.what); });
            if (uses) all.push_back(std::move(one));
        }
        std::sort(all.begin(), all.end(), comes_first);
        return all;
    }

    void count(QuotaNode node, const std::vector<Share>& shares, bool in) {
        for (const Share& share : shares) {
            if (in) {
                tree.add_usage(node, share.what, share.amount);
            } else {
                tree.remove_usage(node, share.what, share.amount);
            }
        }
    }

    bool fits() const {
        return std::all_of(preemptor.needs.begin(), preemptor.needs.end(), [&](const Share& need) {
            return need.amount <= std::max(Amount{}, tree.available(own(), need.what));
        });
    }

    bool fits_besides_itself() {
        count(own(), preemptor.needs, false);
        const bool answer = fits();
        count(own(), preemptor.needs, true);
        return answer;
    }

    void choose(const One& one, PreemptionCause cause) {
        count(node_of(one.queue), one.usage, false);
        chosen.emplace_back(one, cause);
    }

    bool is_above_us(QuotaNode node) const {
        for (auto at = tree.parent_of(own()); at; at = tree.parent_of(*at))
            if (*at == node) return true;
        return false;
    }

    static Line::iterator first_of(Line& line, QueueId queue) {
        return std::find_if(line.begin(), line.end(),
                            [&](const One& one) { return one.queue == queue; });
    }

    static One pop(Line& line, QueueId queue) {
        const auto first = first_of(line, queue);
        One one = *first;
        line.erase(first);
        return one;
    }

    // Down from a cohort to the queue with the largest share of those that still have somebody.
    std::optional<QueueId> next_below(QuotaNode cohort, Line& line) {
        std::optional<QuotaNode> best;
        std::optional<QuotaNode> best_cohort;
        for (const QuotaNode child : tree.children_of(cohort)) {
            const auto queue = world.queue_at(child);
            const BorrowedShare share = borrowed_share(tree, child);
            const bool on_path = queue ? *queue == preemptor.queue : is_above_us(child);
            if (!share.borrows && !on_path) done.insert(child);
            if (queue && first_of(line, *queue) == line.end()) done.insert(child);
            if (done.contains(child)) continue;
            std::optional<QuotaNode>& rival = queue ? best : best_cohort;
            if (!rival || goes_before(child, *rival, line)) rival = child;
        }
        if (!best && !best_cohort) {
            done.insert(cohort);
            return std::nullopt;
        }
        if (!best_cohort) return world.queue_at(*best);
        if (best && compare(borrowed_share(tree, *best_cohort), borrowed_share(tree, *best)) < 0) {
            return world.queue_at(*best);
        }
        return next_below(*best_cohort, line);
    }

    bool goes_before(QuotaNode a, QuotaNode b, Line& line) const {
        const auto order = compare(borrowed_share(tree, a), borrowed_share(tree, b));
        if (order != 0) return order > 0;
        if (!world.queue_at(a)) return world.name_at(a) < world.name_at(b);
        return comes_first(*first_of(line, *world.queue_at(a)),
                           *first_of(line, *world.queue_at(b)));
    }

    std::optional<QueueId> next(Line& line) {
        if (!tree.parent_of(own())) {
            if (first_of(line, preemptor.queue) == line.end()) return std::nullopt;
            return preemptor.queue;
        }
        const QuotaNode root = tree.root_of(own());
        while (!done.contains(root)) {
            if (const auto found = next_below(root, line)) return found;
        }
        return std::nullopt;
    }

    /// Where the way to the queue parts from ours: our node and theirs.
    std::pair<QuotaNode, QuotaNode> apart(QueueId queue) const {
        QuotaNode theirs = node_of(queue);
        while (!is_above_us(*tree.parent_of(theirs)))
            theirs = *tree.parent_of(theirs);
        QuotaNode ours = own();
        while (tree.parent_of(ours) != tree.parent_of(theirs))
            ours = *tree.parent_of(ours);
        return {ours, theirs};
    }

    bool is_allowed(Strategy strategy, const One& one) {
        const auto [our_node, their_node] = apart(one.queue);
        const BorrowedShare ours = borrowed_share(tree, our_node);
        if (strategy == Strategy::less_than_initial_share) {
            return compare(ours, borrowed_share(tree, their_node)) < 0;
        }
        count(node_of(one.queue), one.usage, false);
        const BorrowedShare after = borrowed_share(tree, their_node);
        count(node_of(one.queue), one.usage, true);
        return compare(ours, after) <= 0;
    }

    bool try_first(Strategy strategy, Line line) {
        done.clear();
        const bool entitled =
            std::none_of(preemptor.contested.begin(), preemptor.contested.end(),
                         [&](FlavorResource what) { return borrows(tree, own(), what); });
        while (const auto queue = next(line)) {
            if (*queue == preemptor.queue || entitled) {
                choose(pop(line, *queue), *queue == preemptor.queue
                                              ? PreemptionCause::in_cluster_queue
                                              : PreemptionCause::in_cohort_reclamation);
                if (fits_besides_itself()) return true;
                continue;
            }
            while (first_of(line, *queue) != line.end()) {
                const One one = pop(line, *queue);
                if (!is_allowed(strategy, one)) {
                    left.push_back(one);
                    continue;
                }
                choose(one, PreemptionCause::in_cohort_fair_sharing);
                if (fits_besides_itself()) return true;
                break;
            }
        }
        return false;
    }

    bool try_second() {
        done.clear();
        Line line = left;
        while (const auto queue = next(line)) {
            const One one = pop(line, *queue);
            done.insert(node_of(*queue));
            if (!is_allowed(Strategy::less_than_initial_share, one)) continue;
            choose(one, PreemptionCause::in_cohort_fair_sharing);
            if (fits_besides_itself()) return true;
        }
        return false;
    }

    /// Of those chosen whoever need not go, last first but for the last; then all is as before.
    std::vector<Victim> victims() {
        for (std::size_t i = chosen.size() - 1; i-- > 0;) {
            const auto kept = chosen;
            count(node_of(chosen[i].first.queue), chosen[i].first.usage, true);
            chosen[i] = chosen.back();
            chosen.pop_back();
            if (fits()) continue;
            chosen = kept;
            count(node_of(chosen[i].first.queue), chosen[i].first.usage, false);
        }
        std::vector<Victim> found;
        for (const auto& [one, cause] : chosen)
            found.push_back({one.workload, cause});
        return found;
    }

    bool has_preempted(const One& one) const {
        const auto known = world.preemptions.find(tree.root_of(own()));
        return known != world.preemptions.end() &&
               known->second.contains({world.name_of(preemptor.workload), one.name});
    }

    /// Those that it has sent away already are enough.
    bool waits_for_its_victims(const Line& line) {
        for (const One& one : line) {
            if (!one.leaving || !has_preempted(one)) continue;
            choose(one, one.own ? PreemptionCause::in_cluster_queue
                                : PreemptionCause::in_cohort_fair_sharing);
            if (fits()) return true;
        }
        put_back();
        return false;
    }

    void put_back() {
        for (const auto& [one, cause] : chosen)
            count(node_of(one.queue), one.usage, true);
        chosen.clear();
    }

    std::vector<Victim> find() {
        const Line line = candidates();
        std::vector<Strategy> strategies = *world.options.fair_sharing;
        if (strategies.empty()) {
            strategies = {Strategy::less_than_or_equal_to_final_share,
                          Strategy::less_than_initial_share};
        }
        std::vector<Victim> found;
        if (waits_for_its_victims(line)) {
            found = victims();
        } else {
            count(own(), preemptor.needs, true);
            const bool fits =
                try_first(strategies.front(), line) || (strategies.size() > 1 && try_second());
            count(own(), preemptor.needs, false);
            if (fits) found = victims();
        }
        put_back();
        return found;
    }
};

}  // namespace muster::decide

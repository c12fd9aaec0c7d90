// decide/preempt/fair.cpp - victims by fair sharing: from whoever has borrowed the largest part.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "decide/flat_map.h"
#include "decide/preempt/candidates.h"
#include "decide/quota/share.h"

namespace muster::decide {

namespace {

using Strategy = Options::Strategy;

/// The tree as a source of victims: queues with candidates, the largest share first. Candidates of
/// a queue come in their order.
class Sources {
public:
    Sources(const Scene& scene, const Preemptor& preemptor);
    void add(CandidateLine& line) { lines_[line.queue()].source = &line; }
    void reserve(std::size_t queues) {
        lines_.reserve(queues);
        shares_.reserve(queues);
        done_.reserve(queues);
    }
    /// Requires: those of one queue come in their order.
    void add(const Candidate& candidate) { lines_[candidate.queue].known.push_back(&candidate); }

    /// The queue to look at next; absent when nobody is left.
    std::optional<QueueId> next();
    bool has(QueueId queue) { return front(queue) != nullptr; }
    const Candidate& pop(QueueId queue);
    void leave_out(QueueId queue, const Candidate* refused) {
        if (CandidateLine* line = lines_[queue].source) line->leave_out(refused);
    }
    void drop(QueueId queue) { done_[node_of(queue)] = true; }

    /// The two children of the lowest common cohort: above the preemptor and above the queue.
    std::pair<QuotaNode, QuotaNode> apart(QueueId queue) const;

    /// It is kept until something in the tree changes, which must be said.
    BorrowedShare share_of(QuotaNode node);
    void forget_shares() { shares_.clear(); }

private:
    struct Line {
        CandidateLine* source = nullptr;      // Null: only those that are known.
        std::vector<const Candidate*> known;  // Without a source.
        std::size_t at = 0;
    };

    const Candidate* front(QueueId queue);  // Null when there are no more.

    std::optional<QueueId> next_below(QuotaNode cohort);
    bool is_better(const BorrowedShare& share, QueueId queue, const BorrowedShare& than,
                   std::optional<QueueId> other);
    bool is_above(QuotaNode node) const {
        return std::find(above_.begin(), above_.end(), node) != above_.end();
    }
    bool is_done(QuotaNode node) { return done_.find(node) != nullptr; }
    QuotaNode node_of(QueueId queue) const { return scene_.world.queue(queue).plan.node; }

    const Scene& scene_;
    const Preemptor& preemptor_;
    std::vector<QuotaNode> above_;  // The preemptor's cohorts.
    FlatMap<QueueId, Line> lines_;
    FlatMap<QuotaNode, bool> done_;  // Nodes that will give nobody any more.
    FlatMap<QuotaNode, BorrowedShare> shares_;
};

Sources::Sources(const Scene& scene, const Preemptor& preemptor)
    : scene_(scene), preemptor_(preemptor) {
    for (auto at = scene.tree.parent_of(node_of(preemptor.queue)); at;
         at = scene.tree.parent_of(*at)) {
        above_.push_back(*at);
    }
}

BorrowedShare Sources::share_of(QuotaNode node) {
    if (const BorrowedShare* known = shares_.find(node)) return *known;
    return shares_[node] = borrowed_share(scene_.tree, node);
}

const Candidate* Sources::front(QueueId queue) {
    const Line* line = lines_.find(queue);
    if (line == nullptr) return nullptr;
    if (line->source != nullptr) return line->source->peek();
    return line->at < line->known.size() ? line->known[line->at] : nullptr;
}

const Candidate& Sources::pop(QueueId queue) {
    const Candidate* first = front(queue);
    Line& line = lines_[queue];
    if (line.source != nullptr) line.source->pop();
    ++line.at;
    return *first;
}

std::optional<QueueId> Sources::next() {
    const QuotaNode own = node_of(preemptor_.queue);
    if (!scene_.tree.parent_of(own)) {
        if (is_done(own) || !has(preemptor_.queue)) return std::nullopt;
        return preemptor_.queue;
    }
    const QuotaNode root = scene_.tree.root_of(own);
    while (!is_done(root)) {
        if (const auto found = next_below(root)) return found;
    }
    return std::nullopt;
}

// Among equals the one whose first candidate comes first.
bool Sources::is_better(const BorrowedShare& share, QueueId queue, const BorrowedShare& than,
                        std::optional<QueueId> other) {
    if (!other) return true;
    const auto order = compare(share, than);
    if (order != 0) return order > 0;
    return preempted_before(*front(queue), *front(*other));
}

// The child with the largest share, cohorts before queues; nothing when a step only found out that
// nobody is left somewhere. A queue is asked for its candidates when it may be the one.
std::optional<QueueId> Sources::next_below(QuotaNode cohort) {
    std::optional<QueueId> best_queue;
    BorrowedShare of_queue;
    std::optional<QuotaNode> best_cohort;
    BorrowedShare of_cohort;
    for (const QuotaNode child : scene_.tree.children_of(cohort)) {
        if (is_done(child)) continue;
        const BorrowedShare share = share_of(child);
        const auto queue = scene_.world.queue_at(child);
        const bool on_path = queue ? queue == preemptor_.queue : is_above(child);
        if (!share.borrows && !on_path) {
            done_[child] = true;
        } else if (!queue) {
            const auto order =
                best_cohort ? compare(share, of_cohort) : std::strong_ordering::greater;
            const bool first_name =
                order == 0 && scene_.world.name_at(child) < scene_.world.name_at(*best_cohort);
            if (order > 0 || first_name) {
                best_cohort = child;
                of_cohort = share;
            }
        } else if (!best_queue || compare(share, of_queue) >= 0) {
            if (!has(*queue)) {
                done_[child] = true;
            } else if (is_better(share, *queue, of_queue, best_queue)) {
                best_queue = queue;
                of_queue = share;
            }
        }
    }
    if (!best_cohort && !best_queue) {
        done_[cohort] = true;
        return std::nullopt;
    }
    if (best_cohort && (!best_queue || compare(of_cohort, of_queue) >= 0)) {
        return next_below(*best_cohort);
    }
    return best_queue;
}

std::pair<QuotaNode, QuotaNode> Sources::apart(QueueId queue) const {
    QuotaNode theirs = node_of(queue);
    auto above = scene_.tree.parent_of(theirs);
    while (above && !is_above(*above)) {
        theirs = *above;
        above = scene_.tree.parent_of(theirs);
    }
    QuotaNode ours = node_of(preemptor_.queue);
    while (scene_.tree.parent_of(ours) != above)
        ours = *scene_.tree.parent_of(ours);
    return {ours, theirs};
}

/// Of all that the other uses, at least as much.
bool uses_as_much(const Candidate& one, const Candidate& other) {
    return std::equal(
        one.usage.begin(), one.usage.end(), other.usage.begin(), other.usage.end(),
        [](const Share& a, const Share& b) { return a.what == b.what && a.amount >= b.amount; });
}

/// The search for one preemptor.
struct Fair {
    const Scene& scene;
    const Preemptor& preemptor;
    std::vector<CandidateLine> lines{};
    std::map<QueueId, const Candidate*> left{};  // The first of each queue that was passed over.

    bool is_in_vain(Trial& trial);
    bool has_preempted() const;
    bool is_entitled() const;
    void collect();
    bool has_any();
    std::vector<Victim> leaving(const Suits& suits);
    bool allows(Strategy strategy, const BorrowedShare& ours, const BorrowedShare& theirs,
                const Candidate& candidate, QuotaNode node) const;
    bool try_first(Trial& trial, Strategy strategy);
    bool try_one_of(Trial& trial, Strategy strategy, Sources& sources, QueueId queue);
    bool try_second(Trial& trial);
};

// Nobody has a share that is larger than that of the preemptor would be: most searches, wherever
// many wait. Nobody would be chosen, so that all shares stay as they are.
bool Fair::is_in_vain(Trial& trial) {
    const World& world = scene.world;
    const QueueEntry& entry = world.queue(preemptor.queue);
    const auto tree = world.queues_by_root.find(scene.tree.root_of(entry.plan.node));
    if (entry.plan.preemption.within_queue != Preemption::WithinQueue::never ||
        tree == world.queues_by_root.end() || has_preempted() ||
        world.hopeless == World::Hopeless::tried) {
        return false;
    }
    trial.count_preemptor(Trial::Counted::yes);
    const Sources sources(scene, preemptor);
    std::optional<std::pair<QuotaNode, BorrowedShare>> last;  // It is mostly the same node of ours.
    const auto is_spared = [&](QueueId queue) {
        if (queue == preemptor.queue ||
            within_nominal(scene.tree, world.queue(queue).plan.node, preemptor)) {
            return true;
        }
        const auto [ours, theirs] = sources.apart(queue);
        if (!last || last->first != ours) last.emplace(ours, borrowed_share(scene.tree, ours));
        return compare(last->second, borrowed_share(scene.tree, theirs)) > 0;
    };
    const bool in_vain =
        !is_entitled() && std::all_of(tree->second.begin(), tree->second.end(), is_spared);
    trial.count_preemptor(Trial::Counted::no);
    return in_vain;
}

bool Fair::has_preempted() const {
    const World& world = scene.world;
    const QuotaNode root = scene.tree.root_of(world.queue(preemptor.queue).plan.node);
    const auto known = world.preemptions.find(root);
    if (known == world.preemptions.end()) return false;
    const std::string& name = world.name_of(preemptor.workload);
    const auto first = known->second.lower_bound({name, {}});
    return first != known->second.end() && first->first.first == name;
}

// What is its own by quota it gets back without a comparison of shares.
bool Fair::is_entitled() const {
    return within_nominal(scene.tree, scene.world.queue(preemptor.queue).plan.node, preemptor);
}

// Of other queues only those that borrow something contested.
void Fair::collect() {
    const World& world = scene.world;
    const QuotaNode own = world.queue(preemptor.queue).plan.node;
    const Preemption& policy = world.queue(preemptor.queue).plan.preemption;
    const auto tree = world.queues_by_root.find(scene.tree.root_of(own));
    if (tree != world.queues_by_root.end()) lines.reserve(tree->second.size() + 1);
    lines.emplace_back(scene, preemptor, preemptor.queue);
    if (policy.reclaim_within_cohort == Preemption::Reclaim::never || !scene.tree.parent_of(own) ||
        tree == world.queues_by_root.end()) {
        return;
    }
    for (const QueueId queue : tree->second) {
        if (queue != preemptor.queue &&
            !within_nominal(scene.tree, world.queue(queue).plan.node, preemptor)) {
            lines.emplace_back(scene, preemptor, queue);
        }
    }
}

bool Fair::has_any() {
    return std::any_of(lines.begin(), lines.end(),
                       [](CandidateLine& line) { return line.peek() != nullptr; });
}

// When those that it has preempted already make room enough, nobody else has to go.
std::vector<Victim> Fair::leaving(const Suits& suits) {
    if (!has_preempted()) return {};
    const World& world = scene.world;
    const QuotaNode root = scene.tree.root_of(world.queue(preemptor.queue).plan.node);
    const Preemptions& known = world.preemptions.at(root);
    std::vector<const Candidate*> candidates;
    for (CandidateLine& line : lines) {
        for (const Candidate* next = line.peek(); next != nullptr && next->leaving;
             next = line.peek()) {
            candidates.push_back(next);
            line.pop();
        }
        line.rewind();
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate* a, const Candidate* b) { return preempted_before(*a, *b); });
    Trial trial(scene, preemptor, suits);
    for (const Candidate* candidate : candidates) {
        if (!known.contains({world.name_of(preemptor.workload), *candidate->name.text})) {
            continue;
        }
        trial.choose(*candidate, candidate->own ? PreemptionCause::in_cluster_queue
                                                : PreemptionCause::in_cohort_fair_sharing);
        if (trial.fits(Borrowing::allowed)) return trial.give_back(Borrowing::allowed);
    }
    return {};
}

// The share after the candidate has gone is found by taking it out for a moment.
bool Fair::allows(Strategy strategy, const BorrowedShare& ours, const BorrowedShare& theirs,
                  const Candidate& candidate, QuotaNode node) const {
    if (strategy == Strategy::less_than_initial_share) return compare(ours, theirs) < 0;
    for (const Share& share : candidate.usage)
        scene.tree.remove_usage(candidate.node, share.what, share.amount);
    const BorrowedShare after = borrowed_share(scene.tree, node);
    for (const Share& share : candidate.usage)
        scene.tree.add_usage(candidate.node, share.what, share.amount);
    return compare(ours, after) <= 0;
}

bool Fair::try_first(Trial& trial, Strategy strategy) {
    Sources sources(scene, preemptor);
    sources.reserve(lines.size());
    for (CandidateLine& line : lines)
        sources.add(line);
    const bool entitled = is_entitled();
    while (const auto queue = sources.next()) {
        if (*queue == preemptor.queue || entitled) {
            const Candidate& candidate = sources.pop(*queue);
            trial.choose(candidate, candidate.own ? PreemptionCause::in_cluster_queue
                                                  : PreemptionCause::in_cohort_reclamation);
            sources.forget_shares();
            if (trial.fits(Borrowing::allowed)) return true;
        } else if (try_one_of(trial, strategy, sources, *queue)) {
            return true;
        }
    }
    return false;
}

bool Fair::try_one_of(Trial& trial, Strategy strategy, Sources& sources, QueueId queue) {
    const auto [our_node, their_node] = sources.apart(queue);
    const BorrowedShare ours = sources.share_of(our_node);
    const BorrowedShare theirs = sources.share_of(their_node);
    // Theirs only becomes smaller without one of them: if it is too small with all, it is with
    // none.
    const auto order = compare(ours, theirs);
    if (order > 0 || (order == 0 && strategy == Strategy::less_than_initial_share)) {
        left.emplace(queue, &sources.pop(queue));
        sources.drop(queue);
        return false;
    }
    const Candidate* refused = nullptr;
    while (sources.has(queue)) {
        const Candidate& candidate = sources.pop(queue);
        if (refused != nullptr && uses_as_much(candidate, *refused)) continue;
        if (!allows(strategy, ours, theirs, candidate, their_node)) {
            left.emplace(queue, &candidate);
            refused = &candidate;
            sources.leave_out(queue, refused);
            continue;
        }
        sources.leave_out(queue, nullptr);  // With other shares they may be allowed.
        trial.choose(candidate, PreemptionCause::in_cohort_fair_sharing);
        sources.forget_shares();
        return trial.fits(Borrowing::allowed);
    }
    return false;
}

// It does not depend on the victim, so one of each queue is enough.
bool Fair::try_second(Trial& trial) {
    Sources sources(scene, preemptor);
    for (const auto& [queue, candidate] : left)
        sources.add(*candidate);
    while (const auto queue = sources.next()) {
        const auto [our_node, their_node] = sources.apart(*queue);
        const Candidate& candidate = sources.pop(*queue);
        sources.drop(*queue);
        if (compare(sources.share_of(our_node), sources.share_of(their_node)) >= 0) continue;
        trial.choose(candidate, PreemptionCause::in_cohort_fair_sharing);
        sources.forget_shares();
        if (trial.fits(Borrowing::allowed)) return true;
    }
    return false;
}

}  // namespace

std::vector<Victim> fair_victims(const Scene& scene, const Preemptor& preemptor,
                                 const Suits& suits) {
    static const std::vector<Strategy> both = {Strategy::less_than_or_equal_to_final_share,
                                               Strategy::less_than_initial_share};
    const auto& chosen = *scene.world.options.fair_sharing;
    const std::vector<Strategy>& strategies = chosen.empty() ? both : chosen;
    Fair search{scene, preemptor};
    Trial trial(scene, preemptor, suits);
    if (search.is_in_vain(trial)) return {};
    search.collect();
    if (!search.has_any()) return {};
    if (auto enough = search.leaving(suits); !enough.empty()) return enough;
    trial.count_preemptor(Trial::Counted::yes);
    const bool found = search.try_first(trial, strategies.front()) ||
                       (strategies.size() > 1 && search.try_second(trial));
    if (!found) return {};
    trial.count_preemptor(Trial::Counted::no);
    return trial.give_back(Borrowing::allowed);
}

}  // namespace muster::decide

// decide/why.cpp - gathers what binds a waiting workload, who holds it, and what is to be said of
// it.
#include "decide/why.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "decide/evaluate.h"
#include "decide/remedy.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

using Phase = WorkloadEntry::Phase;
using Rule = WaitReason::Rule;
using Verdict = Explanation::Verdict;

constexpr std::size_t holders_shown = 5;

/// The explanation in the making.
struct Explaining {
    const State& state;
    const World& world;
    WorkloadId id;
    Time now;
    Explanation explanation;

    std::optional<WaitReason> fresh_reason(WorkloadId of) const;
    void find_position();
    void find_constraints(const WaitReason& reason);
    void quota_constraint(const WaitReason& reason, const Obstacle& obstacle);
    void node_constraints(const WaitReason& reason);
    void set_holders(Constraint& constraint, std::vector<Holder> all) const;
    std::vector<Holder> quota_holders(QueueId queue, FlavorResource what) const;
    Verdict verdict(const WaitReason& reason) const;
};

// Of what is free, rather than of who goes first.
bool depends_on_numbers(Rule rule) {
    switch (rule) {
        case Rule::not_covered:
        case Rule::no_matching_flavor:
        case Rule::exceeds_maximum:
        case Rule::exceeds_nodes:
        case Rule::quota:
        case Rule::nodes:
        case Rule::topology:
        case Rule::exceeds_topology:
            return true;
        default:
            return false;
    }
}

}  // namespace

Explanation why(const State& state, std::string_view workload, Time now) {
    const World& world = state.world();
    Explanation unknown;
    unknown.workload = workload;
    const auto id = world.workload_names.find(workload);
    if (!id) return unknown;
    Explaining explaining{state, world, *id, now, unknown};
    Explanation& explanation = explaining.explanation;
    const WorkloadEntry& entry = world.workload(*id);
    if (entry.phase == Phase::finished) explanation.verdict = Verdict::finished;
    if (entry.phase == Phase::holding) {
        explanation.verdict =
            entry.stage == Workload::Stage::reserved ? Verdict::reserved : Verdict::runs;
    }
    if (entry.phase == Phase::evicting) {
        explanation.verdict = Verdict::starts_by_itself;
        explanation.reason.emplace().rule = Rule::being_ended;
    }
    if (entry.phase != Phase::waiting) return std::move(explanation);
    const auto reason = explaining.fresh_reason(*id);
    if (!reason) return std::move(explanation);
    explanation.reason = *reason;
    if (reason->rule == Rule::backoff) explanation.starts_at = reason->until;
    explaining.find_position();
    explaining.find_constraints(*reason);
    explanation.verdict = explaining.verdict(*reason);
    RemedySearch search(state, explanation, *id, now);
    if (auto found = search.find()) explanation.remedy = std::move(*found);
    explanation.changes_tried = search.tried();
    return std::move(explanation);
}

namespace {

// The reason as it is now: what others took since it was last tried counts.
std::optional<WaitReason> Explaining::fresh_reason(WorkloadId of) const {
    const auto last = world.reason_now(of, now);
    const WorkloadEntry& entry = world.workload(of);
    if (last == nullptr) return std::nullopt;
    if (!entry.enqueued || !depends_on_numbers(last->rule)) return *last;
    Ledger ledger = world.ledger;
    QuotaTree tree = world.tree;
    const std::set<WorkloadId> nobody;
    Try what{*entry.enqueued, world.class_of(of, *entry.enqueued), of};
    what.preempting = Try::Preempting::left_out;
    Attempt attempt = evaluate({world, tree, nobody}, ledger, what);
    if (attempt.mode != Attempt::Mode::fit) return std::move(*attempt.reason);
    return *last;  // It fits since, and starts with the next decision.
}

void Explaining::find_position() {
    const WorkloadEntry& entry = world.workload(id);
    if (!entry.enqueued) return;
    const auto order = world.queue(*entry.enqueued).pending.in_order(now);
    const auto mine = std::find_if(order.begin(), order.end(),
                                   [&](const Turn& turn) { return turn.workload == id; });
    explanation.position = mine - order.begin() + 1;
    explanation.waiting = static_cast<std::int64_t>(order.size());
}

void Explaining::find_constraints(const WaitReason& reason) {
    if (reason.rule == Rule::behind_head) {
        const auto head = world.workload_names.find(reason.head);
        const auto heads = head ? fresh_reason(*head) : std::nullopt;
        if (heads) find_constraints(*heads);
        return;
    }
    for (const Obstacle& obstacle : reason.obstacles)
        quota_constraint(reason, obstacle);
    if (reason.rule == Rule::nodes || reason.rule == Rule::exceeds_nodes) node_constraints(reason);
}

void Explaining::quota_constraint(const WaitReason& reason, const Obstacle& obstacle) {
    if (obstacle.rule != Obstacle::Rule::insufficient &&
        obstacle.rule != Obstacle::Rule::exceeds_maximum) {
        return;
    }
    Constraint constraint;
    constraint.place = Constraint::Place::quota;
    constraint.queue = reason.cluster_queue;
    constraint.flavor = obstacle.flavor;
    constraint.pod_set = obstacle.pod_set;
    constraint.resource = obstacle.resource;
    constraint.needed = obstacle.earlier + obstacle.needed;
    constraint.free = obstacle.free;
    constraint.capacity = obstacle.maximum;
    constraint.short_by = obstacle.short_by;
    const auto queue = world.queue_names.find(reason.cluster_queue);
    const auto flavor = world.book.flavors.find(obstacle.flavor);
    const auto resource = world.book.resources.find(obstacle.resource);
    if (queue && flavor && resource) {
        set_holders(constraint, quota_holders(*queue, {*flavor, *resource}));
    }
    explanation.constraints.push_back(std::move(constraint));
}

// Sums that are short say most; when sums suffice and only no single node has room, each node does.
void Explaining::node_constraints(const WaitReason& reason) {
    const auto add = [&](const Refusal::Lack& lack, const std::string& node,
                         const std::string& pod_set) {
        Constraint constraint;
        const bool empty = reason.rule == Rule::exceeds_nodes;
        constraint.place = empty ? Constraint::Place::empty_nodes : Constraint::Place::nodes;
        constraint.node = node;
        constraint.pod_set = pod_set;
        constraint.resource = lack.resource;
        constraint.needed = lack.needed;
        constraint.free = lack.free;
        constraint.capacity = lack.allocatable;
        constraint.short_by = lack.needed - lack.free;
        if (!empty) set_holders(constraint, world.ledger.holders(lack.resource, node));
        explanation.constraints.push_back(std::move(constraint));
    };
    for (const Refusal::Lack& lack : reason.lacks)
        add(lack, {}, {});
    if (!reason.lacks.empty()) return;
    for (const Refusal& refusal : reason.refusals) {
        for (const Refusal::Lack& lack : refusal.lacks)
            add(lack, refusal.node, reason.pod_set);
    }
}

void Explaining::set_holders(Constraint& constraint, std::vector<Holder> all) const {
    std::erase_if(all, [](const Holder& holder) { return holder.amount.value <= 0; });
    constraint.more_holders =
        static_cast<std::int64_t>(all.size() - std::min(all.size(), holders_shown));
    all.resize(std::min(all.size(), holders_shown));
    constraint.holders = std::move(all);
}

std::vector<Holder> Explaining::quota_holders(QueueId queue, FlavorResource what) const {
    const QuotaNode root = world.tree.root_of(world.queue(queue).plan.node);
    std::vector<Holder> all;
    for (const QueueEntry& entry : world.queues) {
        if (world.tree.root_of(entry.plan.node) != root) continue;
        for (const HolderTurn& holder : entry.holders) {
            const Held& held = *world.workload(holder.workload).held;
            Amount sum;
            for (std::size_t i = 0; i < held.pod_sets.size(); ++i) {
                for (const Share& share : world.live_shares(held, i)) {
                    if (share.what == what) sum += share.amount;
                }
            }
            all.push_back({*holder.name.text, sum});
        }
    }
    std::sort(all.begin(), all.end(), [](const Holder& a, const Holder& b) {
        return std::tie(b.amount, a.workload) < std::tie(a.amount, b.workload);
    });
    return all;
}

Verdict Explaining::verdict(const WaitReason& reason) const {
    switch (reason.rule) {
        case Rule::exceeds_maximum:
        case Rule::exceeds_nodes:
        case Rule::exceeds_topology:
            return Verdict::never;
        case Rule::backoff:
        case Rule::being_ended:
        case Rule::quota:
        case Rule::nodes:
        case Rule::topology:
        case Rule::preempting:
        case Rule::overtaken:
        case Rule::deferred:
        case Rule::behind_preemptor:
        case Rule::pods_not_ready:
            return Verdict::starts_by_itself;
        case Rule::behind_head: {
            const auto head = world.workload_names.find(reason.head);
            const auto heads = head ? world.reason_now(*head, now) : nullptr;
            if (heads == nullptr || heads->rule == Rule::behind_head) {
                return Verdict::starts_by_itself;
            }
            return verdict(*heads) == Verdict::starts_by_itself ? Verdict::starts_by_itself
                                                                : Verdict::needs_someone;
        }
        default:
            return Verdict::needs_someone;
    }
}

}  // namespace

}  // namespace muster::decide

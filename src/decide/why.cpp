// decide/why.cpp - gathers what binds a waiting workload and tries what would help on a copy.
#include "decide/why.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "decide/evaluate.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

using Phase = WorkloadEntry::Phase;
using Rule = WaitReason::Rule;
using Verdict = Explanation::Verdict;

constexpr std::size_t holders_shown = 5;
constexpr std::size_t tries_max = 64;  // Of ends of others, each on a copy.

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
    void find_remedy(const WaitReason& reason);
    bool starts_after(const std::vector<Change>& changes) const;
    std::optional<Remedy> end_one_of(const std::vector<std::string>& candidates) const;
    std::vector<std::string> holders_by_size() const;
    std::optional<Remedy> raise_quota() const;
    std::optional<Remedy> end_holder() const;
    std::optional<Remedy> add_capacity() const;
};

std::vector<Change> ended(const World& world, const std::string& workload) {
    std::vector<Change> changes;
    constexpr std::string_view pod_prefix = "pod ";
    if (workload.starts_with(pod_prefix)) {
        changes.emplace_back(PodGone{workload.substr(pod_prefix.size())});
        return changes;
    }
    changes.emplace_back(WorkloadFinished{workload});
    for (const std::string& pod : world.ledger.pods_of(workload)) {
        changes.emplace_back(PodGone{pod});
    }
    return changes;
}

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

Remedy remedy(Remedy::Kind kind, std::string queue = {}, std::string flavor = {}) {
    Remedy made;
    made.kind = kind;
    made.queue = std::move(queue);
    made.flavor = std::move(flavor);
    return made;
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
    if (entry.phase == Phase::holding) explanation.verdict = Verdict::runs;
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
    explaining.find_remedy(*reason);
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
    if (attempt.mode != Attempt::Mode::fit) return std::move(attempt.reason);
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
        for (const WorkloadId holder : entry.holders) {
            const Held& held = *world.workload(holder).held;
            Amount sum;
            for (std::size_t i = 0; i < held.pod_sets.size(); ++i) {
                for (const Share& share : world.live_shares(held, i)) {
                    if (share.what == what) sum += share.amount;
                }
            }
            all.push_back({world.name_of(holder), sum});
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

void Explaining::find_remedy(const WaitReason& reason) {
    std::optional<Remedy> found;
    switch (reason.rule) {
        case Rule::deactivated:
            found = remedy(Remedy::Kind::activate);
            break;
        case Rule::local_queue_missing:
            found = remedy(Remedy::Kind::create_queue, reason.local_queue);
            break;
        case Rule::cluster_queue_missing:
            found = remedy(Remedy::Kind::create_queue, reason.cluster_queue);
            break;
        case Rule::local_queue_stopped:
            found = remedy(Remedy::Kind::resume_queue, reason.local_queue);
            break;
        case Rule::cluster_queue_stopped:
            found = remedy(Remedy::Kind::resume_queue, reason.cluster_queue);
            break;
        case Rule::flavor_missing:
            found = remedy(Remedy::Kind::create_flavor, reason.cluster_queue, reason.detail);
            break;
        case Rule::behind_head:
        case Rule::behind_preemptor:
            found = end_one_of({reason.head});
            break;
        case Rule::preempting:
        case Rule::preemption_circle:
            found = end_one_of(reason.victims);
            if (!found) found = raise_quota();
            break;
        case Rule::topology:
        case Rule::overtaken:
        case Rule::deferred:
            found = end_one_of(holders_by_size());
            break;
        case Rule::quota:
        case Rule::exceeds_maximum:
            found = raise_quota();
            if (!found) found = end_holder();
            break;
        case Rule::nodes:
        case Rule::exceeds_nodes:
            found = end_holder();
            if (!found) found = add_capacity();
            break;
        default:
            break;
    }
    if (found) explanation.remedy = std::move(*found);
}

bool Explaining::starts_after(const std::vector<Change>& changes) const {
    State copy = state;
    for (const Change& change : changes)
        apply(copy, change);
    const Decision decision = decide(copy, now);
    return std::any_of(decision.admits.begin(), decision.admits.end(),
                       [&](const Admit& admit) { return admit.workload == explanation.workload; });
}

// The flavor that is short of least, when that is all it is short of.
std::optional<Remedy> Explaining::raise_quota() const {
    std::vector<Constraint> tries = explanation.constraints;
    std::stable_sort(tries.begin(), tries.end(), [](const Constraint& a, const Constraint& b) {
        return a.short_by < b.short_by;
    });
    for (const Constraint& constraint : tries) {
        Remedy found = remedy(Remedy::Kind::raise_quota, constraint.queue, constraint.flavor);
        found.resource = constraint.resource;
        found.amount = constraint.short_by;
        const std::vector<Change> changes = changes_of(state, found);
        if (!changes.empty() && starts_after(changes)) return found;
    }
    return std::nullopt;
}

// The smallest holder whose end is enough.
std::optional<Remedy> Explaining::end_holder() const {
    std::vector<Holder> holders;
    for (const Constraint& constraint : explanation.constraints) {
        holders.insert(holders.end(), constraint.holders.begin(), constraint.holders.end());
    }
    std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
        return std::tie(a.amount, a.workload) < std::tie(b.amount, b.workload);
    });
    for (const Holder& holder : holders) {
        if (!starts_after(ended(world, holder.workload))) continue;
        Remedy found = remedy(Remedy::Kind::end_workload);
        found.workload = holder.workload;
        return found;
    }
    return std::nullopt;
}

// Capacity that is short of in one resource only.
std::optional<Remedy> Explaining::add_capacity() const {
    if (explanation.constraints.empty()) return std::nullopt;
    const Constraint& least = *std::min_element(
        explanation.constraints.begin(), explanation.constraints.end(),
        [](const Constraint& a, const Constraint& b) { return a.short_by < b.short_by; });
    for (const Constraint& constraint : explanation.constraints) {
        if (constraint.resource != least.resource) return std::nullopt;
    }
    Remedy found = remedy(Remedy::Kind::add_capacity);
    found.resource = least.resource;
    found.node = least.node;
    found.amount = least.short_by;
    return found;
}

// The first of them whose end alone is enough.
std::optional<Remedy> Explaining::end_one_of(const std::vector<std::string>& candidates) const {
    std::size_t tries = 0;
    for (const std::string& candidate : candidates) {
        if (++tries > tries_max) break;
        if (!starts_after(ended(world, candidate))) continue;
        Remedy found = remedy(Remedy::Kind::end_workload);
        found.workload = candidate;
        return found;
    }
    return std::nullopt;
}

// Who has the fewest pods comes first. Nodes are shared by all trees.
std::vector<std::string> Explaining::holders_by_size() const {
    std::vector<std::pair<std::int64_t, std::string>> all;
    for (const QueueEntry& entry : world.queues) {
        for (const WorkloadId holder : entry.holders) {
            std::int64_t pods = 0;
            for (const std::int64_t live : world.workload(holder).held->live)
                pods += live;
            all.emplace_back(pods, world.name_of(holder));
        }
    }
    std::sort(all.begin(), all.end());
    std::vector<std::string> names;
    for (auto& [pods, name] : all)
        names.push_back(std::move(name));
    return names;
}

}  // namespace

std::vector<Change> changes_of(const State& state, const Remedy& remedy) {
    const World& world = state.world();
    if (remedy.kind == Remedy::Kind::end_workload) return ended(world, remedy.workload);
    const auto queue = world.queue_names.find(remedy.queue);
    if (remedy.kind != Remedy::Kind::raise_quota || !queue || !world.queue(*queue).spec) return {};
    ClusterQueue raised = *world.queue(*queue).spec;
    for (ResourceGroup& group : raised.groups) {
        for (FlavorQuotas& flavor : group.flavors) {
            if (flavor.flavor != remedy.flavor) continue;
            const auto quota = flavor.resources.find(remedy.resource);
            if (quota != flavor.resources.end()) quota->second.nominal += remedy.amount;
        }
    }
    return {QueueSet{std::move(raised)}};
}

}  // namespace muster::decide

// decide/cycle.cpp - cycles to rest: of each queue the first that may fit, all of them in one
// order, admitted while they fit, again and again until nothing moves.
#include "decide/cycle.h"

#include <algorithm>
#include <utility>

#include "decide/evaluate.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

using Phase = WorkloadEntry::Phase;
using Seen = WorkloadEntry::Seen;

/// A workload that fits as things stand at the start of a cycle.
struct Nominee {
    QueueId queue{};
    ClassKey key;
    Turn turn;
    Fit fit;
    std::uint64_t ledger_version = 0;  // Of the nodes it was found to fit.
};

/// One decision in the making. Its steps run in the order in which they stand here.
struct Deciding {
    World& world;
    Time now;
    Decision decision;
    std::set<QueueId> visited;
    // Tried and not fitting, with the number of admissions before.
    std::map<std::pair<QueueId, ClassKey>, std::size_t> blocked;

    void settle();
    void evict();
    void find_places();
    void cycle_to_rest();
    bool wake_gangs();
    void refresh_reasons();
    void tell();

    void settle_queue(QueueId id);
    std::optional<Evict> must_go(WorkloadId id) const;
    std::vector<Nominee> nominate();
    std::optional<Nominee> nominate_from(QueueId id, const Pending::Candidate& candidate);
    void admit(Nominee nominee);
    void block(QueueId id, ClassKey key, WaitReason reason);
};

bool turn_before(const Nominee& a, const Nominee& b) {
    if (a.fit.borrowing_level != b.fit.borrowing_level) {
        return a.fit.borrowing_level < b.fit.borrowing_level;
    }
    return a.turn < b.turn;
}

// Which head is in front is shown, but is not news for those behind it.
bool same_news(const WaitReason& a, const WaitReason& b) {
    if (a.rule == WaitReason::Rule::behind_head && b.rule == a.rule) {
        return a.cluster_queue == b.cluster_queue;
    }
    return a == b;
}

}  // namespace

Decision decide(State& state, Time now) {
    Deciding deciding{state.world(), now, {}, {}, {}};
    deciding.settle();
    deciding.evict();
    deciding.find_places();
    deciding.cycle_to_rest();
    deciding.refresh_reasons();
    deciding.tell();
    if (!state.world().backoffs.empty()) {
        deciding.decision.look_again = state.world().backoffs.begin()->first;
    }
    return std::move(deciding.decision);
}

namespace {

// What follows from changed queues, cohorts and flavors.
void Deciding::settle() {
    std::set<QueueId> queues = std::exchange(world.queues_changed, {});
    if (std::exchange(world.structure_changed, false)) {
        world.tree.settle();
        world.find_roots();
        for (QueueEntry& entry : world.queues) {
            for (GroupPlan& group : entry.plan.groups) {
                group.label_keys.clear();
                for (const FlavorId flavor : group.flavors) {
                    if (!world.book.spec(flavor)) continue;
                    for (const auto& [key, value] : world.book.spec(flavor)->node_labels) {
                        group.label_keys.insert(key);
                    }
                }
            }
        }
        for (std::size_t i = 1; i < world.queues.size(); ++i) {
            const auto id = static_cast<QueueId>(i);
            const auto before = std::pair(world.queue(id).active, world.queue(id).detail);
            settle_queue(id);
            if (before != std::pair(world.queue(id).active, world.queue(id).detail)) {
                queues.insert(id);
            }
        }
        world.wake_all();
    }
    for (const QueueId id : queues) {
        settle_queue(id);
        const QueueEntry& entry = world.queue(id);
        world.to_check.insert(entry.holders.begin(), entry.holders.end());
        for (const LocalQueueId local : entry.local_queues) {
            const auto& members = world.local_queue(local).members;
            world.to_place.insert(members.begin(), members.end());
            world.to_tell.insert(members.begin(), members.end());
        }
    }
}

void Deciding::settle_queue(QueueId id) {
    QueueEntry& entry = world.queue(id);
    entry.active = QueueReport::Active::ready;
    entry.detail.clear();
    if (!entry.spec) return;
    if (entry.spec->stop != StopPolicy::none) {
        entry.active = QueueReport::Active::stopped;
        return;
    }
    for (const GroupPlan& group : entry.plan.groups) {
        for (const FlavorId flavor : group.flavors) {
            if (world.book.spec(flavor)) continue;
            entry.active = QueueReport::Active::flavor_not_found;
            entry.detail = world.book.flavors.name_of(flavor);
            return;
        }
    }
    if (world.tree.in_circle(entry.plan.node)) entry.active = QueueReport::Active::cohort_cycle;
}

void Deciding::evict() {
    for (const WorkloadId id : std::exchange(world.to_check, {})) {
        auto evict = must_go(id);
        if (!evict) continue;
        WorkloadEntry& entry = world.workload(id);
        entry.phase = Phase::evicting;
        entry.seen = Seen::decided;
        world.ledger.withdraw(world.name_of(id));
        decision.evicts.push_back(std::move(*evict));
    }
    std::sort(decision.evicts.begin(), decision.evicts.end(),
              [](const Evict& a, const Evict& b) { return a.workload < b.workload; });
}

std::optional<Evict> Deciding::must_go(WorkloadId id) const {
    const WorkloadEntry& entry = world.workload(id);
    if (entry.phase != Phase::holding || entry.object == WorkloadEntry::Object::removed) {
        return std::nullopt;
    }
    const auto because = [&](Evict::Reason reason, const std::string& queue) {
        Evict evict;
        evict.workload = world.name_of(id);
        evict.reason = reason;
        evict.queue = queue;
        return evict;
    };
    if (entry.activity == Workload::Activity::deactivated) {
        return because(Evict::Reason::deactivated, {});
    }
    const auto& spec = world.queue(entry.held->queue).spec;
    if (spec && spec->stop == StopPolicy::hold_and_drain) {
        return because(Evict::Reason::cluster_queue_stopped, spec->name);
    }
    if (!entry.local_queue) return std::nullopt;
    const auto& local = world.local_queue(*entry.local_queue).spec;
    if (local && local->stop == StopPolicy::hold_and_drain) {
        return because(Evict::Reason::local_queue_stopped, local->name);
    }
    return std::nullopt;
}

// Puts waiting workloads into the order of their queue, or beside it with a reason.
void Deciding::find_places() {
    while (!world.backoffs.empty() && world.backoffs.begin()->first <= now) {
        world.to_place.insert(world.backoffs.begin()->second);
        world.backoffs.erase(world.backoffs.begin());
    }
    for (const WorkloadId id : std::exchange(world.to_place, {})) {
        const WorkloadEntry& entry = world.workload(id);
        if (entry.phase != Phase::waiting) continue;
        world.to_tell.insert(id);
        if (const auto reason = world.ineligible(id, now)) {
            world.dequeue(id);
            if (reason->rule == WaitReason::Rule::backoff) {
                world.backoffs.emplace(entry.not_before, id);
            }
            continue;
        }
        const QueueId target =
            entry.local_queue ? world.local_queue(*entry.local_queue).queue : no_queue;
        if (entry.enqueued == target) continue;
        world.dequeue(id);
        world.enqueue(id, target);
    }
}

void Deciding::cycle_to_rest() {
    wake_gangs();  // Before anyone is tried, so that room goes to whoever is first.
    while (!world.to_try.empty() || wake_gangs()) {
        std::vector<Nominee> nominees = nominate();
        std::sort(nominees.begin(), nominees.end(), turn_before);
        for (Nominee& nominee : nominees) {
            // Earlier ones of this cycle may have taken its place; then it stays for the next.
            const QuotaNode node = world.queue(nominee.queue).plan.node;
            if (!still_fits(world.tree, node, nominee.fit)) continue;
            const Shape& shape = world.shapes.of(nominee.key.shape);
            if (shape.binds == Workload::Binds::quota_and_nodes &&
                nominee.ledger_version != world.ledger.version() &&
                world.ledger.refusal(shape, world.options.capacity)) {
                continue;
            }
            admit(std::move(nominee));
        }
    }
}

// After any change on the nodes gangs are tried again, also when they were blocked before: once
// what is promised has its seats, so that a gang tried twice gets the same answer.
bool Deciding::wake_gangs() {
    if (world.node_bound.empty()) return false;
    world.ledger.settle();
    if (world.gangs_tried == world.ledger.version()) return false;
    world.gangs_tried = world.ledger.version();
    world.wake_bound_to_nodes();
    return !world.to_try.empty();
}

// One from each queue that has someone to try, against the state as it is; who does not fit is
// blocked, and its queue comes again in the next cycle.
std::vector<Nominee> Deciding::nominate() {
    std::vector<Nominee> nominees;
    const std::set<QueueId> queues = world.to_try;
    for (const QueueId id : queues) {
        visited.insert(id);
        const auto candidate = world.queue(id).pending.next(now);
        if (!candidate) {
            world.to_try.erase(id);
            continue;
        }
        if (auto nominee = nominate_from(id, *candidate)) nominees.push_back(std::move(*nominee));
    }
    return nominees;
}

std::optional<Nominee> Deciding::nominate_from(QueueId id, const Pending::Candidate& candidate) {
    auto answer = evaluate(world, world.ledger, id, candidate.key);
    if (auto* reason = std::get_if<WaitReason>(&answer)) {
        block(id, candidate.key, std::move(*reason));
        return std::nullopt;
    }
    return Nominee{id, candidate.key, candidate.turn, std::get<Fit>(std::move(answer)),
                   world.ledger.version()};
}

void Deciding::block(QueueId id, ClassKey key, WaitReason reason) {
    const Pending::News news = world.queue(id).pending.block(key, std::move(reason));
    if (news != Pending::News::none) {
        Pending::News& told = world.classes_to_tell[{id, key}];
        told = std::max(told, news);
    }
    blocked[{id, key}] = decision.admits.size();
}

// Whoever was tried before the last admission is tried once more, so that the numbers of its reason
// are those at rest. Admissions only take, so it still does not fit.
void Deciding::refresh_reasons() {
    for (const auto& [which, admitted_before] : std::exchange(blocked, {})) {
        const auto& [id, key] = which;
        const Pending& pending = world.queue(id).pending;
        if (admitted_before == decision.admits.size() || !pending.has(key)) continue;
        auto answer = evaluate(world, world.ledger, id, key);
        auto* reason = std::get_if<WaitReason>(&answer);
        VERIFY(reason != nullptr);
        block(id, key, std::move(*reason));
    }
}

void Deciding::admit(Nominee nominee) {
    const WorkloadId id = nominee.turn.workload;
    const Shape& shape = world.shapes.of(nominee.key.shape);
    Held held;
    held.queue = nominee.queue;
    for (const PodSetNeed& pod_set : shape.pod_sets) {
        held.names.push_back(pod_set.name);
        held.live.push_back(pod_set.count);
    }
    held.pod_sets = std::move(nominee.fit.pod_sets);
    world.dequeue(id);
    WorkloadEntry& entry = world.workload(id);
    entry.phase = Phase::holding;
    entry.seen = Seen::decided;
    entry.told.reset();
    decision.admits.push_back({world.name_of(id), world.assignment(held)});
    world.hold(id, std::move(held));
    world.ledger.promise(world.name_of(id), shape);
    // There was room for the whole gang: it sits down before anyone else.
    if (shape.binds == Workload::Binds::quota_and_nodes) world.ledger.seat(world.name_of(id));
}

// Gives out the reasons that are news. From here on nothing is decided any more.
void Deciding::tell() {
    for (const auto& [which, news] : std::exchange(world.classes_to_tell, {})) {
        const auto& [id, key] = which;
        const Pending& pending = world.queue(id).pending;
        if (pending.is_strict() || !pending.has(key)) continue;  // Strict: the heads, below.
        for (const Turn& turn : pending.members_of(key)) {
            world.to_tell.insert(turn.workload);
            if (news == Pending::News::numbers) break;
        }
    }
    for (const QueueId id : visited) {
        QueueEntry& entry = world.queue(id);
        if (!entry.pending.is_strict()) continue;
        const auto head = entry.pending.head(now);
        if (entry.told_head) world.to_tell.insert(*entry.told_head);
        entry.told_head.reset();
        if (head) entry.told_head = head->turn.workload;
        if (head) world.to_tell.insert(head->turn.workload);
    }
    for (const WorkloadId id : std::exchange(world.to_tell, {})) {
        WorkloadEntry& entry = world.workload(id);
        auto reason = world.reason_now(id, now);
        if (reason == nullptr || (entry.told != nullptr && same_news(*entry.told, *reason))) {
            continue;
        }
        decision.waits.push_back({world.name_of(id), reason});
        entry.told = std::move(reason);
    }
    std::sort(decision.waits.begin(), decision.waits.end(),
              [](const Wait& a, const Wait& b) { return a.workload < b.workload; });
}

}  // namespace

}  // namespace muster::decide

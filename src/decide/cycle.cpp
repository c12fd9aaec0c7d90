// decide/cycle.cpp - a decision: rounds to rest. Of each queue the first, all of them in one order,
// again and again until nothing moves.
#include "decide/cycle.h"

#include <algorithm>
#include <utility>

#include "decide/deciding.h"

namespace muster::decide {

namespace {

using Phase = WorkloadEntry::Phase;
using Seen = WorkloadEntry::Seen;

// Which head is in front is shown, but is not news for those behind it.
bool same_news(const WaitReason& a, const WaitReason& b) {
    if (a.rule == WaitReason::Rule::behind_head && b.rule == a.rule) {
        return a.cluster_queue == b.cluster_queue;
    }
    return a == b;
}

// What else it waits for than quota is not found again by trying it alone.
bool keeps_its_reason(const WaitReason& reason) {
    return reason.rule == WaitReason::Rule::preemption_gated ||
           reason.rule == WaitReason::Rule::preemption_circle ||
           reason.rule == WaitReason::Rule::pods_not_ready;
}

std::optional<Time> next_look(const World& world, Time now) {
    std::optional<Time> next;
    const auto consider = [&](Time time) {
        if (time > now && (!next || time < *next)) next = time;
    };
    if (!world.backoffs.empty()) consider(world.backoffs.begin()->first);
    for (const auto& [id, until] : world.patience)
        consider(until);
    for (const auto& [id, at] : world.late_wakes)
        consider(at);
    return next;
}

}  // namespace

Decision decide(State& state, Time now, Duration gathering) {
    Deciding deciding{state.world(), now, gathering};
    deciding.settle();
    deciding.add_up_uses();
    deciding.evict();
    deciding.repair();
    deciding.find_places();
    deciding.end_patience();
    deciding.rest();
    deciding.refresh_reasons();
    deciding.tell();
    deciding.decision.look_again = deciding.add_up_uses();
    const auto ends = next_look(state.world(), now);
    std::optional<Time>& look_again = deciding.decision.look_again;
    for (const auto& other : {ends, deciding.gathered_at}) {
        if (other && (!look_again || *other < *look_again)) look_again = other;
    }
    std::sort(deciding.decision.evicts.begin(), deciding.decision.evicts.end(),
              [](const Evict& a, const Evict& b) { return a.workload < b.workload; });
    return std::move(deciding.decision);
}

// What follows from changed queues, cohorts and flavors.
void Deciding::settle() {
    std::set<QueueId> queues = std::exchange(world.queues_changed, {});
    if (std::exchange(world.structure_changed, false)) {
        world.tree.settle();
        world.find_roots();
        world.place_groups = place_groups_of(world.book.specs);
        ++world.plans_version;
        for (std::size_t i = 1; i < world.queues.size(); ++i) {
            const auto id = static_cast<QueueId>(i);
            const auto before = std::pair(world.queue(id).active, world.queue(id).detail);
            settle_queue(id);
            const QueueEntry& entry = std::as_const(world).queue(id);
            if (before == std::pair(entry.active, entry.detail)) continue;
            queues.insert(id);
            // Who waited in a stopped queue is awake, those parked elsewhere hear of it later.
            if (before.first == QueueReport::Active::stopped &&
                entry.active == QueueReport::Active::ready) {
                world.resumed.insert(id);
            }
        }
        // A change of quotas is heard as one release is, by its own tree.
        std::set<QuotaNode> roots;
        for (const QuotaNode node : std::exchange(world.trees_changed, {}))
            roots.insert(world.tree.root_of(node));
        for (const QuotaNode root : roots) {
            world.preemptions.erase(root);
            const auto members = world.queues_by_root.find(root);
            if (members == world.queues_by_root.end()) continue;
            world.wake_tree(members->second.front());
            for (const QueueId id : members->second) {
                if (!world.turning.empty()) forget_searches(id);
                if (!queues.contains(id)) tell_changed(id);
            }
        }
    }
    for (const QueueId id : queues) {
        tell_changed(id);
        settle_queue(id);
        const QueueEntry& entry = world.queue(id);
        for (const HolderTurn& holder : entry.holders)
            world.to_check.insert(holder.workload);
        for (const LocalQueueId local : entry.local_queues) {
            const auto& members = world.local_queue(local).members;
            world.to_place.insert(members.begin(), members.end());
            world.to_tell.insert(members.begin(), members.end());
        }
    }
}

void Deciding::tell_changed(QueueId id) {
    decision.changed_queues.push_back(world.queue_names.name_of(id));
    for (const LocalQueueId local : std::as_const(world).queue(id).local_queues) {
        const LocalQueueEntry& entry = std::as_const(world).local_queue(local);
        decision.changed_local_queues.emplace_back(entry.ns, entry.name);
    }
}

void Deciding::settle_queue(QueueId id) {
    QueueEntry& entry = world.queue(id);
    entry.active = QueueReport::Active::ready;
    entry.detail.clear();
    entry.told_free.reset();
    entry.places.clear();
    for (const GroupPlan& group : entry.plan.groups) {
        for (const FlavorId flavor : group.flavors) {
            const auto& places = world.place_groups[index(flavor)];
            if (places) entry.places.push_back(*places);
        }
    }
    std::sort(entry.places.begin(), entry.places.end());
    entry.has_topologies = !entry.places.empty();
    entry.is_plain = id != no_queue && !entry.has_topologies && !entry.plan.preempts();
    if (!entry.spec) return;
    if (entry.spec->stop != StopPolicy::none) {
        entry.active = QueueReport::Active::stopped;
        return;
    }
    const auto lacks = [&](QueueReport::Active what, const std::string& name) {
        if (entry.active != QueueReport::Active::ready && entry.active != what) return;
        entry.active = what;
        entry.detail += (entry.detail.empty() ? "" : ",") + name;
    };
    for (const GroupPlan& group : entry.plan.groups) {
        for (const FlavorId flavor : group.flavors) {
            if (world.book.spec(flavor)) continue;
            lacks(QueueReport::Active::flavor_not_found, world.book.flavors.name_of(flavor));
        }
    }
    if (entry.active != QueueReport::Active::ready) return;
    for (const CheckRule& rule : entry.spec->checks) {
        if (!world.checks.contains(rule.name))
            lacks(QueueReport::Active::check_not_found, rule.name);
    }
    for (const CheckRule& rule : entry.spec->checks) {
        const auto check = world.checks.find(rule.name);
        if (check != world.checks.end() && check->second == AdmissionCheck::State::inactive)
            lacks(QueueReport::Active::check_inactive, rule.name);
    }
    if (entry.active != QueueReport::Active::ready) return;
    for (const GroupPlan& group : entry.plan.groups) {
        for (const FlavorId flavor : group.flavors) {
            const std::string& topology = world.book.spec(flavor)->topology;
            if (topology.empty() || world.topologies.exists(topology)) continue;
            entry.active = QueueReport::Active::topology_not_found;
            entry.detail = topology;
            return;
        }
    }
    if (world.tree.in_circle(entry.plan.node)) entry.active = QueueReport::Active::cohort_cycle;
}

void Deciding::evict() {
    for (const WorkloadId id : world.to_check.take()) {
        auto evict = must_go(id);
        if (!evict) continue;
        mark_evicting(id);
        decision.evicts.push_back(std::move(*evict));
    }
}

void Deciding::mark_evicting(WorkloadId id) {
    WorkloadEntry& entry = world.workload(id);
    entry.phase = Phase::evicting;
    entry.seen = Seen::decided;
    world.list_anew(id);
    world.ledger.withdraw(id);
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
    // What has not been admitted runs nothing: a stopped queue takes its quota back.
    if (entry.stage == Workload::Stage::reserved) return std::nullopt;
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
    for (const WorkloadId id : world.to_place.take()) {
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
        open_what_heard_nothing(id, target);
    }
}

// What came back unheard wakes nobody, but whoever comes after it is tried, as in Kueue: with it
// those of other priorities that need the same and were found not to fit before.
void Deciding::open_what_heard_nothing(WorkloadId id, QueueId queue) {
    const QueueEntry& entry = std::as_const(world).queue(queue);
    const Pending& pending = entry.pending;
    const ClassKey key = world.class_of(id, queue);
    // Elsewhere all of a class have one priority, and Kueue parks whoever joins them.
    if (!world.late_wakes.contains(queue) || entry.plan.tells_priorities_apart() ||
        !pending.is_blocked(key)) {
        return;
    }
    std::vector<ClassKey> others = pending.classes();
    std::erase_if(
        others, [&](const ClassKey& other) { return other == key || !pending.is_blocked(other); });
    Pending& woken = world.queue(queue).pending;
    woken.wake();
    for (const ClassKey& other : others)
        woken.shut(other);
}

void Deciding::rest() {
    wake_gangs();  // Before anyone is tried, so that room goes to whoever is first.
    wake_for_topologies();
    gather();
    put_gathering_aside();
    wake_freed_trees();
    while (has_someone_to_try())
        round(queues_of_round(), Trying::where_there_is_hope);
    world.to_try.insert(later.begin(), later.end());
    tell_overtaken();
}

bool Deciding::has_someone_to_try() {
    if (world.to_try.empty() && lined_up.empty()) wake_gangs();
    put_gathering_aside();
    return !world.to_try.empty() || !lined_up.empty();
}

IdSet<QueueId> Deciding::queues_of_round() const {
    IdSet<QueueId> queues = world.to_try;
    if (world.standing.empty()) return with_keepers(std::move(queues));
    IdSet<QuotaNode> roots;
    for (const QueueId id : world.to_try)
        roots.insert(world.tree.root_of(std::as_const(world).queue(id).plan.node));
    for (const QueueId other : world.standing) {
        if (roots.contains(world.tree.root_of(std::as_const(world).queue(other).plan.node)))
            queues.insert(other);
    }
    return with_keepers(std::move(queues));
}

// Heads that are never parked keep their places in topologies also from those of other trees.
IdSet<QueueId> Deciding::with_keepers(IdSet<QueueId> queues) const {
    std::set<PlaceGroup> wanted;
    for (const QueueId id : queues) {
        const auto& places = std::as_const(world).queue(id).places;
        wanted.insert(places.begin(), places.end());
    }
    if (wanted.empty()) return queues;
    IdSet<QuotaNode> roots;
    for (const QueueId id : queues)
        roots.insert(world.tree.root_of(std::as_const(world).queue(id).plan.node));
    for (const QueueId other : world.standing) {
        const QueueEntry& entry = std::as_const(world).queue(other);
        if (entry.pending.is_strict() && !is_gathering(other) &&
            !roots.contains(world.tree.root_of(entry.plan.node)) &&
            have_common(entry.places, wanted)) {
            queues.insert(other);
        }
    }
    return queues;
}

void Deciding::moved(QueueId id) {
    const QueueEntry& entry = std::as_const(world).queue(id);
    searched.erase(world.tree.root_of(entry.plan.node));
    if (!entry.places.empty()) {
        std::erase_if(searched, [&](const auto& tree) {
            const auto& members = world.queues_by_root[tree.first];
            return std::any_of(members.begin(), members.end(),
                               [&](QueueId member) { return world.may_meet(member, id); });
        });
    }
    for (auto& [workload, search] : progress) {
        const auto queue = std::as_const(world).workload(workload).enqueued;
        if (!queue || world.may_meet(*queue, id)) search.seen.clear();
    }
}

void Deciding::count_admission(QueueId id) {
    const QueueEntry& entry = std::as_const(world).queue(id);
    ++admissions_in[world.tree.root_of(entry.plan.node)];
    for (const PlaceGroup group : entry.places)
        ++admissions_to[group];
}

std::size_t Deciding::admissions_near(QueueId id) const {
    const QueueEntry& entry = std::as_const(world).queue(id);
    const auto in_tree = admissions_in.find(world.tree.root_of(entry.plan.node));
    std::size_t all = in_tree == admissions_in.end() ? 0 : in_tree->second;
    for (const PlaceGroup group : entry.places) {
        const auto others = admissions_to.find(group);
        if (others != admissions_to.end()) all += others->second;
    }
    return all;
}

bool Deciding::is_patient(WorkloadId id) const {
    const auto until = world.patience.find(id);
    return until == world.patience.end() || until->second > now;
}

void Deciding::be_patient(WorkloadId id) {
    world.patience.try_emplace(id, now + patience_limit);
}

// Where the search for its victims began, of one that has preempted the same one again: it went on
// from a flavor in which it fits, but does not stay. Null: there is none.
const FlavorMemory* Deciding::preempted_for(QuotaNode root, WorkloadId id) const {
    const auto tree = world.preemptions.find(root);
    if (tree == world.preemptions.end()) return nullptr;
    const std::string& name = world.name_of(id);
    for (auto at = tree->second.lower_bound({name, {}});
         at != tree->second.end() && at->first.first == name; ++at) {
        if (at->second.times > 1 && !at->second.began.empty()) return &at->second.began;
    }
    return nullptr;
}

// Whoever has held up its queue for long enough is tried once more, now without that right.
void Deciding::end_patience() {
    for (const auto& [id, until] : world.patience) {
        const WorkloadEntry& entry = world.workload(id);
        if (until > now || !entry.enqueued) continue;
        const Pending& pending = world.queue(*entry.enqueued).pending;
        if (!pending.is_blocked(world.class_of(id, *entry.enqueued))) {
            world.to_try.insert(*entry.enqueued);
        }
    }
    std::erase_if(world.late_wakes, [&](const auto& late) {
        if (late.second > now) return false;
        world.wake_tree(late.first);
        return true;
    });
}

void Deciding::block(QueueId id, ClassKey key, WaitReason reason) {
    QueueEntry& entry = world.queue(id);
    entry.told_free.reset();
    Pending::News news = entry.pending.block(key, std::move(reason), world.plans_version);
    // It may be the same reason as before somebody stood in front for a while.
    const WorkloadId first = entry.pending.members_of(key).begin()->workload;
    const auto& told = std::as_const(world).workload(first).told;
    if (told != nullptr && told->rule == WaitReason::Rule::behind_preemptor)
        news = Pending::News::all;
    tell_class(id, key, news);
    blocked[{id, key}] = admissions_near(id);
}

void Deciding::tell_class(QueueId id, ClassKey key, Pending::News news) {
    if (news == Pending::News::none) return;
    Pending::News& told = world.classes_to_tell[{id, key}];
    told = std::max(told, news);
}

// Whoever was tried before the last admission is tried once more, so that the numbers of its reason
// are those at rest.
void Deciding::refresh_reasons() {
    if (world.options.reasons == Options::Reasons::left_out) return;
    const std::set<WorkloadId> nobody;
    for (const auto& [which, admissions_before] : std::exchange(blocked, {})) {
        const auto& [id, key] = which;
        const Pending& pending = world.queue(id).pending;
        if (admissions_before == admissions_near(id) || !pending.has(key) ||
            !pending.is_blocked(key))
            continue;
        if (keeps_its_reason(*pending.reason_of(key))) continue;
        Try what{id, key, pending.members_of(key).begin()->workload};
        what.preempting = Try::Preempting::left_out;
        Attempt again = evaluate({world, world.tree, nobody}, world.ledger, what);
        // It may fit after all: in places that others have left, or in a flavor that its queue
        // passes over for one that it would have to take back. It was tried in its turn.
        if (again.mode == Attempt::Mode::fit) continue;
        // The condition names what it was tried for, as in Kueue, which does not try it again.
        const WaitReason& last = *pending.reason_of(key);
        const WaitReason::Rule tried = last.named.value_or(last.rule);
        again.reason->named.reset();
        if (tried != again.reason->rule) again.reason->named = tried;
        block(id, key, std::move(*again.reason));
    }
}

void Deciding::tell_overtaken() {
    for (const auto& [id, key] : std::exchange(overtaken, {})) {
        Pending& pending = world.queue(id).pending;
        const auto next = pending.next(now);
        if (!next || next->key != key || pending.is_blocked(key) || pending.leader()) continue;
        WaitReason reason;
        reason.rule = WaitReason::Rule::overtaken;
        reason.cluster_queue = world.queue_names.name_of(id);
        pending.note(key, std::move(reason));
        world.to_tell.insert(next->turn.workload);
    }
}

// Gives out the reasons that are news. From here on nothing is decided any more.
void Deciding::tell() {
    if (world.options.reasons == Options::Reasons::left_out) {
        world.classes_to_tell.clear();
        world.to_tell.take();
        return;
    }
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
    for (const WorkloadId id : world.to_tell.take()) {
        WorkloadEntry& entry = world.workload(id);
        if (entry.enqueued && is_gathering(*entry.enqueued)) {
            world.to_tell.insert(id);  // It is about to be tried.
            continue;
        }
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

}  // namespace muster::decide

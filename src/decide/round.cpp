// decide/round.cpp - one round of a decision: heads are tried, then admitted, preempt, or wait.
#include <algorithm>
#include <utility>

#include "decide/deciding.h"
#include "decide/fit/places.h"
#include "decide/turns.h"

namespace muster::decide {

namespace {

using Mode = Attempt::Mode;
using Phase = WorkloadEntry::Phase;

// The same workload may preempt the same one as often before something else gives quota back. Once
// more would be a circle: each time the victim won its place back.
constexpr std::int64_t most_repeats = 3;

/// A round as far as it has come.
struct Round {
    Deciding& deciding;
    World& world;
    std::vector<Nominee>& nominees;
    std::vector<std::pair<QuotaNode, QueueId>> played{};  // With their roots.
    IdSet<QuotaNode> effect{};                            // Roots where something happened.
    IdSet<QuotaNode> restless{};                          // Where only the order of trying changed.
    std::set<WorkloadId> preempted{};
    std::map<QuotaNode, std::vector<Victim>> gone{};  // The same, by root.
    std::vector<std::pair<QuotaNode, Share>> kept{};  // Room kept until the end of the round.
    std::vector<std::string> kept_places{};           // The same in topologies: who holds them.

    void nominate(const std::vector<std::pair<QuotaNode, QueueId>>& queues);
    void nominate(QuotaNode root, QueueId id, const Pending::Candidate& candidate);
    void take_turn(Nominee& nominee);
    enum class Overlap { none, resolved };
    Overlap resolve_overlap(Nominee& nominee);
    bool fits_now(Nominee& nominee);
    bool has_places_now(Nominee& nominee, const std::vector<Victim>& leave) const;
    void keep_places(const Nominee& nominee);
    PlaceWants wants_of_nominee(const Nominee& nominee) const;
    enum class Kept { put_aside, back };
    void change_kept(Kept change);
    void admit(Nominee& nominee);
    void preempt(Nominee& nominee);
    bool goes_in_circles(const Nominee& nominee) const;
    void evict(const Nominee& nominee, const Victim& victim);
    void refuse(Nominee& nominee);
    void wait_for_pods(Nominee& nominee);
    bool searches_on(Nominee& nominee);
    bool turns_in_circles(Nominee& nominee);
    bool begins_again(const Nominee& nominee);
    bool fits_but_for_others(const Nominee& nominee);
    void overtake(Nominee& nominee);
    void wait_in_front(const Nominee& nominee, WaitReason reason);
    void keep(const Nominee& nominee, const std::vector<Share>& shares);
    void keep_what_it_may_take(const Nominee& nominee);
    void finish();

    Pending& pending(const Nominee& nominee) { return world.queue(nominee.queue).pending; }
    std::vector<std::string> names_of(const std::vector<Victim>& victims) const;
};

void Round::nominate(const std::vector<std::pair<QuotaNode, QueueId>>& queues) {
    nominees.reserve(queues.size());
    for (const auto& [root, id] : queues) {
        deciding.visited.insert(id);
        const auto candidate = std::as_const(world).queue(id).pending.next(deciding.now);
        if (!candidate) {
            world.to_try.erase(id);
            world.standing.erase(id);
            continue;
        }
        played.emplace_back(root, id);
        nominate(root, id, *candidate);
    }
}

void Round::nominate(QuotaNode root, QueueId id, const Pending::Candidate& candidate) {
    if (id != no_queue) deciding.know_plan(id, candidate.key);
    ++world.tries;
    nominees.push_back({id, std::as_const(world).queue(id).plan.node, root, candidate.key,
                        candidate.turn, deciding.attempt(root, id, candidate),
                        world.ledger.version()});
}

void Round::take_turn(Nominee& nominee) {
    Attempt& attempt = nominee.attempt;
    const Overlap overlap = resolve_overlap(nominee);
    if (overlap == Overlap::resolved && !attempt.has_way() && fits_but_for_others(nominee)) {
        return overtake(nominee);
    }
    if (attempt.mode == Mode::no_fit) return refuse(nominee);
    if (attempt.preempts_in_vain()) {
        const auto& policy = world.queue(nominee.queue).plan.preemption;
        // What it can always take back it need not keep.
        if (policy.reclaim_within_cohort != Preemption::Reclaim::any)
            keep_what_it_may_take(nominee);
        return refuse(nominee);
    }
    if (attempt.mode == Mode::preempt &&
        world.workload(nominee.turn.workload).gate == Workload::PreemptionGate::closed) {
        attempt.reason->rule = WaitReason::Rule::preemption_gated;
        attempt.reason->victims = names_of(attempt.victims);
        return refuse(nominee);
    }
    if (overlap == Overlap::resolved && attempt.mode == Mode::fit) {
        WaitReason reason;
        reason.rule = WaitReason::Rule::deferred;
        reason.cluster_queue = world.queue_names.name_of(nominee.queue);
        reason.victims = names_of(gone[nominee.root]);
        keep(nominee, attempt.fit.total());
        return wait_in_front(nominee, std::move(reason));
    }
    if (!fits_now(nominee)) return overtake(nominee);
    if (attempt.mode == Mode::preempt) return preempt(nominee);
    if (world.blocks_admission(nominee.queue)) return wait_for_pods(nominee);
    admit(nominee);
}

// Victims that others of this round preempt already go anyway: with them out of the way it is tried
// again, from the flavors it was nominated for.
Round::Overlap Round::resolve_overlap(Nominee& nominee) {
    const auto& victims = nominee.attempt.victims;
    if (std::none_of(victims.begin(), victims.end(),
                     [&](const Victim& v) { return preempted.contains(v.workload); })) {
        return Overlap::none;
    }
    static const std::set<WorkloadId> nobody;
    const Removal removal({world, world.tree, nobody}, gone[nominee.root]);
    Try what{nominee.queue, nominee.key, nominee.turn.workload};
    what.pinned = &nominee.attempt.fit;
    Attempt again = evaluate({world, world.tree, preempted}, world.ledger, what);
    nominee.attempt = std::move(again);
    nominee.ledger_version = world.ledger.version();
    return Overlap::resolved;
}

// Earlier ones of this round may have taken its place. Victims count as gone for whoever waits for
// them; who would start now has to fit beside them as well.
bool Round::fits_now(Nominee& nominee) {
    std::vector<Victim> leave = nominee.attempt.victims;
    if (const auto others = gone.find(nominee.root); others != gone.end()) {
        leave.insert(leave.end(), others->second.begin(), others->second.end());
    }
    {
        static const std::set<WorkloadId> nobody;
        const Removal removal({world, world.tree, nobody}, leave);
        if (!still_fits(world.tree, nominee.node, nominee.attempt.fit)) return false;
    }
    if (nominee.attempt.mode == Mode::preempt) return has_places_now(nominee, leave);
    if (!has_places_now(nominee, {})) return false;
    if (!leave.empty()) {
        change_kept(Kept::put_aside);
        const bool fits = still_fits(world.tree, nominee.node, nominee.attempt.fit);
        change_kept(Kept::back);
        if (!fits) return false;
    }
    const Shape& shape = world.shapes.of(nominee.key.shape);
    if (shape.binds == Workload::Binds::quota || nominee.ledger_version == world.ledger.version()) {
        return true;
    }
    std::vector<std::int64_t> counts;
    for (const PodSetFit& pod_set : nominee.attempt.fit.pod_sets)
        counts.push_back(pod_set.count);
    return !world.ledger.refusal(with_counts(shape, counts), world.options.capacity);
}

// Places that others have taken meanwhile are replaced by others, if there are any.
bool Round::has_places_now(Nominee& nominee, const std::vector<Victim>& leave) const {
    const PlaceWants wants = wants_of_nominee(nominee);
    if (wants.empty()) return true;
    std::set<std::string> out;
    for (const Victim& victim : leave)
        out.insert(world.name_of(victim.workload));
    PlacesWithout view(world.topologies);
    const TopologyBook& book = view.without(out);
    if (book.fits(wants.asks, wants.of(nominee.attempt.fit))) return true;
    if (nominee.attempt.mode != Mode::fit) return false;
    const auto again = book.find(wants.asks, TopologyBook::Assume::as_it_is);
    const auto* places = std::get_if<TopologyBook::Assignments>(&again);
    if (places != nullptr) wants.put_into(nominee.attempt.fit, *places);
    return places != nullptr;
}

PlaceWants Round::wants_of_nominee(const Nominee& nominee) const {
    if (nominee.queue == no_queue) return {};
    const QueueEntry& entry = std::as_const(world).queue(nominee.queue);
    const Shape& shape = world.shapes.of(nominee.key.shape);
    if (!entry.has_topologies && !shape.asks_for_places) return {};
    return wants_of(world.book, entry.plan, shape, nominee.attempt.fit);
}

void Round::change_kept(Kept change) {
    for (const auto& [node, share] : kept) {
        if (change == Kept::back) {
            world.tree.add_usage(node, share.what, share.amount);
        } else {
            world.tree.remove_usage(node, share.what, share.amount);
        }
    }
}

void Round::admit(Nominee& nominee) {
    const WorkloadId id = nominee.turn.workload;
    const Shape& shape = world.shapes.of(nominee.key.shape);
    Held held;
    held.queue = nominee.queue;
    held.reserved = deciding.now;
    held.pod_sets = std::move(nominee.attempt.fit.pod_sets);
    held.names = shape.names;
    for (const PodSetFit& pod_set : held.pod_sets)
        held.live.push_back(pod_set.count);
    world.dequeue(id);
    deciding.progress.erase(id);
    deciding.moved(nominee.queue);
    WorkloadEntry& entry = world.workload(id);
    entry.phase = Phase::holding;
    entry.seen = WorkloadEntry::Seen::decided;
    entry.stage = world.has_checks(nominee.queue, held.pod_sets) ? Workload::Stage::reserved
                                                                 : Workload::Stage::admitted;
    entry.pods_ready = Workload::PodsReady::no;
    entry.told.reset();
    deciding.admitted.insert(id);
    deciding.count_admission(nominee.queue);
    deciding.decision.admits.push_back({world.name_of(id), world.assignment(held)});
    const bool bound_to_nodes = shape.binds == Workload::Binds::quota_and_nodes;
    world.hold(id, std::move(held));
    world.charge(id, deciding.now);
    world.promise_pods(id);
    // There was room for the whole gang: it sits down before anyone else.
    if (bound_to_nodes) world.ledger.seat(id);
    effect.insert(nominee.root);
}

void Round::preempt(Nominee& nominee) {
    Attempt& attempt = nominee.attempt;
    attempt.reason->victims = names_of(attempt.victims);
    if (goes_in_circles(nominee)) {
        attempt.reason->rule = WaitReason::Rule::preemption_circle;
        attempt.memory.clear();
        return refuse(nominee);
    }
    attempt.reason->rule = WaitReason::Rule::preempting;
    keep(nominee, attempt.fit.total());
    for (const Victim& victim : attempt.victims) {
        preempted.insert(victim.workload);
        gone[nominee.root].push_back(victim);
        evict(nominee, victim);
    }
    wait_in_front(nominee, std::move(*attempt.reason));
}

bool Round::goes_in_circles(const Nominee& nominee) const {
    const auto known = world.preemptions.find(nominee.root);
    if (known == world.preemptions.end()) return false;
    return std::any_of(
        nominee.attempt.victims.begin(), nominee.attempt.victims.end(), [&](const Victim& victim) {
            if (world.workload(victim.workload).phase != Phase::holding) return false;
            const auto times =
                known->second.find({*nominee.turn.name.text, world.name_of(victim.workload)});
            return times != known->second.end() && times->second.times >= most_repeats;
        });
}

// Whoever is leaving already leaves once. Of an admission of this very decision nobody has heard
// yet: it ends when the objects have shown it.
void Round::evict(const Nominee& nominee, const Victim& victim) {
    const WorkloadEntry& entry = world.workload(victim.workload);
    if (entry.phase != Phase::holding || entry.object == WorkloadEntry::Object::removed ||
        deciding.admitted.contains(victim.workload)) {
        return;
    }
    effect.insert(nominee.root);
    Repeats& repeats =
        world.preemptions[nominee.root][{*nominee.turn.name.text, world.name_of(victim.workload)}];
    ++repeats.times;
    repeats.began = deciding.progress[nominee.turn.workload].memory;
    Evict evict;
    evict.workload = world.name_of(victim.workload);
    evict.reason = Evict::Reason::preempted;
    evict.queue = world.queue_names.name_of(nominee.queue);
    evict.cause = victim.cause;
    evict.preemptor = *nominee.turn.name.text;
    evict.preemptor_path = world.path_of(nominee.queue);
    evict.path = world.path_of(entry.held->queue);
    deciding.mark_evicting(victim.workload);
    deciding.moved(entry.held->queue);
    deciding.decision.evicts.push_back(std::move(evict));
}

// It fits, and starts when everything that was admitted before is ready.
void Round::wait_for_pods(Nominee& nominee) {
    WaitReason reason;
    reason.rule = WaitReason::Rule::pods_not_ready;
    reason.cluster_queue = world.queue_names.name_of(nominee.queue);
    Pending& waiting = pending(nominee);
    if (waiting.leads(nominee.turn.workload)) return wait_in_front(nominee, std::move(reason));
    deciding.progress.erase(nominee.turn.workload);
    deciding.searched[nominee.root].insert(nominee.turn.workload);
    if (!waiting.is_blocked(nominee.key) && !waiting.is_strict()) effect.insert(nominee.root);
    deciding.block(nominee.queue, nominee.key, std::move(reason));
}

// It waits until something is given back, unless flavors are left to be tried.
void Round::refuse(Nominee& nominee) {
    const WorkloadId id = nominee.turn.workload;
    Pending& waiting = pending(nominee);
    if (waiting.leads(id)) {
        waiting.stop_leading();
        restless.insert(nominee.root);
    }
    if (searches_on(nominee) || begins_again(nominee)) return;
    deciding.progress.erase(id);
    deciding.searched[nominee.root].insert(id);
    if (!waiting.is_blocked(nominee.key) && !waiting.is_strict()) effect.insert(nominee.root);
    if (nominee.attempt.reason == nullptr) return waiting.shut(nominee.key);
    deciding.block(nominee.queue, nominee.key, std::move(*nominee.attempt.reason));
}

// It is tried again in the next round, from the flavor after the last one tried.
bool Round::searches_on(Nominee& nominee) {
    if (nominee.attempt.memory.empty()) {
        world.turning.erase(nominee.turn.workload);
        return false;
    }
    Deciding::Progress& progress = deciding.progress[nominee.turn.workload];
    if (!progress.goes_on(std::move(nominee.attempt.memory))) {
        return begins_again(nominee) || turns_in_circles(nominee);
    }
    // A head that stays in front begins anew each time: that alone moves nothing.
    if (!deciding.searched[nominee.root].contains(nominee.turn.workload))
        effect.insert(nominee.root);
    return true;
}

// Several pod sets may pass the flavors on to each other for ever. A StrictFIFO head does so while
// in front. Other queues wait for a while, as in Kueue; who may go before it is tried before it.
bool Round::turns_in_circles(Nominee& nominee) {
    const WorkloadId id = nominee.turn.workload;
    const bool is_strict = pending(nominee).is_strict();
    if (is_strict || deciding.is_patient(id)) {
        world.turning[id] = deciding.progress[id].turning_point();
    } else {
        world.turning.erase(id);
    }
    if (is_strict || !deciding.is_patient(id)) return false;
    deciding.be_patient(id);
    if (nominee.attempt.reason != nullptr) {
        pending(nominee).note(nominee.key, std::move(*nominee.attempt.reason));
        world.to_tell.insert(id);
    }
    return true;
}

// The first flavors may be free by now, when others went before it there in an earlier round. Or it
// would fit in flavors that were passed over for one from which in the end nobody can be preempted:
// Kueue leaves it waiting.
bool Round::begins_again(const Nominee& nominee) {
    const auto known = deciding.progress.find(nominee.turn.workload);
    const bool had_memory = known != deciding.progress.end() && !known->second.memory.empty();
    const bool in_vain = nominee.attempt.preempts_in_vain() && nominee.queue != no_queue &&
                         world.queue(nominee.queue).plan.has_alternatives();
    if (!had_memory && !in_vain) return false;
    if (!fits_but_for_others(nominee)) return false;
    Deciding::Progress& progress = deciding.progress[nominee.turn.workload];
    progress.memory.clear();
    world.turning.erase(nominee.turn.workload);
    if (!had_memory) progress.preempting = Try::Preempting::left_out;
    deciding.overtaken.emplace(nominee.queue, nominee.key);
    restless.insert(nominee.root);
    return true;
}

// Without what is kept for others of this round.
bool Round::fits_but_for_others(const Nominee& nominee) {
    static const std::set<WorkloadId> nobody;
    Try what{nominee.queue, nominee.key, nominee.turn.workload};
    what.preempting = Try::Preempting::left_out;
    change_kept(Kept::put_aside);
    const Attempt alone = evaluate({world, world.tree, nobody}, world.ledger, what);
    change_kept(Kept::back);
    return alone.mode == Mode::fit;
}

void Round::overtake(Nominee& nominee) {
    if (nominee.attempt.waits_to_be_free) deciding.be_patient(nominee.turn.workload);
    if (!searches_on(nominee)) {
        deciding.progress.erase(nominee.turn.workload);
        deciding.searched[nominee.root].insert(nominee.turn.workload);
    }
    deciding.overtaken.emplace(nominee.queue, nominee.key);
    if (pending(nominee).leads(nominee.turn.workload)) {
        pending(nominee).stop_leading();
        restless.insert(nominee.root);
    }
    // Nodes are shared by all trees: what another tree has taken is news here. Places that are kept
    // for one of another tree may be free again in the next round.
    if (!wants_of_nominee(nominee).empty()) restless.insert(nominee.root);
    if (nominee.ledger_version != world.ledger.version()) effect.insert(nominee.root);
}

void Round::wait_in_front(const Nominee& nominee, WaitReason reason) {
    deciding.progress.erase(nominee.turn.workload);
    world.turning.erase(nominee.turn.workload);
    deciding.searched[nominee.root].insert(nominee.turn.workload);
    Pending& waiting = pending(nominee);
    if (waiting.is_strict()) {
        waiting.note(nominee.key, std::move(reason));
        return;
    }
    if (!waiting.leads(nominee.turn.workload)) restless.insert(nominee.root);
    waiting.lead(nominee.key, nominee.turn, std::move(reason));
    world.to_tell.insert(nominee.turn.workload);
}

void Round::keep(const Nominee& nominee, const std::vector<Share>& shares) {
    for (const Share& share : shares) {
        world.tree.add_usage(nominee.node, share.what, share.amount);
        kept.emplace_back(nominee.node, share);
    }
    keep_places(nominee);
}

void Round::keep_places(const Nominee& nominee) {
    const PlaceWants wants = wants_of_nominee(nominee);
    if (wants.empty()) return;
    kept_places.push_back("kept for " + *nominee.turn.name.text);
    world.topologies.hold(kept_places.back(), wants.asks, wants.of(nominee.attempt.fit));
}

// As much of what it needs as its quota and its borrowing limit leave it.
void Round::keep_what_it_may_take(const Nominee& nominee) {
    std::vector<Share> shares = nominee.attempt.fit.total();
    for (Share& share : shares) {
        share.amount = within_limits(share.amount, world.tree.quota(nominee.node, share.what),
                                     world.tree.usage(nominee.node, share.what),
                                     nominee.attempt.fit.borrowing_level > 0);
    }
    keep(nominee, shares);
}

// A tree is at rest when a round had no effect there. The order of trying may change on its own for
// a while: who waits in front steps back when others overtake it.
void Round::finish() {
    change_kept(Kept::put_aside);
    for (const std::string& holder : kept_places)
        world.topologies.release(holder);
    std::sort(played.begin(), played.end());
    for (auto from = played.begin(); from != played.end();) {
        const QuotaNode root = from->first;
        const auto to = std::find_if(from, played.end(),
                                     [&](const auto& other) { return other.first != root; });
        const auto queues = static_cast<std::size_t>(to - from);
        std::size_t& idle = deciding.idle[root];
        idle = effect.contains(root) ? 0 : idle + 1;
        const bool goes_on = idle == 0 || (restless.contains(root) && idle <= 2 * queues + 4);
        for (; from != to; ++from) {
            const QueueId id = from->second;
            if (std::as_const(world).queue(id).pending.next(deciding.now)) {
                world.standing.insert(id);
                if (goes_on) world.to_try.insert(id);
            }
            if (!goes_on) world.to_try.erase(id);
        }
    }
}

std::vector<std::string> Round::names_of(const std::vector<Victim>& victims) const {
    std::vector<std::string> names;
    for (const Victim& victim : victims)
        names.push_back(world.name_of(victim.workload));
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace

void Deciding::round(const IdSet<QueueId>& queues, Trying trying) {
    nominees.clear();
    hopeful.clear();
    Round round{*this, world, nominees};
    round.nominate(with_hope(queues, trying));
    for (const Starting& next : take_from_lineups())
        round.nominate(next.root, next.queue, next.candidate);
    for (Nominee& nominee : round.nominees) {
        if (nominee.attempt.mode == Mode::no_fit) {
            round.refuse(nominee);
        } else {
            hopeful.push_back(&nominee);
        }
    }
    Turns turns(world, world.tree, hopeful);
    while (const auto next = turns.next())
        round.take_turn(*hopeful[*next]);
    round.finish();
    close_lineups();
}

}  // namespace muster::decide

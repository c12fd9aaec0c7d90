// decide/wake.cpp - whom it is worth trying again: what was given back wakes those who may start
// with it, and where nobody can start for certain, nobody is tried.
#include <algorithm>
#include <utility>

#include "decide/deciding.h"

namespace muster::decide {

const FlavorPlan& Deciding::know_plan(QueueId id, ClassKey key) {
    const QueueEntry& entry = std::as_const(world).queue(id);
    const FlavorPlan* known = entry.pending.plan_of(key, world.plans_version);
    if (known != nullptr) return *known;
    world.queue(id).pending.know_plan(
        key, plan_flavors(world.book, entry.plan, &world.topologies, world.shapes.of(key.shape)),
        world.plans_version);
    return *std::as_const(world).queue(id).pending.plan_of(key, world.plans_version);
}

// Of all that its plan covers.
std::vector<Amount> Deciding::free_in(QueueId id) const {
    const QueuePlan& plan = std::as_const(world).queue(id).plan;
    std::vector<Amount> free;
    for (const GroupPlan& group : plan.groups) {
        for (const FlavorId flavor : group.flavors) {
            for (const ResourceId resource : group.resources)
                free.push_back(world.tree.available(plan.node, {flavor, resource}));
        }
    }
    return free;
}

// Of these quota says all: without enough that is free they do not start, and as they preempt
// nobody and leave no flavors for later, having tried them changes nothing.
const FlavorPlan* Deciding::measure(QueueId id, ClassKey key) {
    if (!std::as_const(world).queue(id).is_plain || key.binds != Workload::Binds::quota) {
        return nullptr;
    }
    const FlavorPlan& plan = know_plan(id, key);
    return plan.is_simple ? &plan : nullptr;
}

bool Deciding::may_start(QueueId id, ClassKey key, Headroom& free) {
    if (world.hopeless == World::Hopeless::tried) return true;
    // Whoever comes first in any tree keeps all others waiting: each has to take its own round.
    if (world.options.blocking != Options::Blocking::never) return true;
    const FlavorPlan* plan = measure(id, key);
    return plan == nullptr || may_fit(*plan, world.options.undeclared, free);
}

namespace {

// Rounds of one search for flavors, while nothing moves, after which it is said to have no end.
constexpr std::size_t most_searches = 64;

}  // namespace

bool Deciding::Progress::goes_on(FlavorMemory next) {
    memory = std::move(next);
    if (seen.size() >= most_searches || std::find(seen.begin(), seen.end(), memory) != seen.end()) {
        return false;
    }
    seen.push_back(memory);
    return true;
}

const FlavorMemory& Deciding::Progress::turning_point() const {
    const auto from = std::find(seen.begin(), seen.end(), memory);
    return from == seen.end() ? memory : *std::min_element(from, seen.end());
}

void Deciding::forget_searches(QueueId id) {
    const auto head = std::as_const(world).queue(id).pending.next(now);
    std::erase_if(world.turning, [&](const auto& search) {
        return std::as_const(world).workload(search.first).enqueued == id &&
               !(head && head->turn.workload == search.first);
    });
}

// From where its last search stopped.
Try Deciding::next_try(QueueId id, const Pending::Candidate& candidate) {
    Try what{id, candidate.key, candidate.turn.workload};
    auto known = progress.find(what.workload);
    const auto turning = world.turning.find(what.workload);
    if (known == progress.end() && turning != world.turning.end()) {
        const FlavorMemory& memory = turning->second;
        known = progress.emplace(what.workload, Progress{memory, {memory}}).first;
    }
    if (known != progress.end()) {
        what.memory = &known->second.memory;
        what.preempting = known->second.preempting;
    }
    what.patient = is_patient(what.workload);
    if (world.options.reasons == Options::Reasons::left_out || keeps_its_numbers(id, what.key))
        what.reasons = Try::Reasons::left_out;
    return what;
}

// Whose victims end may by turns begin with the flavor for which it preempted them or with one that
// others take from it: with the first of those that would be a circle.
Attempt Deciding::attempt(QuotaNode root, QueueId id, const Pending::Candidate& candidate) {
    static const std::set<WorkloadId> nobody;
    Try what = next_try(id, candidate);
    const FlavorMemory* first = what.memory == nullptr && !searched[root].contains(what.workload)
                                    ? preempted_for(root, what.workload)
                                    : nullptr;
    if (first != nullptr) {
        what.memory = first;
        Attempt made = evaluate({world, world.tree, nobody}, world.ledger, what);
        if (made.mode == Attempt::Mode::fit) return made;
        what.memory = nullptr;
    }
    return evaluate({world, world.tree, nobody}, world.ledger, what);
}

bool Deciding::keeps_its_numbers(QueueId id, ClassKey key) {
    const FlavorPlan* plan = measure(id, key);
    if (plan == nullptr) return false;
    // Of whoever may preempt, the reason tells more than numbers.
    if (world.options.reasons == Options::Reasons::left_out) return true;
    return plan->has_one_choice() && is_in_large_tree(id) &&
           std::as_const(world).queue(id).pending.lacks_quota(key, world.plans_version);
}

bool Deciding::is_in_large_tree(QueueId id) const {
    return is_large_tree(world.tree.root_of(std::as_const(world).queue(id).plan.node));
}

bool Deciding::is_large_tree(QuotaNode root) const {
    const auto tree = world.queues_by_root.find(root);
    return tree != world.queues_by_root.end() &&
           tree->second.size() > world.queues_with_fresh_numbers;
}

bool Deciding::anyone_may_start(QueueId id) {
    const QueueEntry& entry = std::as_const(world).queue(id);
    Headroom free(world.tree, entry.plan.node);
    if (entry.pending.is_strict()) {
        const auto head = entry.pending.next(now);
        return head && may_start(id, head->key, free);
    }
    if (entry.pending.leader()) return true;
    if (world.hopeless == World::Hopeless::tried || !entry.is_plain ||
        world.options.blocking != Options::Blocking::never) {
        return entry.pending.size() > 0;
    }
    std::vector<ClassKey> unplanned;
    const auto may = [&](const ClassKey& key, const FlavorPlan* plan) {
        if (plan == nullptr) unplanned.push_back(key);
        if (plan == nullptr) return false;
        return key.binds != Workload::Binds::quota || !plan->is_simple ||
               may_fit(*plan, world.options.undeclared, free);
    };
    return entry.pending.any_class(world.plans_version, may) ||
           std::any_of(unplanned.begin(), unplanned.end(),
                       [&](const ClassKey& key) { return may_start(id, key, free); });
}

bool Deciding::is_told(QueueId id) {
    const Pending& pending = std::as_const(world).queue(id).pending;
    if (pending.is_strict() || pending.leader() || world.standing.contains(id)) return false;
    if (pending.blocked_classes() != pending.class_count()) return false;
    if (world.options.reasons == Options::Reasons::left_out) return true;
    return is_in_large_tree(id) &&
           !pending.any_class(world.plans_version,
                              [&](const ClassKey& key, const FlavorPlan* plan) {
                                  return plan == nullptr || !plan->has_one_choice() ||
                                         !pending.lacks_quota(key, world.plans_version);
                              });
}

namespace {

/// A queue and who is tried there next.
struct Line {
    QueueId queue{};
    std::optional<Pending::Candidate> next;
    Headroom free;
};

}  // namespace

// Those passed over are blocked as if each had been tried in a round of its own, so that whoever
// may start comes to its turn beside the same others.
bool Deciding::has_hope(QuotaNode root, std::span<const QueueId> queues) {
    std::vector<Line> lines;
    for (const QueueId id : queues) {
        visited.insert(id);
        const QueueEntry& entry = std::as_const(world).queue(id);
        lines.push_back({id, entry.pending.next(now), {world.tree, entry.plan.node}});
    }
    const auto may_move = [this](Line& line) {
        return line.next && (std::as_const(world).queue(line.queue).pending.leader() ||
                             may_start(line.queue, line.next->key, line.free));
    };
    while (std::none_of(lines.begin(), lines.end(), may_move)) {
        bool has_passed = false;
        for (Line& line : lines) {
            if (!line.next || std::as_const(world).queue(line.queue).pending.is_strict()) continue;
            pass_over(line.queue, *line.next);
            line.next = std::as_const(world).queue(line.queue).pending.next(now);
            has_passed = true;
        }
        if (has_passed) {
            idle[root] = 0;
            continue;
        }
        // As after a round without effect.
        if (std::any_of(lines.begin(), lines.end(), [](const Line& l) { return l.next; }))
            ++idle[root];
        for (const Line& line : lines) {
            world.to_try.erase(line.queue);
            if (line.next) {
                pass_over(line.queue, *line.next);
                world.standing.insert(line.queue);
            } else {
                world.standing.erase(line.queue);
            }
        }
        return false;
    }
    return true;
}

std::vector<std::pair<QuotaNode, QueueId>> Deciding::with_hope(const IdSet<QueueId>& queues,
                                                               Trying trying) {
    std::vector<std::pair<QuotaNode, QueueId>> by_tree;
    for (const QueueId id : queues)
        by_tree.emplace_back(world.tree.root_of(std::as_const(world).queue(id).plan.node), id);
    std::sort(by_tree.begin(), by_tree.end());
    if (trying == Trying::everybody) return by_tree;
    std::vector<std::pair<QuotaNode, QueueId>> all;
    std::vector<QueueId> members;
    for (auto from = by_tree.begin(); from != by_tree.end();) {
        const QuotaNode root = from->first;
        const auto to = std::find_if(from, by_tree.end(),
                                     [&](const auto& other) { return other.first != root; });
        members.clear();
        std::for_each(from, to, [&](const auto& member) { members.push_back(member.second); });
        if (has_hope(root, members)) all.insert(all.end(), from, to);
        from = to;
    }
    return all;
}

void Deciding::pass_over(QueueId id, const Pending::Candidate& candidate) {
    if (keeps_its_numbers(id, candidate.key)) {
        progress.erase(candidate.turn.workload);
        return world.queue(id).pending.shut(candidate.key);
    }
    static const std::set<WorkloadId> nobody;
    Attempt attempt = evaluate({world, world.tree, nobody}, world.ledger, next_try(id, candidate));
    VERIFY(attempt.mode != Attempt::Mode::fit);
    progress.erase(candidate.turn.workload);
    if (attempt.reason == nullptr) return world.queue(id).pending.shut(candidate.key);
    block(id, candidate.key, std::move(*attempt.reason));
}

// Unless just as much is free as when all got their reasons.
void Deciding::pass_over_all(QueueId id) {
    visited.insert(id);
    const Pending& pending = std::as_const(world).queue(id).pending;
    if (pending.size() == 0) return world.standing.erase(id);
    if (pending.is_strict()) {
        world.queue(id).pending.wake();
        if (const auto head = pending.head(now)) pass_over(id, *head);
        return;
    }
    std::vector<Amount> free = free_in(id);
    const bool is_as_told = std::as_const(world).queue(id).told_free == free;
    const bool tells = world.options.reasons == Options::Reasons::told;
    for (const ClassKey key : pending.classes()) {
        if (pending.is_blocked(key) && (is_as_told || !tells)) continue;
        pass_over(id, {key, *pending.members_of(key).begin()});
    }
    world.standing.erase(id);
    world.queue(id).told_free = std::move(free);
}

// Nodes and other pods have changed: everybody who may wait for a place there is tried again.
void Deciding::wake_for_topologies() {
    const std::set<FlavorId> changed = std::exchange(world.places_changed, {});
    if (changed.empty()) return;
    for (std::size_t i = 1; i < world.queues.size(); ++i) {
        const auto id = static_cast<QueueId>(i);
        if (!world.has_topologies(id)) continue;
        const auto& groups = std::as_const(world).queue(id).plan.groups;
        const bool concerned = std::any_of(groups.begin(), groups.end(), [&](const GroupPlan& g) {
            return std::any_of(g.flavors.begin(), g.flavors.end(),
                               [&](FlavorId flavor) { return changed.contains(flavor); });
        });
        if (concerned) world.wake_tree(id);
    }
}

namespace {

/// Trees to which something came back and that may share places.
struct Neighbours {
    IdSet<QuotaNode> roots;
    std::set<PlaceGroup> places;
    Time since;  // The first of it.
};

bool may_share(const Neighbours& a, const Neighbours& b) {
    return std::any_of(a.places.begin(), a.places.end(),
                       [&](PlaceGroup group) { return b.places.contains(group); });
}

}  // namespace

void Deciding::gather() {
    if (gathering == Duration{}) return;
    std::map<QuotaNode, Time> trees;
    for (auto& [id, gifts] : world.to_wake) {
        // What came later than now came before the clock was set back.
        gifts.since = std::min(gifts.since.value_or(now), now);
        const QuotaNode root = world.tree.root_of(std::as_const(world).queue(id).plan.node);
        Time& since = trees.emplace(root, *gifts.since).first->second;
        since = std::min(since, *gifts.since);
    }
    std::vector<Neighbours> all;
    for (const auto& [root, since] : trees) {
        Neighbours one{{}, {}, since};
        one.roots.insert(root);
        for (const QueueId member : world.queues_by_root[root]) {
            const auto& places = std::as_const(world).queue(member).places;
            one.places.insert(places.begin(), places.end());
        }
        std::erase_if(all, [&](const Neighbours& other) {
            if (!may_share(one, other)) return false;
            one.roots.insert(other.roots.begin(), other.roots.end());
            one.places.insert(other.places.begin(), other.places.end());
            one.since = std::min(one.since, other.since);
            return true;
        });
        all.push_back(std::move(one));
    }
    for (const Neighbours& one : all) {
        const Time due = one.since + gathering;
        if (due <= now) continue;
        gathering_trees.insert(one.roots.begin(), one.roots.end());
        gathered_at = std::min(gathered_at.value_or(due), due);
        if (!one.places.empty()) gather_neighbours(one.places);
    }
}

// Room that came back is room for every tree that may use those nodes.
void Deciding::gather_neighbours(const std::set<PlaceGroup>& places) {
    for (const auto& [root, members] : world.queues_by_root) {
        const bool shares = std::any_of(members.begin(), members.end(), [&](QueueId member) {
            return have_common(std::as_const(world).queue(member).places, places);
        });
        if (shares) gathering_trees.insert(root);
    }
}

bool Deciding::is_gathering(QueueId id) const {
    return !gathering_trees.empty() &&
           gathering_trees.contains(world.tree.root_of(std::as_const(world).queue(id).plan.node));
}

void Deciding::put_gathering_aside() {
    if (gathering_trees.empty()) return;
    erase_if(world.to_try, [&](QueueId id) {
        if (!is_gathering(id)) return false;
        later.insert(id);
        return true;
    });
}

// What was given back is first for those who stand in front of their queues and for those who gave
// it back: for one round, with topologies for as many as they take, which is how it was seen; and
// for queues that go on after a stop, for as many as they take. Then everybody in the tree is tried
// again. When several gave back at once, StrictFIFO's heads wait for the others.
void Deciding::wake_freed_trees() {
    if (world.to_wake.empty()) return;
    struct Freed {
        std::int64_t times = 0;
        std::int64_t unheard = 0;
    };
    std::map<QuotaNode, Freed> freed;
    std::map<QueueId, Gifts> given;
    for (auto at = world.to_wake.begin(); at != world.to_wake.end();) {
        const auto next = std::next(at);
        if (!is_gathering(at->first)) given.insert(world.to_wake.extract(at));
        at = next;
    }
    for (const auto& [id, gifts] : given) {
        if (!world.turning.empty()) forget_searches(id);
        // Kueue finds the tree by the local queue and knows none that is stopped.
        const auto unheard =
            std::count_if(gifts.from.begin(), gifts.from.end(), [&](LocalQueueId local) {
                const auto& spec = world.local_queue(local).spec;
                return !spec || spec->stop != StopPolicy::none;
            });
        Freed& all = freed[world.tree.root_of(std::as_const(world).queue(id).plan.node)];
        all.times += gifts.times;
        all.unheard += unheard;
        if (unheard > 0) world.late_wakes.try_emplace(id, now + patience_limit);
    }
    IdSet<QueueId> awake = take_gathered(world.requeued);
    IdSet<QuotaNode> resumed;
    for (const QueueId id : take_gathered(world.resumed)) {
        awake.insert(id);
        resumed.insert(world.tree.root_of(std::as_const(world).queue(id).plan.node));
    }
    IdSet<QueueId> others = std::exchange(world.to_try, {});
    std::map<QuotaNode, Lineup*> lineups;
    for (const auto& [root, gifts] : freed) {
        if (Lineup* lineup = lineup_of(root)) {
            lineups.emplace(root, lineup);  // Nobody stands in front there.
        } else {
            try_in_front(world.queues_by_root[root], awake,
                         gifts.times == 1 ? Heads::hear : Heads::wait);
        }
    }
    while (!world.to_try.empty()) {
        round(with_keepers(world.to_try), Trying::everybody);
        erase_if(world.to_try, [&](QueueId id) {
            const QuotaNode root = world.tree.root_of(std::as_const(world).queue(id).plan.node);
            if (world.has_topologies(id) || resumed.contains(root)) return false;
            others.insert(id);
            return true;
        });
    }
    world.to_try.insert(others.begin(), others.end());
    for (const auto& [root, gifts] : freed) {
        if (gifts.times == gifts.unheard) continue;
        const auto lineup = lineups.find(root);
        if (lineup == lineups.end()) {
            wake_all_in(world.queues_by_root[root]);
        } else {
            lineup->second->wake();
            lined_up.insert(*lineup);
        }
    }
}

// Those of them that need not wait for others of what comes back.
IdSet<QueueId> Deciding::take_gathered(IdSet<QueueId>& queues) const {
    IdSet<QueueId> taken;
    erase_if(queues, [&](QueueId id) {
        if (is_gathering(id)) return false;
        taken.insert(id);
        return true;
    });
    return taken;
}

void Deciding::try_in_front(const std::vector<QueueId>& queues, const IdSet<QueueId>& awake,
                            Heads heads) {
    std::vector<QueueId> first;
    bool any_may_start = false;
    for (const QueueId id : queues) {
        const Pending& pending = std::as_const(world).queue(id).pending;
        // A head, or one that was overtaken: neither is ever parked.
        const bool is_awake = heads == Heads::hear && world.standing.contains(id) &&
                              (pending.is_strict() || pending.next(now));
        const bool others_heard = pending.leader() || awake.contains(id);
        if (!is_awake && !others_heard) continue;
        first.push_back(id);
        any_may_start = any_may_start || others_heard || anyone_may_start(id);
    }
    // Heads that cannot start are told so when all are woken.
    if (any_may_start) world.to_try.insert(first.begin(), first.end());
}

// Unless what is free is enough for nobody there: then only the numbers in their reasons change.
void Deciding::wake_all_in(const std::vector<QueueId>& queues) {
    if (std::none_of(queues.begin(), queues.end(),
                     [this](QueueId id) { return anyone_may_start(id); })) {
        for (const QueueId id : queues) {
            if (!is_told(id)) pass_over_all(id);
        }
        return;
    }
    for (const QueueId id : queues) {
        if (std::as_const(world).queue(id).pending.size() > 0) world.queue(id).pending.wake();
        world.to_try.insert(id);
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

}  // namespace muster::decide

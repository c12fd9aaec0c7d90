// decide/invariants.cpp - what must always hold of the state, checked the slow and plain way.
#include <algorithm>
#include <map>
#include <set>

#include "decide/evaluate.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

using Phase = WorkloadEntry::Phase;

/// The sum of what the holders of a queue hold equals the usage in the tree.
void check_usage(const World& world, std::vector<std::string>& broken) {
    for (const auto& [name, id] : world.queue_names.by_name()) {
        const QueueEntry& entry = world.queue(id);
        std::map<FlavorResource, Amount> sums;
        for (const HolderTurn& turn : entry.holders) {
            const WorkloadId holder = turn.workload;
            const auto& held = world.workload(holder).held;
            if (held == nullptr || held->queue != id) {
                broken.push_back("queue " + std::string(name) +
                                 " lists a holder that holds nothing");
                continue;
            }
            for (std::size_t i = 0; i < held->pod_sets.size(); ++i) {
                for (const Share& share : world.live_shares(*held, i)) {
                    sums[share.what] += share.amount;
                }
            }
        }
        for (const FlavorResource what : world.tree.known(entry.plan.node))
            sums.try_emplace(what);
        for (const auto& [what, sum] : sums) {
            if (world.tree.usage(entry.plan.node, what) == sum) continue;
            broken.push_back("queue " + std::string(name) + " uses " +
                             std::to_string(world.tree.usage(entry.plan.node, what).value) +
                             " of " + world.book.flavors.name_of(what.flavor) + "/" +
                             world.book.resources.name_of(what.resource) + ", its holders " +
                             std::to_string(sum.value));
        }
    }
}

/// What cohorts are said to use follows from what is held below them.
void check_tree(const World& world, std::vector<std::string>& broken) {
    if (world.structure_changed) return;
    QuotaTree fresh = world.tree;
    fresh.settle();
    for (const auto& [name, id] : world.cohort_names.by_name()) {
        const QuotaNode node = world.cohorts[index(id)].node;
        for (const FlavorResource what : fresh.known(node)) {
            if (world.tree.usage(node, what) == fresh.usage(node, what)) continue;
            broken.push_back("cohort " + std::string(name) + " uses " +
                             std::to_string(world.tree.usage(node, what).value) + ", below it " +
                             std::to_string(fresh.usage(node, what).value));
        }
    }
}

/// Whoever leads a queue waits in it, and is tried again with every change.
void check_leaders(const World& world, std::vector<std::string>& broken) {
    for (const auto& [name, id] : world.queue_names.by_name()) {
        const Pending& pending = world.queue(id).pending;
        if (!pending.leader()) continue;
        const WorkloadEntry& entry = world.workload(pending.leader()->turn.workload);
        if (pending.is_strict() || entry.enqueued != id) {
            broken.push_back("queue " + std::string(name) + " has a leader that does not wait");
        }
        if (!world.standing.contains(id) && !world.to_try.contains(id)) {
            broken.push_back("queue " + std::string(name) + " forgot its leader");
        }
    }
}

/// Who waits for admission checks, or keeps others waiting, holds quota.
void check_stages(const World& world, std::vector<std::string>& broken) {
    for (const auto& [name, id] : world.queue_names.by_name()) {
        const QueueEntry& entry = world.queue(id);
        for (const WorkloadId reserved : entry.reserved) {
            const auto& held = world.workload(reserved).held;
            if (held == nullptr || !entry.holders.contains(held->listed))
                broken.push_back(world.name_of(reserved) + " has no quota to be checked for");
        }
    }
    for (const WorkloadId id : world.unready) {
        if (world.workload(id).held == nullptr)
            broken.push_back(world.name_of(id) + " keeps others waiting without quota");
    }
}

/// Holders stand in the order in which they are preempted.
void check_order(const World& world, std::vector<std::string>& broken) {
    for (const QueueEntry& entry : world.queues) {
        for (const HolderTurn& turn : entry.holders) {
            const WorkloadEntry& holder = world.workload(turn.workload);
            const bool leaves = turn.stage == HolderTurn::Stage::leaving;
            if (holder.held == nullptr || leaves != is_leaving(holder) ||
                turn.priority != holder.priority || turn.reserved != holder.held->reserved) {
                broken.push_back(*turn.name.text + " stands in the wrong place among holders");
            }
        }
    }
}

/// Everyone is in exactly one place, according to the phase.
void check_phases(const World& world, std::vector<std::string>& broken) {
    std::map<WorkloadId, std::int64_t> times;
    for (const QueueEntry& entry : world.queues) {
        for (const HolderTurn& holder : entry.holders)
            ++times[holder.workload];
        for (const Turn& turn : entry.pending.in_order(Time{}))
            ++times[turn.workload];
    }
    for (const auto& [name, id] : world.workload_names.by_name()) {
        const WorkloadEntry& entry = world.workload(id);
        const bool holds = entry.phase == Phase::holding || entry.phase == Phase::evicting;
        if (holds != (entry.held != nullptr)) {
            broken.push_back(std::string(name) + " holds against its phase");
        }
        if (entry.enqueued && entry.phase != Phase::waiting) {
            broken.push_back(std::string(name) + " waits against its phase");
        }
        const std::int64_t expected = holds || entry.enqueued ? 1 : 0;
        if (times[id] != expected) {
            broken.push_back(std::string(name) + " is in " + std::to_string(times[id]) +
                             " places instead of " + std::to_string(expected));
        }
    }
}

/// At rest: whoever is said not to fit does not, and every other waits behind one who does not.
void check_waiting(const World& world, std::vector<std::string>& broken) {
    if (world.structure_changed || !world.to_try.empty() || !world.to_wake.empty() ||
        !world.to_place.empty()) {
        return;
    }
    QuotaTree tree = world.tree;
    const std::set<WorkloadId> nobody;
    Ledger ledger = world.ledger;
    ledger.settle();
    if (!world.node_bound.empty() && ledger.version() != world.gangs_tried) return;
    std::set<QuotaNode> unheard;  // Trees where what came back is given out later.
    for (const auto& [id, at] : world.late_wakes)
        unheard.insert(world.tree.root_of(world.queue(id).plan.node));
    for (const auto& [name, id] : world.queue_names.by_name()) {
        const QueueEntry& entry = world.queue(id);
        if (unheard.contains(world.tree.root_of(entry.plan.node))) continue;
        for (const ClassKey key : entry.pending.classes()) {
            if (!entry.pending.is_blocked(key)) {
                if (!entry.pending.is_strict() && !world.standing.contains(id)) {
                    broken.push_back("queue " + std::string(name) + " has one that was not tried");
                }
                continue;
            }
            const auto reason = entry.pending.reason_of(key);
            const auto rule = reason == nullptr ? WaitReason::Rule::quota : reason->rule;
            if (rule == WaitReason::Rule::pods_not_ready) {
                if (!world.blocks_admission(id))
                    broken.push_back("queue " + std::string(name) +
                                     " waits for pods that are ready");
                continue;
            }
            // Whoever could preempt for all of its pods does not start with fewer.
            if (rule == WaitReason::Rule::preemption_gated) continue;
            Try what{id, key, entry.pending.members_of(key).begin()->workload};
            what.preempting = Try::Preempting::left_out;
            const Attempt attempt = evaluate({world, tree, nobody}, ledger, what);
            // Which places are left depends on who came in between: what found none may find some
            // by now. It is tried again when something is given back.
            const bool has_places =
                std::any_of(attempt.fit.pod_sets.begin(), attempt.fit.pod_sets.end(),
                            [](const PodSetFit& set) { return set.places.has_value(); });
            if (attempt.mode == Attempt::Mode::fit && !has_places) {
                broken.push_back(*entry.pending.members_of(key).begin()->name.text +
                                 " waits although it fits");
            }
        }
    }
}

}  // namespace

std::vector<std::string> broken_invariants(const State& state) {
    std::vector<std::string> broken = state.world().ledger.broken_invariants();
    for (std::string& words : state.world().topologies.broken_invariants())
        broken.push_back(std::move(words));
    check_usage(state.world(), broken);
    check_tree(state.world(), broken);
    check_phases(state.world(), broken);
    check_stages(state.world(), broken);
    check_order(state.world(), broken);
    check_leaders(state.world(), broken);
    check_waiting(state.world(), broken);
    return broken;
}

}  // namespace muster::decide

// decide/apply.cpp - each change worked into the books; what follows from it is left to decide.
#include <algorithm>
#include <utility>

#include "decide/changed_trees.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

using Phase = WorkloadEntry::Phase;
using Seen = WorkloadEntry::Seen;
using Object = WorkloadEntry::Object;

QuotaTree::Quotas quotas_of(World& world, const std::vector<ResourceGroup>& groups) {
    QuotaTree::Quotas quotas;
    for (const ResourceGroup& group : groups) {
        for (const FlavorQuotas& flavor : group.flavors) {
            for (const auto& [resource, quota] : flavor.resources) {
                quotas.emplace_back(FlavorResource{world.book.id_of(flavor.flavor),
                                                   world.book.resources.id_of(resource)},
                                    quota);
            }
        }
    }
    return quotas;
}

std::vector<GroupPlan> plan_of(World& world, const std::vector<ResourceGroup>& groups) {
    std::vector<GroupPlan> plans;
    for (const ResourceGroup& group : groups) {
        GroupPlan plan;
        for (const std::string& resource : group.resources) {
            plan.resources.push_back(world.book.resources.id_of(resource));
        }
        for (const FlavorQuotas& flavor : group.flavors) {
            plan.flavors.push_back(world.book.id_of(flavor.flavor));
        }
        plans.push_back(std::move(plan));
    }
    return plans;
}

void to_place_members(World& world, const LocalQueueEntry& local) {
    for (const WorkloadId id : local.members) {
        world.to_place.insert(id);
        world.to_check.insert(id);
    }
}

/// Puts all that wait in a queue aside until decide finds their places again.
void take_out_waiting(World& world, QueueId queue) {
    std::vector<WorkloadId> waiting;
    for (const Turn& turn : world.queue(queue).pending.in_order(Time{}))
        waiting.push_back(turn.workload);
    const auto patience = world.patience;  // It is the queue that changes, not they.
    for (const WorkloadId id : waiting)
        world.dequeue(id);
    world.patience = patience;
    world.to_place.insert(waiting.begin(), waiting.end());
}

/// Forgets a workload that neither exists nor holds anything.
void forget(World& world, WorkloadId id) {
    WorkloadEntry& entry = world.workload(id);
    if (entry.local_queue) world.local_queue(*entry.local_queue).members.erase(id);
    world.shapes.drop(entry.shape);
    world.backoffs.erase({entry.not_before, id});
    world.to_repair.erase(id);
    world.barred_by.erase(id);
    entry = {};
    world.workload_names.release(id);
}

/// What it held is free; it waits again, or is forgotten when its object is gone.
void release(World& world, WorkloadId id, Phase next) {
    WorkloadEntry& entry = world.workload(id);
    world.dequeue(id);
    world.give_back(id);
    world.ledger.withdraw(id);
    entry.told.reset();
    entry.seen = Seen::observed;
    if (entry.object == Object::removed) {
        forget(world, id);
        return;
    }
    entry.phase = next;
    if (next == Phase::waiting) world.to_place.insert(id);
}

void evicting(World& world, WorkloadId id, Seen seen) {
    WorkloadEntry& entry = world.workload(id);
    entry.phase = Phase::evicting;
    entry.seen = seen;
    world.list_anew(id);
    world.ledger.withdraw(id);
}

Held held_of(World& world, WorkloadId id, const Assignment& assignment) {
    Held held;
    held.queue = world.queue_id(assignment.cluster_queue);
    const Shape& shape = world.shapes.of(world.workload(id).shape);
    std::vector<std::string> names;
    for (const PodSetAssignment& set : assignment.pod_sets) {
        PodSetFit fit;
        fit.count = set.count;
        fit.places = set.topology;
        for (const auto& [resource, flavor] : set.flavors) {
            const auto used = set.usage.find(resource);
            fit.shares.push_back({{world.book.id_of(flavor), world.book.resources.id_of(resource)},
                                  used == set.usage.end() ? Amount{} : used->second});
        }
        const auto need = std::find_if(shape.pod_sets.begin(), shape.pod_sets.end(),
                                       [&](const PodSetNeed& n) { return n.name == set.name; });
        names.push_back(set.name);
        held.live.push_back(need == shape.pod_sets.end() ? set.count
                                                         : std::min(set.count, need->count));
        held.pod_sets.push_back(std::move(fit));
    }
    held.names = std::make_shared<const std::vector<std::string>>(std::move(names));
    return held;
}

/// One overload for each kind of change.
struct Apply {
    World& world;

    void operator()(const QueueSet& change) const {
        const QueueId id = world.queue_id(change.queue.name);
        const QueuePlan before = world.queue(id).plan;
        if (id == no_queue || world.queue(id).spec == change.queue) return;
        QueuePlan policies;
        policies.preemption = change.queue.preemption;
        policies.in_cohort = !change.queue.cohort.empty();
        const bool by_use = world.options.admission_sharing &&
                            change.queue.admission_mode == ClusterQueue::AdmissionMode::usage_based;
        if (before.tells_priorities_apart() != policies.tells_priorities_apart() ||
            by_use != world.goes_by_use(id)) {
            take_out_waiting(world, id);
        }
        QueueEntry& entry = world.queue(id);
        entry.spec = change.queue;
        entry.plan.in_cohort = policies.in_cohort;
        entry.plan.preemption = change.queue.preemption;
        entry.plan.fungibility = change.queue.fungibility;
        world.tree.set_weight(entry.plan.node, change.queue.weight);
        entry.plan.groups = plan_of(world, change.queue.groups);
        entry.plan.pods.reset();
        const ResourceId pods = world.book.resources.id_of("pods");
        for (const GroupPlan& group : entry.plan.groups) {
            const auto& covered = group.resources;
            if (std::find(covered.begin(), covered.end(), pods) != covered.end()) {
                entry.plan.pods = pods;
            }
        }
        entry.pending.set_strategy(change.queue.strategy);
        const std::string& cohort = change.queue.cohort;
        std::optional<QuotaNode> parent;
        if (!cohort.empty()) parent = world.cohorts[index(world.cohort_id(cohort))].node;
        change_tree(world, entry.plan.node);
        world.tree.set_parent(entry.plan.node, parent);
        world.tree.set_quotas(entry.plan.node, quotas_of(world, change.queue.groups));
        world.queues_changed.insert(id);
    }

    void operator()(const QueueRemoved& change) const {
        const auto id = world.queue_names.find(change.name);
        if (!id || *id == no_queue) return;
        if (world.goes_by_use(*id)) take_out_waiting(world, *id);
        QueueEntry& entry = world.queue(*id);
        entry.spec.reset();
        entry.plan.groups.clear();
        change_tree(world, entry.plan.node);
        world.tree.set_parent(entry.plan.node, std::nullopt);
        world.tree.set_quotas(entry.plan.node, {});
        world.queues_changed.insert(*id);
    }

    void operator()(const CohortSet& change) const {
        set_cohort(change.cohort.name, change.cohort);
    }

    void operator()(const CohortRemoved& change) const { set_cohort(change.name, std::nullopt); }

    void set_cohort(const std::string& name, std::optional<Cohort> spec) const {
        const CohortId id = world.cohort_id(name);
        if (world.cohorts[index(id)].spec == spec) return;
        std::optional<QuotaNode> parent;
        if (spec && !spec->parent.empty()) {
            parent = world.cohorts[index(world.cohort_id(spec->parent))].node;
        }
        CohortEntry& entry = world.cohorts[index(id)];
        change_tree(world, entry.node);
        world.tree.set_weight(entry.node, spec ? spec->weight : FairWeight{});
        world.tree.set_parent(entry.node, parent);
        world.tree.set_quotas(entry.node,
                              spec ? quotas_of(world, spec->groups) : QuotaTree::Quotas{});
        entry.spec = std::move(spec);
    }

    void operator()(const LocalQueueSet& change) const {
        const LocalQueueId id = world.local_queue_id(change.queue.ns, change.queue.name);
        if (world.options.admission_sharing) remember_use(id, change.queue);
        if (world.local_queue(id).spec == change.queue) return;
        const QueueId target = world.queue_id(change.queue.cluster_queue);
        LocalQueueEntry& entry = world.local_queue(id);
        if (entry.spec) world.queue(entry.queue).local_queues.erase(id);
        entry.spec = change.queue;
        entry.queue = target;
        world.uses_changed = true;
        world.queue(target).local_queues.insert(id);
        to_place_members(world, entry);
    }

    /// What the object says of former use counts when nothing else is known.
    void remember_use(LocalQueueId id, const LocalQueue& queue) const {
        if (queue.use_updated == Time{} || world.consumptions.contains(id)) return;
        Consumption& consumption = world.consumptions[id];
        consumption.updated = queue.use_updated;
        for (const auto& [resource, thousandths] : queue.used_thousandths)
            consumption.thousandths[world.book.resources.id_of(resource)] = thousandths;
    }

    void operator()(const LocalQueueRemoved& change) const {
        const auto id = world.local_queue_names.find(join(change.ns, change.name));
        if (!id) return;
        LocalQueueEntry& entry = world.local_queue(*id);
        if (!entry.spec) return;
        world.queue(entry.queue).local_queues.erase(*id);
        entry.spec.reset();
        world.consumptions.erase(*id);
        to_place_members(world, entry);
    }

    void operator()(const FlavorSet& change) const {
        const FlavorId id = world.book.id_of(change.flavor.name);
        if (world.book.spec(id) == change.flavor) return;
        world.book.specs[index(id)] = change.flavor;
        world.topologies.set_flavor(change.flavor);
        change_trees_with_flavor(world, id);
    }

    void operator()(const FlavorRemoved& change) const {
        const FlavorId id = world.book.id_of(change.name);
        world.book.specs[index(id)].reset();
        world.topologies.remove_flavor(change.name);
        change_trees_with_flavor(world, id);
    }

    void operator()(const NamespaceSet& change) const { set_namespace(change.name, change.labels); }

    void operator()(const NamespaceRemoved& change) const { set_namespace(change.name, {}); }

    void set_namespace(const std::string& name, const Labels& labels) const {
        Labels& known = world.namespaces[name];
        if (known == labels) return;
        known = labels;
        for (const LocalQueueEntry& local : world.local_queues) {
            if (local.ns == name) to_place_members(world, local);
        }
    }

    void operator()(const TopologySet& change) const {
        world.topologies.set_topology(change.topology);
        change_trees_with_topology(world, change.topology.name);
    }

    void operator()(const TopologyRemoved& change) const {
        world.topologies.remove_topology(change.name);
        change_trees_with_topology(world, change.name);
    }

    void operator()(const AdmissionCheckSet& change) const {
        const auto [known, is_new] = world.checks.emplace(change.check.name, change.check.state);
        if (!is_new && known->second == change.check.state) return;
        known->second = change.check.state;
        change_trees_with_check(world, change.check.name);
    }

    void operator()(const AdmissionCheckRemoved& change) const {
        if (world.checks.erase(change.name) > 0) change_trees_with_check(world, change.name);
    }

    void operator()(const NodeSet& change) const {
        world.ledger.set_node(change.node);
        wake_places(world.topologies.set_node(change.node));
        if (change.node.condition == Node::Condition::not_ready) may_fail(change.node.name);
    }

    void operator()(const NodeRemoved& change) const {
        world.ledger.remove_node(change.name);
        may_fail(change.name);
        wake_places(world.topologies.remove_node(change.name));
    }

    void operator()(const PodBound& change) const {
        world.ledger.bind(change, world.workload_names.find(change.workload));
        world.topologies.bind(change.name, change.node, change.shape, change.workload);
    }

    void operator()(const PodGone& change) const {
        world.ledger.unbind(change.name);
        if (const auto node = world.topologies.node_of(change.name)) may_fail(*node);
        wake_places(world.topologies.unbind(change.name));
    }

    void wake_places(const TopologyBook::Concerned& flavors) const {
        for (const std::string& flavor : flavors)
            world.places_changed.insert(world.book.id_of(flavor));
    }

    void may_fail(const std::string& node) const {
        for (const std::string& name : world.topologies.workloads_on(node)) {
            if (const auto id = world.workload_names.find(name)) world.to_repair.insert(*id);
        }
    }

    void operator()(const WorkloadSet& change) const {
        const Workload& spec = change.workload;
        const WorkloadId id = world.workload_id(spec.id);
        std::optional<LocalQueueId> local;
        if (!spec.local_queue.empty()) local = world.local_queue_id(spec.ns, spec.local_queue);
        WorkloadEntry& entry = world.workload(id);
        if (entry.phase == Phase::finished) return;
        entry.object = Object::exists;
        set_stage(id, spec);
        world.list_anew(id);
        const ShapeId shape = world.shapes.hold(spec.pod_sets, spec.binds, world.book.resources);
        const auto now =
            std::tie(spec.activity, spec.gate, local, shape, spec.priority, spec.slope_millionths,
                     spec.created, spec.queued, spec.not_before, spec.barrier);
        if (entry.phase != Phase::unknown &&
            now == std::tie(entry.activity, entry.gate, entry.local_queue, entry.shape,
                            entry.priority, entry.slope_millionths, entry.created, entry.queued,
                            entry.not_before, entry.barrier) &&
            !words_changed(id, spec)) {
            world.shapes.drop(shape);
            return;
        }
        world.dequeue(id);  // By its old place; it finds its new one in decide.
        if (entry.phase != Phase::unknown) world.shapes.drop(entry.shape);
        if (entry.local_queue) world.local_queue(*entry.local_queue).members.erase(id);
        if (local) world.local_queue(*local).members.insert(id);
        std::tie(entry.activity, entry.gate, entry.local_queue, entry.shape, entry.priority,
                 entry.slope_millionths, entry.created, entry.queued, entry.not_before,
                 entry.barrier) = now;
        world.barred_by.erase(id);
        using Barrier = Workload::Barrier;
        if (spec.barrier == Barrier::wrong_requests || spec.barrier == Barrier::admission_gates)
            world.barred_by[id] = spec.barred_by;
        if (entry.phase == Phase::unknown) entry.phase = Phase::waiting;
        if (entry.phase == Phase::waiting) {
            world.to_place.insert(id);
        } else {
            world.to_check.insert(id);
            world.reclaim(id);
            world.list_anew(id);
        }
    }

    bool words_changed(WorkloadId id, const Workload& spec) const {
        const auto known = world.barred_by.find(id);
        return known != world.barred_by.end() && known->second != spec.barred_by;
    }

    // Until the objects show what was decided, what they show of it is older than that.
    void set_stage(WorkloadId id, const Workload& spec) const {
        WorkloadEntry& entry = world.workload(id);
        if (entry.phase == Phase::holding && entry.seen == Seen::decided) return;
        if (entry.stage != spec.stage && entry.held != nullptr) world.to_check.insert(id);
        entry.stage = spec.stage;
        entry.pods_ready = spec.pods_ready;
        world.book_stage(id);
    }

    void operator()(const WorkloadRemoved& change) const {
        const auto id = world.workload_names.find(change.id);
        if (!id) return;
        WorkloadEntry& entry = world.workload(*id);
        entry.object = Object::removed;
        if (entry.held != nullptr) {
            world.list_anew(*id);
            world.forget_preemptions(*id);
            world.ledger.withdraw(*id);
            return;
        }
        world.dequeue(*id);
        forget(world, *id);
    }

    void operator()(const WorkloadAdmitted& change) const {
        const auto id = world.workload_names.find(change.id);
        if (!id) return;
        Held held = held_of(world, *id, change.assignment);
        held.reserved = change.reserved;
        WorkloadEntry& entry = world.workload(*id);
        if (entry.phase == Phase::finished || entry.phase == Phase::evicting) return;
        if (entry.phase == Phase::holding) {
            // Whoever is to preempt it has waited for that.
            if (entry.seen == Seen::decided) world.to_try.insert(entry.held->queue);
            entry.seen = Seen::observed;
            if (change.reserved != Time{}) entry.held->reserved = change.reserved;
            world.list_anew(*id);
            if (world.assignment(*entry.held) == change.assignment) return;
            held.reserved = entry.held->reserved;
            world.give_back(*id);
        }
        world.dequeue(*id);
        entry.phase = Phase::holding;
        entry.seen = Seen::observed;
        entry.told.reset();
        world.hold(*id, std::move(held));
        if (entry.object == Object::exists) {
            world.promise_pods(*id);
        }
    }

    void operator()(const WorkloadEvicted& change) const {
        const auto id = world.workload_names.find(change.id);
        if (id && world.workload(*id).held != nullptr) evicting(world, *id, Seen::observed);
    }

    void operator()(const WorkloadReleased& change) const {
        const auto id = world.workload_names.find(change.id);
        if (!id || world.workload(*id).held == nullptr) return;
        world.requeued.insert(world.workload(*id).held->queue);
        release(world, *id, Phase::waiting);
    }

    void operator()(const WorkloadFinished& change) const {
        const auto id = world.workload_names.find(change.id);
        if (id && world.workload(*id).phase != Phase::finished) {
            world.forget_preemptions(*id);
            release(world, *id, Phase::finished);
        }
    }

    void operator()(const WorkloadFailed& change) const {
        const auto id = world.workload_names.find(change.id);
        if (!id) return;
        WorkloadEntry& entry = world.workload(*id);
        if (entry.seen == Seen::observed) return;
        if (entry.phase == Phase::holding) {
            world.refund(*id);
            release(world, *id, Phase::waiting);
        } else if (entry.phase == Phase::evicting) {
            entry.phase = Phase::holding;
            entry.seen = Seen::observed;
            world.list_anew(*id);
            world.promise_pods(*id);
            world.to_check.insert(*id);
            world.to_try.insert(
                entry.held->queue);  // Whoever preempted it may have to choose anew.
        }
    }

    void block_anew() const {
        if (!std::exchange(world.unready, {}).empty()) world.wake_all();
        for (const QueueEntry& queue : world.queues) {
            for (const HolderTurn& holder : queue.holders)
                world.book_stage(holder.workload);
        }
    }

    void operator()(const OptionsSet& change) const {
        if (world.options == change.options) return;
        take_out_waiting(world, no_queue);
        if (world.options.admission_sharing != change.options.admission_sharing) {
            for (std::size_t i = 1; i < world.queues.size(); ++i)
                take_out_waiting(world, static_cast<QueueId>(i));
        }
        if (world.options.fair_sharing != change.options.fair_sharing ||
            world.options.undeclared != change.options.undeclared ||
            world.options.reasons != change.options.reasons) {
            world.wake_all();
        }
        world.options = change.options;
        ++world.plans_version;
        block_anew();
        world.topologies.set_profile(change.options.topologies);
        world.wake_bound_to_nodes();
    }
};

}  // namespace

void apply(State& state, const Change& change) {
    std::visit(Apply{state.world()}, change);
}

}  // namespace muster::decide

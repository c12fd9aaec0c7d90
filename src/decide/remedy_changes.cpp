// decide/remedy_changes.cpp - what a remedy comes to as changes of the state.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/verify.h"
#include "decide/remedy.h"

namespace muster::decide {

Needs needs_of(const World& world, WorkloadId id) {
    Needs needs;
    for (const PodSetNeed& set : world.shapes.of(world.workload(id).shape).pod_sets) {
        needs.pods += set.count;
        for (const auto& [resource, amount] : set.pod->requests) {
            Amount& most = needs.of_one[resource];
            most = std::max(most, amount);
            needs.of_all[resource] += amount * set.count;
        }
    }
    needs.of_one["pods"] = Amount{1};
    needs.of_all["pods"] = Amount{needs.pods};
    return needs;
}

namespace {

using Kind = Remedy::Kind;

std::vector<Change> ended(const World& world, const std::string& workload) {
    std::vector<Change> changes;
    constexpr std::string_view pod_prefix = "pod ";
    if (workload.starts_with(pod_prefix)) {
        changes.emplace_back(PodGone{workload.substr(pod_prefix.size())});
        return changes;
    }
    changes.emplace_back(WorkloadFinished{workload});
    for (const std::string& pod : world.ledger.pods_of(workload))
        changes.emplace_back(PodGone{pod});
    return changes;
}

std::vector<Change> with_other_quota(const World& world, const Remedy& remedy) {
    const auto queue = world.queue_names.find(remedy.queue);
    if (!queue || !world.queue(*queue).spec) return {};
    ClusterQueue changed = *world.queue(*queue).spec;
    bool has_changed = false;
    for (ResourceGroup& group : changed.groups) {
        for (FlavorQuotas& flavor : group.flavors) {
            if (flavor.flavor != remedy.flavor) continue;
            if (remedy.kind == Kind::cover_resource) {
                group.resources.push_back(remedy.resource);
                for (FlavorQuotas& each : group.flavors)
                    each.resources[remedy.resource] = Quota{};
                flavor.resources[remedy.resource].nominal = remedy.amount;
                return {QueueSet{std::move(changed)}};
            }
            const auto quota = flavor.resources.find(remedy.resource);
            if (quota == flavor.resources.end()) continue;
            has_changed = true;
            if (remedy.kind == Kind::raise_quota) {
                quota->second.nominal += remedy.amount;
            } else if (quota->second.borrowing_limit) {
                *quota->second.borrowing_limit += remedy.amount;
            } else {
                has_changed = false;
            }
        }
    }
    if (!has_changed) return {};
    return {QueueSet{std::move(changed)}};
}

std::vector<Change> resumed(const World& world, const Remedy& remedy) {
    const auto id = world.workload_names.find(remedy.workload);
    if (!id || !world.workload(*id).local_queue) return {};
    const LocalQueueEntry& local = world.local_queue(*world.workload(*id).local_queue);
    if (!local.spec) return {};
    if (local.spec->stop != StopPolicy::none) {
        LocalQueue queue = *local.spec;
        queue.stop = StopPolicy::none;
        return {LocalQueueSet{std::move(queue)}};
    }
    if (!world.queue(local.queue).spec) return {};
    ClusterQueue queue = *world.queue(local.queue).spec;
    queue.stop = StopPolicy::none;
    return {QueueSet{std::move(queue)}};
}

/// As it was last set, without what no decision depends on.
Workload workload_of(const World& world, WorkloadId id) {
    const WorkloadEntry& entry = world.workload(id);
    Workload made;
    made.id = world.name_of(id);
    if (entry.local_queue) {
        made.ns = world.local_queue(*entry.local_queue).ns;
        made.local_queue = world.local_queue(*entry.local_queue).name;
    }
    made.binds = world.shapes.of(entry.shape).binds;
    made.activity = entry.activity;
    made.gate = entry.gate;
    made.priority = entry.priority;
    made.slope_millionths = entry.slope_millionths;
    made.created = entry.created;
    made.queued = entry.queued;
    made.not_before = entry.not_before;
    made.pod_sets = world.shapes.pod_sets_of(entry.shape);
    made.barrier = entry.barrier;
    if (const auto known = world.barred_by.find(id); known != world.barred_by.end())
        made.barred_by = known->second;
    made.stage = entry.stage;
    made.pods_ready = entry.pods_ready;
    return made;
}

// Pods that select nodes as the flavor has them: contradicting labels follow, terms that refuse go.
void select_flavor(PodShape& pod, const Labels& node_labels) {
    for (auto& [key, value] : pod.node_selector) {
        const auto known = node_labels.find(key);
        if (known != node_labels.end()) value = known->second;
    }
    if (!selects_node(pod, node_labels, {})) pod.node_affinity.clear();
}

// False: the workload has no such pod set, or not so much to leave out.
bool change_pod_set(const World& world, Workload& workload, const Remedy& remedy) {
    for (PodSet& set : workload.pod_sets) {
        if (set.name != remedy.pod_set) continue;
        if (remedy.kind == Kind::fewer_pods) {
            set.count -= remedy.amount.value;
            if (set.min_count) set.min_count = std::min(*set.min_count, set.count);
            return set.count > 0;
        }
        if (remedy.kind == Kind::fit_flavor) {
            const auto flavor = world.book.flavors.find(remedy.flavor);
            if (!flavor || !world.book.spec(*flavor)) return false;
            select_flavor(set.pod, world.book.spec(*flavor)->node_labels);
            return true;
        }
        const auto lessen = [&remedy](Resources& resources) {
            const auto asked = resources.find(remedy.resource);
            if (asked == resources.end() || asked->second <= remedy.amount) return false;
            asked->second -= remedy.amount;
            return true;
        };
        if (!lessen(set.pod.requests)) return false;
        return !set.counted || lessen(*set.counted);
    }
    return false;
}

std::vector<Change> with_other_workload(const World& world, const Remedy& remedy) {
    const auto id = world.workload_names.find(remedy.workload);
    if (!id) return {};
    Workload changed = workload_of(world, *id);
    if (remedy.kind == Kind::activate) changed.activity = Workload::Activity::active;
    if (remedy.kind == Kind::raise_priority) changed.priority = remedy.priority;
    if (remedy.kind == Kind::open_gate) {
        changed.gate = Workload::PreemptionGate::open;
        if (changed.barrier == Workload::Barrier::admission_gates)
            changed.barrier = Workload::Barrier::none;
    }
    const bool is_smaller = remedy.kind == Kind::fewer_pods || remedy.kind == Kind::ask_less;
    if ((is_smaller || remedy.kind == Kind::fit_flavor) && !change_pod_set(world, changed, remedy))
        return {};
    return {WorkloadSet{std::move(changed)}};
}

std::vector<Change> with_label(const World& world, const Remedy& remedy) {
    NamespaceSet changed{remedy.ns, {}};
    const auto known = world.namespaces.find(remedy.ns);
    if (known != world.namespaces.end()) changed.labels = known->second;
    const auto halves = split_first(remedy.label, '=');
    VERIFY(halves.has_value());
    changed.labels[std::string(halves->before)] = halves->after;
    return {std::move(changed)};
}

std::vector<Change> with_toleration(const World& world, const Remedy& remedy) {
    const auto id = world.book.flavors.find(remedy.flavor);
    if (!id || !world.book.spec(*id)) return {};
    Flavor flavor = *world.book.spec(*id);
    Toleration toleration;
    toleration.op = Toleration::Op::exists;
    toleration.key = remedy.taint;
    flavor.tolerations.push_back(std::move(toleration));
    return {FlavorSet{std::move(flavor)}};
}

std::vector<Change> with_other_node(const World& world, const Remedy& remedy) {
    for (const std::shared_ptr<const Node>& node : world.topologies.nodes()) {
        if (node->name != remedy.node) continue;
        Node changed = *node;
        if (remedy.kind == Kind::add_capacity) {
            changed.allocatable[remedy.resource] += remedy.amount;
            return {NodeSet{std::move(changed)}};
        }
        const auto id = world.workload_names.find(remedy.workload);
        if (!id) return {};
        changed.name += "-new";
        changed.labels[std::string(hostname_level)] = changed.name;
        changed.taints.clear();
        changed.scheduling = Node::Scheduling::open;
        changed.condition = Node::Condition::ready;
        changed.allocatable.clear();
        for (const auto& [resource, amount] : needs_of(world, *id).of_one)
            changed.allocatable[resource] = amount * remedy.amount.value;
        return {NodeSet{std::move(changed)}};
    }
    return {};
}

}  // namespace

std::vector<Change> changes_of(const State& state, const Remedy& remedy) {
    const World& world = state.world();
    switch (remedy.kind) {
        case Kind::end_workload:
            return ended(world, remedy.workload);
        case Kind::raise_quota:
        case Kind::raise_borrowing_limit:
        case Kind::cover_resource:
            return with_other_quota(world, remedy);
        case Kind::resume_queue:
            return resumed(world, remedy);
        case Kind::activate:
        case Kind::raise_priority:
        case Kind::open_gate:
        case Kind::fit_flavor:
        case Kind::fewer_pods:
        case Kind::ask_less:
            return with_other_workload(world, remedy);
        case Kind::label_namespace:
            return with_label(world, remedy);
        case Kind::tolerate_taint:
            return with_toleration(world, remedy);
        case Kind::add_capacity:
        case Kind::add_node:
            return with_other_node(world, remedy);
        case Kind::create_flavor: {
            Flavor flavor;
            flavor.name = remedy.flavor;
            return {FlavorSet{std::move(flavor)}};
        }
        case Kind::none:
        case Kind::create_queue:
        case Kind::create_topology:
        case Kind::create_check:
            return {};
    }
    return {};
}

std::optional<Remedy> less_of(const Remedy& remedy) {
    Remedy less = remedy;
    less.amount = remedy.amount - Amount{1};
    less.priority = remedy.priority - 1;
    switch (remedy.kind) {
        case Kind::raise_quota:
        case Kind::raise_borrowing_limit:
        case Kind::cover_resource:
        case Kind::add_node:
        case Kind::fewer_pods:
        case Kind::ask_less:
            if (less.amount.value <= 0) return std::nullopt;
            return less;
        case Kind::add_capacity:
            if (less.amount.value <= 0 || remedy.node.empty()) return std::nullopt;
            return less;
        case Kind::raise_priority:
            return less;
        default:
            return std::nullopt;
    }
}

}  // namespace muster::decide

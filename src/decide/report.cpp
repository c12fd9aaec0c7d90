// decide/report.cpp - questions about the state: queues' counts and usage, order, reasons.
#include <algorithm>

#include "decide/quota/share.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

using Phase = WorkloadEntry::Phase;

bool is_pending(const WorkloadEntry& entry) {
    return entry.phase == Phase::waiting && entry.activity == Workload::Activity::active;
}

std::int64_t pending_of(const World& world, const LocalQueueEntry& local) {
    return std::count_if(local.members.begin(), local.members.end(),
                         [&](WorkloadId id) { return is_pending(world.workload(id)); });
}

// Whether it is still to be tried; else it was tried in vain or cannot be.
bool is_open(const World& world, WorkloadId id) {
    const std::optional<QueueId> queue = world.workload(id).enqueued;
    if (!queue || world.queue(*queue).active != QueueReport::Active::ready) return false;
    const Pending& pending = world.queue(*queue).pending;
    return pending.is_strict() || !pending.is_blocked(world.class_of(id, *queue));
}

void count_classes(const QueueEntry& entry, QueueReport& report) {
    const Pending& pending = entry.pending;
    const bool ready = entry.active == QueueReport::Active::ready;
    report.blocked_classes = !ready                ? pending.class_count()
                             : pending.is_strict() ? 0
                                                   : pending.blocked_classes();
    report.open_classes = pending.class_count() - report.blocked_classes;
    const std::int64_t blocked = pending.is_strict() ? 0 : pending.blocked_size();
    const std::int64_t open = ready ? pending.size() - blocked : 0;
    report.inadmissible = std::max<std::int64_t>(0, report.pending - open);
}

std::vector<std::string> cohorts_above(const World& world, QuotaNode node) {
    std::vector<std::string> names;
    for (auto at = world.tree.parent_of(node); at; at = world.tree.parent_of(*at))
        names.insert(names.begin(), world.name_at(*at));
    return names;
}

// Every flavor and resource of the queue's quotas, with what is used of it.
std::map<std::string, std::map<std::string, QueueReport::Use>> quotas_of(const World& world,
                                                                         const QueueEntry& entry) {
    std::map<std::string, std::map<std::string, QueueReport::Use>> flavors;
    if (!entry.spec) return flavors;
    for (const ResourceGroup& group : entry.spec->groups) {
        for (const FlavorQuotas& quotas : group.flavors) {
            for (const auto& [resource, quota] : quotas.resources) {
                flavors[quotas.flavor][resource].nominal = quota.nominal;
            }
        }
    }
    for (const FlavorResource what : world.tree.known(entry.plan.node)) {
        const auto flavor = flavors.find(world.book.flavors.name_of(what.flavor));
        if (flavor == flavors.end()) continue;
        const auto use = flavor->second.find(world.book.resources.name_of(what.resource));
        if (use == flavor->second.end()) continue;
        use->second.used = world.tree.usage(entry.plan.node, what);
        if (!world.tree.parent_of(entry.plan.node)) continue;  // Nobody to borrow from.
        use->second.borrowed =
            std::max(Amount{}, use->second.used - world.tree.nominal(entry.plan.node, what));
    }
    return flavors;
}

void add_held(const World& world, const Held& held, QueueReport& report,
              Amount QueueReport::Use::*sum) {
    for (std::size_t i = 0; i < held.pod_sets.size(); ++i) {
        for (const Share& share : world.live_shares(held, i)) {
            const std::string& flavor = world.book.flavors.name_of(share.what.flavor);
            const std::string& resource = world.book.resources.name_of(share.what.resource);
            report.flavors[flavor][resource].*sum += share.amount;
        }
    }
}

std::optional<QueueReport::PastUse> past_use_of(const World& world, LocalQueueId id) {
    const auto found = world.consumptions.find(id);
    if (!world.options.admission_sharing || found == world.consumptions.end()) return std::nullopt;
    QueueReport::PastUse use;
    use.updated = found->second.updated;
    for (const auto& [resource, amount] : found->second.thousandths)
        use.thousandths[world.book.resources.name_of(resource)] = amount;
    use.weighted =
        in_thousandths(weighted_use(found->second, *world.options.admission_sharing,
                                    world.book.resources, world.local_queue(id).spec->weight));
    return use;
}

}  // namespace

std::optional<QueueReport> report_queue(const State& state, std::string_view name) {
    const World& world = state.world();
    const auto id = world.queue_names.find(name);
    if (!id || (*id != no_queue && !world.queue(*id).spec)) return std::nullopt;
    const QueueEntry& entry = world.queue(*id);
    QueueReport report;
    report.active = entry.active;
    report.detail = entry.detail;
    report.admitted = static_cast<std::int64_t>(entry.holders.size());
    report.reserved = static_cast<std::int64_t>(entry.reserved.size());
    report.flavors = quotas_of(world, entry);
    for (const WorkloadId holder : entry.reserved)
        add_held(world, *world.workload(holder).held, report, &QueueReport::Use::reserved);
    if (world.options.fair_sharing)
        report.weighted_share = weighted_share(borrowed_share(world.tree, entry.plan.node));
    if (*id == no_queue) report.pending = entry.pending.size();
    for (const LocalQueueId local : entry.local_queues) {
        if (world.local_queue(local).spec->stop != StopPolicy::none) continue;
        report.pending += pending_of(world, world.local_queue(local));
    }
    count_classes(entry, report);
    report.cohorts = cohorts_above(world, entry.plan.node);
    return report;
}

std::optional<QueueReport> report_local_queue(const State& state, std::string_view ns,
                                              std::string_view name) {
    const World& world = state.world();
    const auto id = world.local_queue_names.find(join(ns, name));
    if (!id || !world.local_queue(*id).spec) return std::nullopt;
    const LocalQueueEntry& local = world.local_queue(*id);
    const QueueEntry& entry = world.queue(local.queue);
    QueueReport report;
    if (!entry.spec) {
        report.active = QueueReport::Active::cluster_queue_not_found;
    } else if (local.spec->stop != StopPolicy::none) {
        report.active = QueueReport::Active::stopped;
    } else if (entry.active != QueueReport::Active::ready) {
        report.active = QueueReport::Active::cluster_queue_inactive;
    }
    report.use = past_use_of(world, *id);
    report.flavors = quotas_of(world, entry);
    for (auto& [flavor, resources] : report.flavors) {
        for (auto& [resource, use] : resources)
            use.used = use.borrowed = {};
    }
    for (const WorkloadId member : local.members) {
        const WorkloadEntry& workload = world.workload(member);
        if (is_pending(workload)) {
            ++report.pending;
            if (!is_open(world, member)) ++report.inadmissible;
        }
        const auto& held = workload.held;
        if (held == nullptr || held->queue != local.queue) continue;
        ++report.admitted;
        add_held(world, *held, report, &QueueReport::Use::used);
        if (!entry.reserved.contains(member)) continue;
        ++report.reserved;
        add_held(world, *held, report, &QueueReport::Use::reserved);
    }
    return report;
}

Resources pending_resources(const State& state, std::string_view queue) {
    const World& world = state.world();
    Resources sum;
    const auto id = world.queue_names.find(queue);
    if (!id) return sum;
    const auto add = [&](ShapeId shape, std::int64_t times) {
        for (const PodSetNeed& set : world.shapes.of(shape).pod_sets) {
            for (const auto& [resource, amount] : set.requests)
                sum[world.book.resources.name_of(resource)] += amount * set.count * times;
        }
    };
    const Pending& pending = world.queue(*id).pending;
    for (const ClassKey& key : pending.classes())
        add(key.shape, static_cast<std::int64_t>(pending.members_of(key).size()));
    return sum;
}

std::optional<CohortReport> report_cohort(const State& state, std::string_view name) {
    const World& world = state.world();
    const auto id = world.cohort_names.find(name);
    if (!id) return std::nullopt;
    const QuotaNode node = world.cohorts[index(*id)].node;
    CohortReport report;
    report.cohorts = cohorts_above(world, node);
    for (const FlavorResource what : world.tree.known(node)) {
        report.own[world.book.flavors.name_of(what.flavor)]
                  [world.book.resources.name_of(what.resource)] = world.tree.subtree(node, what);
    }
    return report;
}

std::vector<std::string> cohorts_in_use(const State& state) {
    const World& world = state.world();
    std::vector<std::string> names;
    for (const auto& [name, id] : world.cohort_names.by_name()) {
        const CohortEntry& entry = world.cohorts[index(id)];
        if (entry.spec || !world.tree.children_of(entry.node).empty()) names.emplace_back(name);
    }
    return names;
}

std::optional<std::int64_t> weighted_share_of_cohort(const State& state, std::string_view name) {
    const World& world = state.world();
    const auto id = world.cohort_names.find(name);
    if (!id || !world.options.fair_sharing) return std::nullopt;
    return weighted_share(borrowed_share(world.tree, world.cohorts[index(*id)].node));
}

std::vector<std::string> waiting_in(const State& state, std::string_view cluster_queue, Time now) {
    const World& world = state.world();
    std::vector<std::string> names;
    const auto id = world.queue_names.find(cluster_queue);
    if (!id) return names;
    for (const Turn& turn : world.queue(*id).pending.in_order(now))
        names.push_back(*turn.name.text);
    return names;
}

std::vector<std::string> pending_in(const State& state, std::string_view cluster_queue, Time now) {
    const World& world = state.world();
    std::vector<std::string> names = waiting_in(state, cluster_queue, now);
    const auto id = world.queue_names.find(cluster_queue);
    if (!id) return names;
    std::vector<Turn> others;
    for (const LocalQueueId local : world.queue(*id).local_queues) {
        if (world.local_queue(local).spec->stop != StopPolicy::none) continue;
        for (const WorkloadId member : world.local_queue(local).members) {
            if (is_pending(world.workload(member)) && !world.workload(member).enqueued)
                others.push_back(world.turn_of(member));
        }
    }
    std::sort(others.begin(), others.end());
    for (const Turn& turn : others)
        names.push_back(*turn.name.text);
    return names;
}

std::optional<std::string> tried_in_place_of(const State& state, std::string_view workload) {
    const World& world = state.world();
    const auto id = world.workload_names.find(workload);
    if (!id || !world.workload(*id).enqueued) return std::nullopt;
    const QueueId queue = *world.workload(*id).enqueued;
    static const std::string before_all;
    const Turn first_of_rank{
        world.turn_of(*id).rank, Time{INT64_MIN}, {0, &before_all}, WorkloadId{}};
    const auto& members = world.queue(queue).pending.members_of(world.class_of(*id, queue));
    const auto first = members.lower_bound(first_of_rank);
    if (first == members.end() || first->workload == *id) return std::nullopt;
    return *first->name.text;
}

std::optional<WaitReason> wait_reason(const State& state, std::string_view workload) {
    const World& world = state.world();
    const auto id = world.workload_names.find(workload);
    if (!id || world.workload(*id).told == nullptr) return std::nullopt;
    return *world.workload(*id).told;
}

std::optional<Assignment> assignment_of(const State& state, std::string_view workload) {
    const World& world = state.world();
    const auto id = world.workload_names.find(workload);
    if (!id || world.workload(*id).held == nullptr) return std::nullopt;
    return world.assignment(*world.workload(*id).held);
}

std::string queue_that_gives(const State& state, std::string_view workload) {
    const World& world = state.world();
    const auto id = world.workload_names.find(workload);
    if (!id || world.workload(*id).held == nullptr) return "";
    const QueueId queue = world.workload(*id).held->queue;
    return queue == no_queue ? "" : world.queue_names.name_of(queue);
}

}  // namespace muster::decide

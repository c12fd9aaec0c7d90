// decide/use.cpp - what local queues have used of late, kept in the world.
#include <algorithm>
#include <utility>

#include "decide/deciding.h"

namespace muster::decide {

namespace {

std::map<ResourceId, Amount> started_by(const Held& held) {
    std::map<ResourceId, Amount> sums;
    for (const PodSetFit& set : held.pod_sets) {
        for (const Share& share : set.shares)
            sums[share.what.resource] += share.amount;
    }
    return sums;
}

}  // namespace

bool World::goes_by_use(QueueId id) const {
    const auto& spec = queue(id).spec;
    return options.admission_sharing && spec &&
           spec->admission_mode == ClusterQueue::AdmissionMode::usage_based;
}

bool World::refresh_uses(QueueId id) {
    std::map<LocalQueueId, Fraction> uses;
    if (goes_by_use(id)) {
        for (const LocalQueueId local : queue(id).local_queues) {
            uses[local] = last_use_of(local);
            if (local_queue(local).spec->weight.nanos <= 0) uses[local] = {1, 0};
        }
    }
    return queue(id).pending.set_uses(std::move(uses));
}

Fraction World::last_use_of(LocalQueueId local) const {
    const auto found = consumptions.find(local);
    if (found == consumptions.end() || !local_queue(local).spec) return {};
    return weighted_use(found->second, *options.admission_sharing, book.resources,
                        local_queue(local).spec->weight);
}

std::map<ResourceId, Amount> World::use_of(LocalQueueId local) const {
    std::map<ResourceId, Amount> sums;
    for (const WorkloadId member : local_queue(local).members) {
        const auto& held = workload(member).held;
        if (held == nullptr || held->queue != local_queue(local).queue) continue;
        for (std::size_t i = 0; i < held->pod_sets.size(); ++i) {
            for (const Share& share : live_shares(*held, i))
                sums[share.what.resource] += share.amount;
        }
    }
    return sums;
}

void World::begin_use(LocalQueueId local) {
    Consumption& consumption = consumptions[local];
    uses_changed = uses_changed || !consumption.in_use;
    consumption.in_use = true;
}

void World::charge(WorkloadId id, Time now) {
    const WorkloadEntry& entry = workload(id);
    if (!entry.local_queue || !goes_by_use(entry.held->queue)) return;
    Consumption& consumption = consumptions[*entry.local_queue];
    // Time in which nothing was used does not count.
    if (consumption.is_nothing()) consumption.updated = now;
    consumption.charge(started_by(*entry.held), *options.admission_sharing);
    refresh_uses(entry.held->queue);
}

void World::refund(WorkloadId id) {
    const WorkloadEntry& entry = workload(id);
    if (!entry.local_queue || entry.held == nullptr || !goes_by_use(entry.held->queue)) return;
    consumptions[*entry.local_queue].refund(started_by(*entry.held), *options.admission_sharing);
    refresh_uses(entry.held->queue);
}

// Adds up what is due, and what is new. The next time is when the first of those that use anything
// is due again.
std::optional<Time> Deciding::add_up_uses() {
    if (!world.options.admission_sharing) return std::nullopt;
    const std::optional<Time> due_before = world.uses_due;
    if (!std::exchange(world.uses_changed, false) && (!due_before || now < *due_before))
        return due_before;
    world.uses_due.reset();
    for (std::size_t i = 1; i < world.queues.size(); ++i) {
        const auto id = static_cast<QueueId>(i);
        if (!world.queue(id).spec) continue;
        for (const LocalQueueId local : world.queue(id).local_queues)
            add_up_use(local);
        if (world.refresh_uses(id)) world.to_try.insert(id);
    }
    return world.uses_due;
}

void Deciding::add_up_use(LocalQueueId local) {
    const AdmissionSharing& sharing = *world.options.admission_sharing;
    Consumption& consumption = world.consumptions[local];
    bool is_news = consumption.updated == Time{};
    if (is_news) consumption.updated = now;
    if (consumption.updated + sharing.sampling <= now) {
        is_news = consumption.in_use || !consumption.is_nothing();
        const auto used = world.use_of(local);
        consumption.sample(used, now - consumption.updated, sharing.half_life);
        consumption.in_use = !used.empty();
        consumption.updated = now;
    }
    if (is_news) {
        const LocalQueueEntry& entry = world.local_queue(local);
        decision.uses.emplace_back(entry.ns, entry.name);
    }
    if (!consumption.in_use && consumption.is_nothing()) return;
    const Time due = consumption.updated + sharing.sampling;
    if (!world.uses_due || due < *world.uses_due) world.uses_due = due;
}

}  // namespace muster::decide

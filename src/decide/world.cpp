// decide/world.cpp - the books of the state: ids, queues' order, who holds what.
#include "decide/world.h"

#include <algorithm>
#include <list>

namespace muster::decide {

State::State() : world_(std::make_unique<World>()) {}
State::State(const State& other) : world_(std::make_unique<World>(*other.world_)) {}
State::State(State&& other) noexcept = default;
State& State::operator=(State&& other) noexcept = default;
State::~State() = default;

State& State::operator=(const State& other) {
    *world_ = *other.world_;
    return *this;
}

WorkloadEntry::WorkloadEntry(const WorkloadEntry& other)
    : phase(other.phase),
      seen(other.seen),
      object(other.object),
      activity(other.activity),
      gate(other.gate),
      barrier(other.barrier),
      stage(other.stage),
      pods_ready(other.pods_ready),
      local_queue(other.local_queue),
      shape(other.shape),
      priority(other.priority),
      slope_millionths(other.slope_millionths),
      created(other.created),
      queued(other.queued),
      not_before(other.not_before),
      enqueued(other.enqueued),
      held(other.held ? std::make_unique<Held>(*other.held) : nullptr),
      told(other.told) {}

World::World() {
    const QueueId none = queue_id("");
    VERIFY(none == no_queue);
}

QueueId World::queue_id(std::string_view name) {
    const QueueId id = queue_names.id_of(name);
    if (queues.size() < queue_names.limit()) {
        QueueEntry entry;
        entry.plan.node = tree.add();
        queue_of_node.resize(index(entry.plan.node) + 1, no_queue);
        queue_of_node[index(entry.plan.node)] = id;
        queues.push_back(std::move(entry));
        structure_changed = true;
    }
    return id;
}

CohortId World::cohort_id(std::string_view name) {
    const CohortId id = cohort_names.id_of(name);
    if (cohorts.size() < cohort_names.limit()) {
        cohorts.emplace_back();
        cohorts.back().node = tree.add();
        cohort_of_node[cohorts.back().node] = id;
        structure_changed = true;
    }
    return id;
}

LocalQueueId World::local_queue_id(std::string_view ns, std::string_view name) {
    const LocalQueueId id = local_queue_names.id_of(join(ns, name));
    if (local_queues.size() < local_queue_names.limit()) {
        LocalQueueEntry entry;
        entry.ns = ns;
        entry.name = name;
        local_queues.push_back(std::move(entry));
    }
    return id;
}

WorkloadId World::workload_id(std::string_view name) {
    const WorkloadId id = workload_names.id_of(name);
    if (workloads.size() < workload_names.limit()) workloads.grow(workload_names.limit());
    return id;
}

std::optional<QueueId> World::queue_at(QuotaNode node) const {
    if (index(node) >= queue_of_node.size()) return std::nullopt;
    const QueueId id = queue_of_node[index(node)];
    if (id == no_queue && queue(no_queue).plan.node != node) return std::nullopt;
    return id;
}

const std::string& World::name_at(QuotaNode node) const {
    const auto queue = queue_at(node);
    return queue ? queue_names.name_of(*queue) : cohort_names.name_of(cohort_of_node.at(node));
}

std::string World::path_of(QueueId id) const {
    std::string path;
    for (std::optional<QuotaNode> at = queue(id).plan.node; at; at = tree.parent_of(*at))
        path = "/" + name_at(*at) + path;
    return path;
}

Turn World::turn_of(WorkloadId id) const {
    const WorkloadEntry& entry = workload(id);
    const bool fifo = !entry.local_queue && options.order == Options::Order::fifo;
    const bool ages = !entry.local_queue;
    return {.rank = fifo
                        ? Rank{}
                        : rank_of(entry.priority, ages ? entry.slope_millionths : 0, entry.created),
            .queued = entry.queued == Time{} ? entry.created : entry.queued,
            .name = workload_names.ranked(id),
            .workload = id};
}

ClassKey World::class_of(WorkloadId id, QueueId where) const {
    const WorkloadEntry& entry = workload(id);
    const bool ages = !entry.local_queue && options.order == Options::Order::priority;
    return {shapes.of(entry.shape).binds,
            ages ? entry.slope_millionths : 0,
            queue(where).plan.tells_priorities_apart() ? entry.priority : 0,
            entry.shape,
            goes_by_use(where) ? entry.local_queue.value_or(LocalQueueId{}) : LocalQueueId{},
            entry.gate};
}

void World::enqueue(WorkloadId id, QueueId where) {
    WorkloadEntry& entry = workload(id);
    VERIFY(!entry.enqueued);
    const ClassKey key = class_of(id, where);
    queue(where).pending.insert(key, turn_of(id));
    if (key.binds == Workload::Binds::quota_and_nodes) node_bound.insert(where);
    entry.enqueued = where;
    to_try.insert(where);
    to_tell.insert(id);
}

void World::dequeue(WorkloadId id) {
    patience.erase(id);
    turning.erase(id);
    WorkloadEntry& entry = workload(id);
    if (!entry.enqueued) return;
    QueueEntry& from = queue(*entry.enqueued);
    from.pending.erase(class_of(id, *entry.enqueued), turn_of(id));
    if (from.told_head == id) from.told_head.reset();  // The id may soon be another's.
    to_try.insert(*entry.enqueued);                    // Who stood behind it may be next.
    entry.enqueued.reset();
}

void World::hold(WorkloadId id, Held held) {
    WorkloadEntry& entry = workload(id);
    VERIFY(entry.held == nullptr);
    entry.held = std::make_unique<Held>(std::move(held));
    const Held& given = *entry.held;
    const QuotaNode node = std::as_const(*this).queue(given.queue).plan.node;
    for (std::size_t i = 0; i < given.pod_sets.size(); ++i) {
        visit_live_shares(given, i, [&](FlavorResource what, Amount amount) {
            tree.add_usage(node, what, amount);
        });
    }
    if (options.admission_sharing && entry.local_queue) begin_use(*entry.local_queue);
    list_anew(id);
    to_check.insert(id);
    hold_places(id);
    book_stage(id);
}

void World::book_stage(WorkloadId id) {
    const WorkloadEntry& entry = std::as_const(*this).workload(id);
    if (entry.held == nullptr) return;
    const QueueId where = entry.held->queue;
    const bool reserved = entry.stage == Workload::Stage::reserved;
    if (reserved != std::as_const(*this).queue(where).reserved.contains(id)) {
        if (reserved) {
            queue(where).reserved.insert(id);
        } else {
            queue(where).reserved.erase(id);
        }
    }
    if (options.blocking == Options::Blocking::never || where == no_queue) return;
    if (entry.pods_ready == Workload::PodsReady::no) {
        unready.insert(id);
    } else if (unready.erase(id) > 0 && unready.empty()) {
        wake_all();
    }
}

bool World::has_checks(QueueId id, const std::vector<PodSetFit>& found) const {
    const auto& spec = queue(id).spec;
    if (!spec) return false;
    return std::any_of(spec->checks.begin(), spec->checks.end(), [&](const CheckRule& rule) {
        return std::any_of(found.begin(), found.end(), [&](const PodSetFit& set) {
            return std::any_of(set.shares.begin(), set.shares.end(), [&](const Share& share) {
                const std::string& flavor = book.flavors.name_of(share.what.flavor);
                return rule.flavors.empty() || std::find(rule.flavors.begin(), rule.flavors.end(),
                                                         flavor) != rule.flavors.end();
            });
        });
    });
}

void World::list_anew(WorkloadId id) {
    WorkloadEntry& entry = workload(id);
    if (entry.held == nullptr) return;
    const HolderTurn now{
        is_leaving(entry) ? HolderTurn::Stage::leaving : HolderTurn::Stage::staying, id,
        entry.priority, entry.held->reserved, workload_names.ranked(id)};
    HolderTurn& listed = entry.held->listed;
    auto& list = queue(entry.held->queue).holders;
    if (listed.name.text != nullptr) {
        if (!(listed < now) && !(now < listed) && list.contains(now)) return;
        list.erase(listed);
    }
    listed = now;
    list.insert(now);
}

// Of a pod set that its object no longer has, the pods are known by their share of the quota.
void World::hold_places(WorkloadId id) {
    const WorkloadEntry& entry = std::as_const(*this).workload(id);
    const std::vector<PodSetFit>& given = entry.held->pod_sets;
    if (std::none_of(given.begin(), given.end(), [](const PodSetFit& set) { return set.places; }))
        return;
    std::vector<TopologyAsk> asks;
    TopologyBook::Assignments places;
    std::list<PodShape> made;
    const auto& known = shapes.of(entry.shape).pod_sets;
    for (std::size_t i = 0; i < entry.held->pod_sets.size(); ++i) {
        const PodSetFit& fit = entry.held->pod_sets[i];
        if (!fit.places) continue;
        TopologyAsk ask;
        ask.pod_set = (*entry.held->names)[i];
        ask.count = fit.count;
        PodShape share_of_quota;
        for (const Share& share : fit.shares) {
            const auto& spec = book.spec(share.what.flavor);
            if (spec && !spec->topology.empty()) ask.flavor = spec->name;
            share_of_quota.requests[book.resources.name_of(share.what.resource)] = {
                fit.count == 0 ? 0 : share.amount.value / fit.count};
        }
        const auto need = std::find_if(known.begin(), known.end(),
                                       [&](const PodSetNeed& n) { return n.name == ask.pod_set; });
        if (need != known.end()) {
            ask.pod = need->pod.get();
        } else {
            ask.pod = &made.emplace_back(std::move(share_of_quota));
        }
        asks.push_back(std::move(ask));
        places.push_back(*fit.places);
    }
    if (asks.empty()) return;
    topologies.hold(name_of(id), asks, places);
    to_repair.insert(id);
}

void World::give_back(WorkloadId id) {
    WorkloadEntry& entry = workload(id);
    if (entry.held == nullptr) return;
    const Held& given = *entry.held;
    const QuotaNode node = std::as_const(*this).queue(given.queue).plan.node;
    for (std::size_t i = 0; i < given.pod_sets.size(); ++i) {
        visit_live_shares(given, i, [&](FlavorResource what, Amount amount) {
            tree.remove_usage(node, what, amount);
        });
    }
    if (std::as_const(*this).queue(entry.held->queue).reserved.contains(id))
        queue(entry.held->queue).reserved.erase(id);
    if (unready.erase(id) > 0 && unready.empty()) wake_all();
    queue(entry.held->queue).holders.erase(entry.held->listed);
    // Nodes are shared by all trees; heads that are never parked see what another tree gives back.
    if (topologies.holds(name_of(id))) {
        for (const QueueId other : standing) {
            if (queue(other).pending.is_strict() && may_meet(other, given.queue))
                to_try.insert(other);
        }
    }
    topologies.release(name_of(id));
    to_repair.erase(id);
    wake_tree(entry.held->queue);
    if (entry.local_queue) to_wake[entry.held->queue].from.push_back(*entry.local_queue);
    entry.held.reset();
}

std::vector<Share> World::live_shares(const Held& held, std::size_t pod_set) const {
    std::vector<Share> live;
    visit_live_shares(held, pod_set, [&](FlavorResource what, Amount amount) {
        live.push_back({what, amount});
    });
    return live;
}

void World::reclaim(WorkloadId id) {
    const WorkloadEntry& entry = workload(id);
    Held held = *entry.held;
    const Shape& shape = shapes.of(entry.shape);
    if (shape.pod_sets.size() != held.pod_sets.size()) return;
    bool changed = false;
    for (std::size_t i = 0; i < held.pod_sets.size(); ++i) {
        if (shape.pod_sets[i].name != (*held.names)[i]) return;
        const std::int64_t live = std::min(held.pod_sets[i].count, shape.pod_sets[i].count);
        changed |= live != held.live[i];
        held.live[i] = live;
    }
    if (!changed) return;
    give_back(id);
    hold(id, std::move(held));
    forget_preemptions(id);
    if (entry.phase == WorkloadEntry::Phase::holding) promise_pods(id);
}

void World::promise_pods(WorkloadId id) {
    const WorkloadEntry& entry = std::as_const(*this).workload(id);
    const Shape& shape = shapes.of(entry.shape);
    std::vector<std::int64_t> counts;
    const bool is_whole = entry.held->names == shape.names && entry.held->live == shape.counts;
    if (!is_whole) counts = shape.counts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        for (std::size_t k = 0; k < entry.held->names->size(); ++k) {
            if ((*entry.held->names)[k] == shape.pod_sets[i].name) counts[i] = entry.held->live[k];
        }
    }
    ledger.promise(id, workload_names.ranked(id), shapes.shared(entry.shape), std::move(counts));
}

void World::forget_preemptions(WorkloadId id) {
    const WorkloadEntry& entry = workload(id);
    if (entry.held == nullptr) return;
    preemptions.erase(tree.root_of(queue(entry.held->queue).plan.node));
}

bool World::may_meet(QueueId a, QueueId b) const {
    const QueueEntry& one = queue(a);
    const QueueEntry& other = queue(b);
    return tree.root_of(one.plan.node) == tree.root_of(other.plan.node) ||
           have_common(one.places, other.places);
}

void World::find_roots() {
    queues_by_root.clear();
    std::erase_if(preemptions,
                  [this](const auto& known) { return tree.parent_of(known.first).has_value(); });
    for (std::size_t i = 0; i < queues.size(); ++i)
        queues_by_root[tree.root_of(queues[i].plan.node)].push_back(static_cast<QueueId>(i));
}

void World::wake_all() {
    for (const auto& [root, members] : queues_by_root) {
        if (!members.empty()) wake_tree(members.front());
    }
}

void World::wake_bound_to_nodes() {
    erase_if(node_bound, [&](QueueId id) {
        if (!queue(id).pending.wake_bound_to_nodes()) return true;
        to_try.insert(id);
        return false;
    });
}

std::optional<WaitReason> World::ineligible(WorkloadId id, Time now) const {
    const WorkloadEntry& entry = workload(id);
    WaitReason reason;
    const auto because = [&](WaitReason::Rule rule) {
        reason.rule = rule;
        return reason;
    };
    if (entry.activity == Workload::Activity::deactivated) {
        return because(WaitReason::Rule::deactivated);
    }
    if (!entry.local_queue) {
        if (shapes.of(entry.shape).binds == Workload::Binds::quota) {
            return because(WaitReason::Rule::local_queue_missing);
        }
    } else {
        const LocalQueueEntry& local = local_queue(*entry.local_queue);
        reason.local_queue = local.name;
        if (!local.spec) return because(WaitReason::Rule::local_queue_missing);
        const QueueEntry& target = queue(local.queue);
        reason.cluster_queue = queue_names.name_of(local.queue);
        if (!target.spec) return because(WaitReason::Rule::cluster_queue_missing);
        if (local.spec->stop != StopPolicy::none) {
            return because(WaitReason::Rule::local_queue_stopped);
        }
        reason.detail = target.detail;
        if (target.active == QueueReport::Active::stopped) {
            return because(WaitReason::Rule::cluster_queue_stopped);
        }
        if (target.active == QueueReport::Active::flavor_not_found) {
            return because(WaitReason::Rule::flavor_missing);
        }
        if (target.active == QueueReport::Active::topology_not_found) {
            return because(WaitReason::Rule::topology_missing);
        }
        if (target.active == QueueReport::Active::check_not_found) {
            return because(WaitReason::Rule::check_missing);
        }
        if (target.active == QueueReport::Active::check_inactive) {
            return because(WaitReason::Rule::check_inactive);
        }
        if (target.active == QueueReport::Active::cohort_cycle) {
            return because(WaitReason::Rule::cohort_cycle);
        }
        const auto labels = namespaces.find(local.ns);
        const Labels none;
        if (!target.spec->namespaces ||
            !matches(*target.spec->namespaces,
                     labels == namespaces.end() ? none : labels->second)) {
            return because(WaitReason::Rule::namespace_mismatch);
        }
    }
    if (entry.barrier == Workload::Barrier::wrong_requests) {
        reason.detail = barred_by.at(id);
        return because(WaitReason::Rule::wrong_requests);
    }
    if (entry.barrier == Workload::Barrier::admission_gates) {
        reason.detail = barred_by.at(id);
        return because(WaitReason::Rule::admission_gated);
    }
    if (entry.barrier == Workload::Barrier::failed_checks) {
        return because(WaitReason::Rule::checks_failed);
    }
    if (entry.not_before > now) {
        reason.until = entry.not_before;
        return because(WaitReason::Rule::backoff);
    }
    return std::nullopt;
}

std::shared_ptr<const WaitReason> World::reason_now(WorkloadId id, Time now) const {
    const WorkloadEntry& entry = workload(id);
    if (entry.phase != WorkloadEntry::Phase::waiting) return nullptr;
    if (!entry.enqueued) {
        auto reason = ineligible(id, now);
        if (!reason) return nullptr;  // Since the last decision it has become eligible.
        return std::make_shared<const WaitReason>(std::move(*reason));
    }
    const Pending& pending = queue(*entry.enqueued).pending;
    const ClassKey key = class_of(id, *entry.enqueued);
    if (pending.leads(id)) return pending.leaders_reason();
    if (!pending.is_strict()) {
        const auto reason = pending.reason_of(key);
        if (pending.is_blocked(key) || (reason != nullptr && !pending.leader())) return reason;
    }
    const auto head = pending.is_strict() ? pending.head(now) : pending.next(now);
    if (!head || head->turn.workload == id) return pending.reason_of(key);
    WaitReason behind;
    behind.rule =
        pending.is_strict() ? WaitReason::Rule::behind_head : WaitReason::Rule::behind_preemptor;
    if (entry.local_queue) behind.local_queue = local_queue(*entry.local_queue).name;
    behind.cluster_queue = queue_names.name_of(*entry.enqueued);
    behind.head = name_of(head->turn.workload);
    return std::make_shared<const WaitReason>(std::move(behind));
}

Assignment World::assignment(const Held& held) const {
    Assignment result;
    result.cluster_queue = queue_names.name_of(held.queue);
    for (std::size_t i = 0; i < held.pod_sets.size(); ++i) {
        PodSetAssignment set;
        set.name = (*held.names)[i];
        set.count = held.pod_sets[i].count;
        for (const Share& share : held.pod_sets[i].shares) {
            const std::string& resource = book.resources.name_of(share.what.resource);
            set.flavors[resource] = book.flavors.name_of(share.what.flavor);
            set.usage[resource] += share.amount;
        }
        set.topology = held.pod_sets[i].places;
        result.pod_sets.push_back(std::move(set));
    }
    return result;
}

bool is_leaving(const WorkloadEntry& entry) {
    return entry.phase == WorkloadEntry::Phase::evicting ||
           entry.object == WorkloadEntry::Object::removed;
}

Shape with_counts(const Shape& shape, const std::vector<std::int64_t>& counts) {
    Shape other = shape;
    for (std::size_t i = 0; i < counts.size(); ++i)
        other.pod_sets[i].count = counts[i];
    other.counts = counts;
    return other;
}

std::string join(std::string_view ns, std::string_view name) {
    return std::string(ns) + "/" + std::string(name);
}

}  // namespace muster::decide

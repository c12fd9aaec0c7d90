// test/fuzz/queue_reference.cpp - sums over all jobs, and the definitions of the quota tree.
#include "test/fuzz/queue_reference.h"

#include <algorithm>
#include <tuple>

namespace muster::fuzz {

using decide::Assignment;
using decide::ClusterQueue;
using decide::PodSet;
using decide::Preemption;
using decide::Quota;
using decide::TopologyRequest;

namespace {

std::string wanted_parent(const QueueReference& world, const std::string& node) {
    const auto queue = world.queues.find(node);
    if (queue != world.queues.end()) return queue->second.cohort;
    const auto cohort = world.cohorts.find(node);
    return cohort != world.cohorts.end() ? cohort->second.parent : "";
}

}  // namespace

bool QueueReference::in_circle(const std::string& node) const {
    std::string at = node;
    for (std::size_t steps = 0; steps <= cohorts.size() + 1; ++steps) {
        at = wanted_parent(*this, at);
        if (at.empty()) return false;
    }
    return true;
}

std::optional<std::string> QueueReference::parent_of(const std::string& node) const {
    const std::string parent = wanted_parent(*this, node);
    if (parent.empty() || in_circle(node)) return std::nullopt;
    return parent;
}

std::string QueueReference::root_of(const std::string& node) const {
    std::string at = node;
    while (const auto parent = parent_of(at))
        at = *parent;
    return at;
}

std::vector<std::string> QueueReference::children_of(const std::string& node) const {
    std::vector<std::string> children;
    for (const auto& [name, queue] : queues) {
        if (parent_of(name) == node) children.push_back(name);
    }
    for (const auto& [name, cohort] : cohorts) {
        if (parent_of(name) == node) children.push_back(name);
    }
    return children;
}

Quota QueueReference::quota(const std::string& node, const What& what) const {
    const auto queue = queues.find(node);
    const auto cohort = cohorts.find(node);
    if (queue == queues.end() && cohort == cohorts.end()) return {};
    for (const auto& group : queue != queues.end() ? queue->second.groups : cohort->second.groups) {
        for (const auto& known : group.flavors) {
            const auto found = known.resources.find(what.second);
            if (known.flavor == what.first && found != known.resources.end()) return found->second;
        }
    }
    return {};
}

std::int64_t QueueReference::subtree(const std::string& node, const What& what) const {
    std::int64_t sum = quota(node, what).nominal.value;
    for (const std::string& child : children_of(node))
        sum += subtree(child, what) - local(child, what);
    return sum;
}

std::int64_t QueueReference::local(const std::string& node, const What& what) const {
    const auto limit = quota(node, what).lending_limit;
    if (!limit) return 0;
    return std::max<std::int64_t>(0, subtree(node, what) - limit->value);
}

std::int64_t QueueReference::usage(const std::string& node, const What& what) const {
    std::int64_t sum = 0;
    for (const auto& [id, job] : jobs) {
        if (!job.held || job.held->cluster_queue != node) continue;
        const Needs needs = needs_of(job, *job.held);
        const auto found = needs.find(what);
        if (found != needs.end()) sum += found->second;
    }
    for (const std::string& child : children_of(node))
        sum += std::max<std::int64_t>(0, usage(child, what) - local(child, what));
    return sum;
}

std::int64_t QueueReference::available(const std::string& node, const What& what) const {
    const std::int64_t used = usage(node, what);
    const std::int64_t own = subtree(node, what);
    const auto parent = parent_of(node);
    if (!parent) return own - used;
    const std::int64_t kept = local(node, what);
    std::int64_t above = available(*parent, what);
    if (const auto limit = quota(node, what).borrowing_limit) {
        above = std::min(above, own - kept - std::max<std::int64_t>(0, used - kept) + limit->value);
    }
    return std::max<std::int64_t>(0, kept - used) + above;
}

std::string QueueReference::queue_of(const Job& job) const {
    const auto found = locals.find(job.spec.local_queue);
    return found == locals.end() ? "" : found->second.cluster_queue;
}

QueueReference::Needs QueueReference::needs_of(const Job& job, const Assignment& assignment) const {
    Needs needs;
    for (std::size_t i = 0; i < assignment.pod_sets.size(); ++i) {
        const auto& set = assignment.pod_sets[i];
        const auto& spec = job.spec.pod_sets.at(i);
        const std::int64_t live = std::min(set.count, spec.count - spec.reclaimable);
        for (const auto& [resource, amount] : set.usage) {
            if (set.count > 0)
                needs[{set.flavors.at(resource), resource}] += amount.value / set.count * live;
        }
    }
    return needs;
}

bool QueueReference::is_free(const std::string& queue, const Needs& needs) const {
    return std::all_of(needs.begin(), needs.end(), [&](const auto& need) {
        return need.second <= std::max<std::int64_t>(0, available(queue, need.first));
    });
}

bool QueueReference::borrows(const std::string& queue, const Needs& needs) const {
    return std::any_of(needs.begin(), needs.end(), [&](const auto& need) {
        return usage(queue, need.first) + need.second > subtree(queue, need.first);
    });
}

// A flavor with a topology is for pods that ask for a place, unless the queue has no other.
bool QueueReference::flavor_allows(const Job& job, const PodSet& set,
                                   const std::string& flavor) const {
    const decide::Flavor& spec = flavors.at(flavor);
    for (const auto& [key, value] : set.pod.node_selector) {
        const auto found = spec.node_labels.find(key);
        if (found != spec.node_labels.end() && found->second != value) return false;
    }
    const bool asks = set.topology.mode != TopologyRequest::Mode::none;
    if (asks || spec.topology.empty()) return asks == !spec.topology.empty();
    for (const auto& group : queues.at(queue_of(job)).groups) {
        for (const auto& other : group.flavors) {
            if (flavors.at(other.flavor).topology.empty()) return false;
        }
    }
    return true;
}

std::int64_t QueueReference::free_on(const decide::Node& node, const std::string& resource) const {
    const auto found = node.allocatable.find(resource);
    std::int64_t left = found == node.allocatable.end() ? 0 : found->second.value;
    for (const auto& [id, job] : jobs) {
        if (!job.held) continue;
        for (std::size_t i = 0; i < job.held->pod_sets.size(); ++i) {
            const auto& places = job.held->pod_sets[i].topology;
            if (!places) continue;
            const auto& requests = job.spec.pod_sets.at(i).pod.requests;
            for (const auto& domain : places->domains) {
                if (domain.values.back() != node.name) continue;
                if (resource == "pods") left -= domain.count;
                if (requests.contains(resource)) left -= requests.at(resource).value * domain.count;
            }
        }
    }
    return left;
}

bool QueueReference::has_places(const PodSet& set, std::int64_t count) const {
    std::map<std::string, std::int64_t> pods;  // By domain of the level; "" for any.
    for (const auto& [name, node] : nodes) {
        std::int64_t room = std::max<std::int64_t>(0, free_on(node, "pods"));
        for (const auto& [resource, amount] : set.pod.requests)
            room =
                std::min(room, std::max<std::int64_t>(0, free_on(node, resource)) / amount.value);
        const bool required = set.topology.mode == TopologyRequest::Mode::required;
        pods[required ? node.labels.at(set.topology.level) : ""] += room;
    }
    return std::any_of(pods.begin(), pods.end(),
                       [&](const auto& domain) { return domain.second >= count; });
}

bool QueueReference::always_fits(const Job& job, std::optional<std::int64_t> fewer) const {
    const auto& sets = job.spec.pod_sets;
    const std::string queue = queue_of(job);
    const auto& groups = queues.at(queue).groups;
    const auto count_of = [&](std::size_t i) {
        return fewer && i + 1 == sets.size() ? *fewer : sets[i].count - sets[i].reclaimable;
    };
    // Every way on from `taken`, pod set by pod set, within one group of resources.
    const auto finds = [&](const auto& self, std::size_t i, const decide::ResourceGroup& group,
                           const Needs& taken) -> bool {
        if (i == sets.size()) return true;
        std::map<std::string, std::int64_t> wanted;
        for (const std::string& resource : group.resources) {
            const auto found = sets[i].pod.requests.find(resource);
            if (found != sets[i].pod.requests.end())
                wanted[resource] = found->second.value * count_of(i);
            if (resource == "pods") wanted[resource] = count_of(i);
        }
        if (wanted.empty()) return self(self, i + 1, group, taken);
        bool found = false;
        for (const auto& flavor : group.flavors) {
            if (!flavor_allows(job, sets[i], flavor.flavor)) continue;
            if (!flavors.at(flavor.flavor).topology.empty() &&
                (sets.size() > 1 || !has_places(sets[i], count_of(i)))) {
                return false;
            }
            Needs more = taken;
            for (const auto& [resource, amount] : wanted)
                more[{flavor.flavor, resource}] += amount;
            if (!is_free(queue, more)) continue;
            found = true;
            if (!self(self, i + 1, group, more)) return false;
        }
        return found;
    };
    for (const PodSet& set : sets) {
        for (const auto& [resource, amount] : set.pod.requests) {
            if (std::none_of(groups.begin(), groups.end(), [&, wanted = resource](const auto& g) {
                    return std::find(g.resources.begin(), g.resources.end(), wanted) !=
                           g.resources.end();
                })) {
                return false;
            }
        }
    }
    return std::all_of(groups.begin(), groups.end(),
                       [&](const auto& group) { return finds(finds, 0, group, {}); });
}

bool QueueReference::has_checks(const std::string& queue, const Assignment& assignment) const {
    for (const auto& rule : queues.at(queue).checks) {
        if (rule.flavors.empty()) return true;
        for (const auto& set : assignment.pod_sets) {
            for (const auto& [resource, flavor] : set.flavors) {
                if (flavor == rule.flavors.front()) return true;
            }
        }
    }
    return false;
}

bool QueueReference::is_active(const std::string& queue) const {
    const auto found = queues.find(queue);
    if (found == queues.end() || found->second.stop != decide::StopPolicy::none) return false;
    for (const auto& rule : found->second.checks) {
        const auto check = checks.find(rule.name);
        if (check == checks.end() || check->second.state != decide::AdmissionCheck::State::active)
            return false;
    }
    return !in_circle(queue);
}

bool QueueReference::may_start(const Job& job) const {
    const auto local = locals.find(job.spec.local_queue);
    return job.state == Job::State::waiting && !job.removed &&
           job.spec.activity == decide::Workload::Activity::active && local != locals.end() &&
           local->second.stop == decide::StopPolicy::none && is_active(queue_of(job));
}

bool QueueReference::must_go(const Job& job) const {
    if (job.state != Job::State::holding || job.removed) return false;
    if (job.spec.activity == decide::Workload::Activity::deactivated) return true;
    if (job.spec.stage == decide::Workload::Stage::reserved) return false;
    const auto queue = queues.find(job.held->cluster_queue);
    const auto local = locals.find(job.spec.local_queue);
    return (queue != queues.end() && queue->second.stop == decide::StopPolicy::hold_and_drain) ||
           (local != locals.end() && local->second.stop == decide::StopPolicy::hold_and_drain);
}

std::vector<std::string> QueueReference::order(const std::string& queue) const {
    std::vector<std::string> ids;
    for (const auto& [id, job] : jobs) {
        if (may_start(job) && queue_of(job) == queue) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end(), [this](const std::string& a, const std::string& b) {
        const decide::Workload& left = jobs.at(a).spec;
        const decide::Workload& right = jobs.at(b).spec;
        return std::tie(right.priority, left.created, a) <
               std::tie(left.priority, right.created, b);
    });
    return ids;
}

bool QueueReference::may_preempt(const Job& preemptor, const Job& victim) const {
    const std::string queue = queue_of(preemptor);
    const Preemption& policy = queues.at(queue).preemption;
    const bool lower = victim.spec.priority < preemptor.spec.priority;
    if (queue == victim.held->cluster_queue) {
        const bool newer = victim.spec.priority == preemptor.spec.priority &&
                           preemptor.spec.created < victim.spec.created;
        return policy.within_queue == Preemption::WithinQueue::lower_priority
                   ? lower
                   : policy.within_queue != Preemption::WithinQueue::never && (lower || newer);
    }
    if (root_of(queue) != root_of(victim.held->cluster_queue)) return false;
    // What its queue's own is nobody takes from it.
    const Needs held = needs_of(victim, *victim.held);
    if (std::none_of(held.begin(), held.end(), [&](const auto& need) {
            return usage(victim.held->cluster_queue, need.first) >
                   subtree(victim.held->cluster_queue, need.first);
        })) {
        return false;
    }
    return policy.reclaim_within_cohort == Preemption::Reclaim::any ||
           (policy.reclaim_within_cohort == Preemption::Reclaim::lower_priority && lower);
}

bool QueueReference::is_plain(const std::string& root) const {
    for (const auto& [name, queue] : queues) {
        if (root_of(name) != root) continue;
        if (queue.strategy == ClusterQueue::Strategy::strict_fifo) return false;
        if (queue.preemption.within_queue != Preemption::WithinQueue::never ||
            queue.preemption.reclaim_within_cohort != Preemption::Reclaim::never) {
            return false;
        }
    }
    return std::none_of(jobs.begin(), jobs.end(), [&](const auto& known) {
        return known.second.state == Job::State::evicting && known.second.held &&
               root_of(known.second.held->cluster_queue) == root;
    });
}

}  // namespace muster::fuzz

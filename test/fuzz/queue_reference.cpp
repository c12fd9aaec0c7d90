// test/fuzz/queue_reference.cpp - sums over all jobs, and the definitions of the quota tree.
#include "test/fuzz/queue_reference.h"

#include <algorithm>
#include <tuple>

namespace muster::fuzz {

using decide::ClusterQueue;
using decide::Preemption;
using decide::Quota;

std::optional<std::string> QueueReference::parent_of(const std::string& node) const {
    const auto queue = queues.find(node);
    const auto cohort = cohorts.find(node);
    std::string parent;
    if (queue != queues.end()) parent = queue->second.cohort;
    if (cohort != cohorts.end()) parent = cohort->second.parent;
    if (parent.empty()) return std::nullopt;
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
        if (queue.cohort == node) children.push_back(name);
    }
    for (const auto& [name, cohort] : cohorts) {
        if (cohort.parent == node) children.push_back(name);
    }
    return children;
}

Quota QueueReference::quota(const std::string& node, const std::string& flavor,
                            const std::string& resource) const {
    const auto queue = queues.find(node);
    const auto cohort = cohorts.find(node);
    if (queue == queues.end() && cohort == cohorts.end()) return {};
    for (const auto& group : queue != queues.end() ? queue->second.groups : cohort->second.groups) {
        for (const auto& known : group.flavors) {
            const auto found = known.resources.find(resource);
            if (known.flavor == flavor && found != known.resources.end()) return found->second;
        }
    }
    return {};
}

std::int64_t QueueReference::subtree(const std::string& node, const std::string& flavor,
                                     const std::string& resource) const {
    std::int64_t sum = quota(node, flavor, resource).nominal.value;
    for (const std::string& child : children_of(node))
        sum += subtree(child, flavor, resource) - local(child, flavor, resource);
    return sum;
}

std::int64_t QueueReference::local(const std::string& node, const std::string& flavor,
                                   const std::string& resource) const {
    const auto limit = quota(node, flavor, resource).lending_limit;
    if (!limit) return 0;
    return std::max<std::int64_t>(0, subtree(node, flavor, resource) - limit->value);
}

std::int64_t QueueReference::usage(const std::string& node, const std::string& flavor,
                                   const std::string& resource) const {
    std::int64_t sum = 0;
    for (const auto& [id, job] : jobs) {
        if (job.spec.local_queue != node || job.flavor != flavor) continue;
        const auto& requests = job.spec.pod_sets.front().pod.requests;
        const auto found = requests.find(resource);
        if (found != requests.end()) sum += found->second.value * job.spec.pod_sets.front().count;
    }
    for (const std::string& child : children_of(node)) {
        sum += std::max<std::int64_t>(
            0, usage(child, flavor, resource) - local(child, flavor, resource));
    }
    return sum;
}

std::int64_t QueueReference::available(const std::string& node, const std::string& flavor,
                                       const std::string& resource) const {
    const std::int64_t used = usage(node, flavor, resource);
    const std::int64_t own = subtree(node, flavor, resource);
    const auto parent = parent_of(node);
    if (!parent) return own - used;
    const std::int64_t kept = local(node, flavor, resource);
    std::int64_t above = available(*parent, flavor, resource);
    if (const auto limit = quota(node, flavor, resource).borrowing_limit) {
        above = std::min(above, own - kept - std::max<std::int64_t>(0, used - kept) + limit->value);
    }
    return std::max<std::int64_t>(0, kept - used) + above;
}

bool QueueReference::fits_flavor(const Job& job, const std::string& flavor) const {
    const auto& pods = job.spec.pod_sets.front();
    return std::all_of(pods.pod.requests.begin(), pods.pod.requests.end(), [&](const auto& need) {
        return need.second.value * pods.count <=
               std::max<std::int64_t>(0, available(job.spec.local_queue, flavor, need.first));
    });
}

std::optional<std::string> QueueReference::fits(const Job& job) const {
    for (const auto& flavor : queues.at(job.spec.local_queue).groups.front().flavors) {
        if (fits_flavor(job, flavor.flavor)) return flavor.flavor;
    }
    return std::nullopt;
}

bool QueueReference::may_start(const Job& job) const {
    return job.state == Job::State::waiting && !job.removed &&
           job.spec.activity == decide::Workload::Activity::active &&
           queues.at(job.spec.local_queue).stop == decide::StopPolicy::none;
}

std::vector<std::string> QueueReference::order(const std::string& queue) const {
    std::vector<std::string> ids;
    for (const auto& [id, job] : jobs) {
        if (job.spec.local_queue == queue && may_start(job)) ids.push_back(id);
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
    const Preemption& policy = queues.at(preemptor.spec.local_queue).preemption;
    const bool lower = victim.spec.priority < preemptor.spec.priority;
    if (preemptor.spec.local_queue == victim.spec.local_queue) {
        const bool newer = victim.spec.priority == preemptor.spec.priority &&
                           preemptor.spec.created < victim.spec.created;
        return policy.within_queue == Preemption::WithinQueue::lower_priority
                   ? lower
                   : policy.within_queue != Preemption::WithinQueue::never && (lower || newer);
    }
    if (root_of(preemptor.spec.local_queue) != root_of(victim.spec.local_queue)) return false;
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
        return known.second.state == Job::State::evicting &&
               root_of(known.second.spec.local_queue) == root;
    });
}

}  // namespace muster::fuzz

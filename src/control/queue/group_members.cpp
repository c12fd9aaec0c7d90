// control/queue/group_members.cpp - counting the pods of a group.
#include "control/queue/group_members.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "control/fold_pod.h"
#include "control/queue/names.h"
#include "control/queue/pod_kinds.h"
#include "control/queue/pod_shape.h"

namespace muster::control::queue {
namespace {

using api::Value;

bool is_unbound(const kube::Object& pod) {
    return pod.value["spec"]["nodeName"].text_or("").empty();
}

std::string created_at(const kube::Object& pod) {
    return pod.value["metadata"]["creationTimestamp"].text();
}

/// Those to keep first: with finalizer, not gated, older.
void sort_active(Pods& members) {
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
        const auto rank = [](const kube::Object& pod) {
            return std::tuple(!has_managed_finalizer(pod), has_gate(pod.value, admission_gate),
                              created_at(pod), pod.key.name);
        };
        return rank(*a) < rank(*b);
    });
}

/// When it was last active: the time of its deletion, or when its containers were seen to fail.
std::string last_active(const kube::Object& pod) {
    const Value& ready = condition_of(pod.value["status"], "ContainersReady");
    std::string time = pod.value["metadata"]["deletionTimestamp"].text();
    if (ready["status"].text_or("") == "False" && ready["reason"].text_or("") == "PodFailed") {
        const std::string failed = ready["lastTransitionTime"].text();
        if (time.empty() || failed < time) time = failed;
    }
    return time;
}

/// Those to keep first: with finalizer, active last, younger.
void sort_inactive(Pods& members) {
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
        if (has_managed_finalizer(*a) != has_managed_finalizer(*b))
            return has_managed_finalizer(*a);
        const auto when = [](const kube::Object& pod) {
            return std::tuple(last_active(pod), created_at(pod), pod.key.name);
        };
        return when(*a) > when(*b);
    });
}

}  // namespace

bool is_waiting_pod(const kube::Object& pod) {
    return has_gate(pod.value, admission_gate) && pod.annotation(workload_annotation).empty();
}

bool is_started_pod(const kube::Object& pod) {
    return !is_waiting_pod(pod) && !is_finished_pod(pod) && !pod.is_terminating();
}

bool holds_quota(const kube::Object& pod) {
    if (is_waiting_pod(pod) || is_finished_pod(pod)) return false;
    return !(pod.is_terminating() && is_unbound(pod));
}

bool counts_for_group(const kube::Object& pod) {
    if (pod.is_terminating() && is_unbound(pod)) return false;
    return pod.value["status"]["phase"].text_or("") != "Failed";
}

bool has_managed_finalizer(const kube::Object& pod) {
    const auto& all = pod.value["metadata"]["finalizers"].items();
    return std::any_of(all.begin(), all.end(),
                       [](const Value& each) { return each.text_or("") == managed_label; });
}

std::vector<PodSet> roles_of(const Pods& members) {
    static const JobKind kind = pod_kind();
    std::map<std::string, PodSet> roles;
    for (const kube::ObjectPtr& pod : members) {
        if (!counts_for_group(*pod)) continue;
        const auto [found, is_new] = roles.try_emplace(role_of(*pod));
        if (!is_new) {
            ++found->second.count;
            continue;
        }
        found->second = pod_sets_of(kind, pod->value).front();
    }
    std::vector<PodSet> sets;
    for (auto& [name, set] : roles)
        sets.push_back(std::move(set));
    return sets;
}

PodSet fast_role_of(const kube::Object& pod, std::int64_t count) {
    static const JobKind kind = pod_kind();
    PodSet set = pod_sets_of(kind, pod.value).front();
    set.count = count;
    return set;
}

Roll call_roll(const Pods& members, const Value& pod_sets) {
    Roll roll;
    for (const Value& set : pod_sets.items()) {
        const std::int64_t wanted = set["count"].integer_or(1);
        Pods active;
        Pods inactive;
        for (const kube::ObjectPtr& pod : members) {
            if (role_of(*pod) != set["name"].text_or("main")) continue;
            (counts_for_group(*pod) ? active : inactive).push_back(pod);
        }
        sort_active(active);
        sort_inactive(inactive);
        const auto count = static_cast<std::int64_t>(active.size());
        roll.absent += std::max<std::int64_t>(0, wanted - count);
        const auto keep = static_cast<std::size_t>(std::min(wanted, count));
        for (std::size_t i = 0; i < active.size(); ++i)
            (i < keep ? roll.kept : roll.excess).push_back(active[i]);
        // As many of those that ended are kept as places of theirs are empty.
        const auto empty = static_cast<std::size_t>(std::max<std::int64_t>(0, wanted - count));
        for (std::size_t i = 0; i < inactive.size(); ++i)
            (i < empty ? roll.kept : roll.replaced).push_back(inactive[i]);
    }
    return roll;
}

Pods excess_of(Pods active, std::int64_t count) {
    sort_active(active);
    const auto keep = static_cast<std::size_t>(std::max<std::int64_t>(0, count));
    if (active.size() <= keep) return {};
    active.erase(active.begin(), active.begin() + static_cast<std::ptrdiff_t>(keep));
    return active;
}

}  // namespace muster::control::queue

// control/queue/orphans.cpp - the Workload's own controller.
#include "control/queue/orphans.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/queue/identifiers.h"
#include "control/queue/integration.h"
#include "control/queue/life.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

Write without_finalizer(const kube::Object& workload) {
    Value left = Value::array();
    for (const Value& each : workload.value["metadata"]["finalizers"].items()) {
        if (each.text_or("") != in_use_finalizer) left.push(each);
    }
    return patch_of(
        workload, kueue_api_version,
        Value::object({{"metadata", Value::object({{"finalizers", std::move(left)}})}}));
}

bool owner_is_there(const kube::Cache& seen, const kube::Object& workload, const Value& owner) {
    const JobKind* kind =
        find_job_kind_named(owner["apiVersion"].text_or(""), owner["kind"].text_or(""));
    if (kind == nullptr) return true;  // Somebody else's kind: not ours to judge.
    const auto found = seen.find({kind->resource, workload.key.ns, owner["name"].text()});
    return found != nullptr && found->uid == owner["uid"].text_or("");
}

void leave(const kube::Cache& seen, const kube::Object& workload, Reconciled& result) {
    if (!has_in_use_finalizer(workload.value)) return;
    const bool holds = has_admission(workload.value) && !is_finished(workload.value);
    if (holds && has_living_pods(seen, workload)) return;
    result.writes.push_back(without_finalizer(workload));
}

void end_orphan(const kube::Object& workload, Time now, Reconciled& result) {
    Value status = workload.value["status"];
    set_condition(status.at("conditions"),
                  {"Finished", "True", "OwnerNotFound", "The workload's owner was not found"}, now);
    if (auto write = status_write(workload, status)) result.writes.push_back(std::move(*write));
}

void go_on(const kube::Cache& seen, const kube::Object& workload, const LifePolicy& policy,
           Time now, Reconciled& result) {
    Lived lived = live(workload, queues_of(seen, workload), policy, now);
    result.events = std::move(lived.events);
    result.look_again = lived.look_again;
    const bool says_nothing = lived.status.empty() && workload.value["status"].is_null();
    auto write = status_write(workload, lived.status);
    if (write && !says_nothing) {
        // Whether it is deactivated as well is decided when this is seen: both demand the version
        // that was.
        result.writes.push_back(std::move(*write));
        return;
    }
    if (lived.deactivate == Lived::Deactivate::no) return;
    result.writes.push_back({.verb = Write::Verb::merge_patch,
                             .key = workload.key,
                             .api_version = std::string(kueue_api_version),
                             .subresource = "",
                             .body = Value::object({{"spec", Value::object({{"active", false}})}}),
                             .version = workload.version,
                             .uid = "",
                             .propagation = ""});
}

void be_finished(const kube::Object& workload, const LifePolicy& policy, Time now,
                 Reconciled& result) {
    if (has_in_use_finalizer(workload.value)) {
        result.writes.push_back(without_finalizer(workload));
        return;
    }
    const auto until = removed_at(workload.value, policy.retention);
    if (!until) return;
    if (*until > now) {
        result.look_again = *until - now;
        return;
    }
    result.writes.push_back({.verb = Write::Verb::remove,
                             .key = workload.key,
                             .api_version = std::string(kueue_api_version),
                             .subresource = "",
                             .body = {},
                             .version = 0,
                             .uid = workload.uid,
                             .propagation = ""});
    result.events.push_back({workload.key, "Normal", "Deleted",
                             "Deleted finished workload due to elapsed retention", ""});
}

Reconciled reconcile(const kube::Cache& seen, const api::Key& key, const LifePolicy& policy,
                     Time now) {
    Reconciled result;
    const kube::ObjectPtr workload = seen.find(key);
    if (workload == nullptr) return result;
    if (workload->is_terminating()) {
        leave(seen, *workload, result);
        return result;
    }
    const Value& owner = controller_of(workload->value);
    const bool had_owner = !workload->label(job_uid_label).empty();
    if (!owner.is_null() && !owner_is_there(seen, *workload, owner)) {
        result.writes.push_back({.verb = Write::Verb::remove,
                                 .key = key,
                                 .api_version = std::string(kueue_api_version),
                                 .subresource = "",
                                 .body = {},
                                 .version = 0,
                                 .uid = workload->uid,
                                 .propagation = "Background"});
    } else if (owner.is_null() && had_owner && !is_finished(workload->value)) {
        end_orphan(*workload, now, result);
    } else if (is_finished(workload->value)) {
        be_finished(*workload, policy, now, result);
    } else {
        go_on(seen, *workload, policy, now, result);
    }
    return result;
}

/// The workloads whose job is (or was) this object.
std::vector<api::Key> workloads_of(const kube::Cache& seen, const kube::Object* before,
                                   const kube::Object* after) {
    if (after != nullptr) return {};
    std::vector<api::Key> keys;
    for (const kube::ObjectPtr& workload : seen.owned_by(workloads, before->uid))
        keys.push_back(workload->key);
    return keys;
}

/// Terminating workloads in the namespace of a pod that is gone.
std::vector<api::Key> terminating_near(const kube::Cache& seen, const kube::Object* before,
                                       const kube::Object* after) {
    if (after != nullptr && !is_finished_pod(*after)) return {};
    const kube::Object& pod = after != nullptr ? *after : *before;
    std::vector<api::Key> keys;
    for (const kube::ObjectPtr& workload : workloads_of_pod(seen, pod))
        keys.push_back(workload->key);
    if (!workload_named_by(pod).empty()) return keys;
    if (controller_of(pod.value).is_null()) return keys;  // Nobody's pod is no workload's.
    for (const kube::ObjectPtr& workload : seen.list(workloads, pod.key.ns)) {
        if (workload->is_terminating()) keys.push_back(workload->key);
    }
    return keys;
}

/// A queue that stops, starts or changes its checks concerns its workloads; most changes of a queue
/// are those of its counts.
bool is_news(const kube::Object* before, const kube::Object* after) {
    if (before == nullptr || after == nullptr) return true;
    return before->is_terminating() != after->is_terminating() ||
           !(before->value["spec"] == after->value["spec"]);
}

std::vector<api::Key> workloads_in(const kube::Cache& seen, const kube::Object* before,
                                   const kube::Object* after) {
    if (!is_news(before, after)) return {};
    const api::Key& queue = (after != nullptr ? after : before)->key;
    std::vector<api::Key> keys;
    for (const kube::ObjectPtr& workload : seen.list(workloads, queue.ns)) {
        if (workload->value["spec"]["queueName"].text_or("") == queue.name)
            keys.push_back(workload->key);
    }
    return keys;
}

std::vector<api::Key> workloads_behind(const kube::Cache& seen, const kube::Object* before,
                                       const kube::Object* after) {
    if (!is_news(before, after)) return {};
    const std::string& queue = (after != nullptr ? after : before)->key.name;
    std::set<std::pair<std::string, std::string>> names;
    for (const kube::ObjectPtr& local : seen.list(local_queues)) {
        if (local->value["spec"]["clusterQueue"].text_or("") == queue)
            names.emplace(local->key.ns, local->key.name);
    }
    std::vector<api::Key> keys;
    for (const kube::ObjectPtr& workload : seen.list(workloads)) {
        if (names.contains({workload->key.ns, workload->value["spec"]["queueName"].text()}))
            keys.push_back(workload->key);
    }
    return keys;
}

}  // namespace

Controller orphan_controller(const LifePolicy& policy) {
    Controller controller;
    controller.name = "kueue-workload-controller";
    controller.watches = {watch_self(workloads, std::string(kueue_version)),
                          Watch{pods, "v1", terminating_near}};
    for (const JobKind& kind : job_kinds())
        controller.watches.push_back({kind.resource, std::string(kind.version), workloads_of});
    controller.indexes = {{pods, workload_named_by}, {workloads, first_slice_of}};
    const std::string kueue(kueue_version);
    controller.watches.push_back({local_queues, kueue, workloads_in});
    controller.watches.push_back({cluster_queues, kueue, workloads_behind});
    controller.reconcile = [policy](const kube::Cache& seen, const api::Key& key, Time now) {
        return reconcile(seen, key, policy, now);
    };
    return controller;
}

}  // namespace muster::control::queue

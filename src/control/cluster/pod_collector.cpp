// control/cluster/pod_collector.cpp - pods that have no node, no future or too many of their like.
#include <optional>
#include <utility>

#include "control/cluster/node_lifecycle.h"
#include "control/cluster/resources.h"
#include "control/conditions.h"
#include "control/fold_pod.h"

namespace muster::control::cluster {

std::vector<std::pair<api::GroupResource, std::string>> PodCollector::watches() const {
    return {{pods, "v1"}, {nodes, "v1"}};
}

void PodCollector::forget(const api::Key& pod) {
    const auto node = node_of_.extract(pod);
    if (!node.empty()) {
        const auto held = by_node_.find(node.mapped());
        held->second.erase(pod);
        if (held->second.empty()) by_node_.erase(held);
    }
    const auto finished = finished_at_.extract(pod);
    if (!finished.empty()) finished_.erase({finished.mapped(), pod});
    unplaced_.erase(pod);
    removing_.erase(pod);
}

void PodCollector::observe(const kube::Object* before, const kube::Object* after) {
    const api::Key& key = (after != nullptr ? after : before)->key;
    if (key.resource == nodes) {
        if (after != nullptr) missing_.erase(key.name);
        return;
    }
    if (after == nullptr) {
        forget(key);
        return;
    }
    const std::string node = after->value["spec"]["nodeName"].text();
    if (node.empty()) {
        if (after->is_terminating()) unplaced_.insert(key);
    } else if (node_of_.emplace(key, node).second) {
        by_node_[node].insert(key);
    }
    if (is_finished_pod(*after) && !after->is_terminating()) {
        const std::string created = after->value["metadata"]["creationTimestamp"].text();
        if (finished_at_.emplace(key, created).second) finished_.insert({created, key});
    }
}

void PodCollector::failed(const Write& write) {
    removing_.erase(write.key);
}

void PodCollector::looked(const api::Key& key, const kube::Object* found) {
    const auto missing = missing_.find(key.name);
    if (missing == missing_.end()) return;
    if (found == nullptr) {
        missing->second.confirmed = true;
    } else {
        missing_.erase(missing);
    }
}

Reconciled PodCollector::plan(const kube::Cache& seen, Time now) {
    Reconciled result;
    if (!seen.synced()) return result;
    collect_finished(seen, result);
    collect_unplaced(seen, now, result);
    collect_lost(seen, now, result);
    return result;
}

void PodCollector::collect_finished(const kube::Cache& seen, Reconciled& result) {
    auto too_many = static_cast<std::int64_t>(finished_.size()) - finished_max_;
    for (const auto& [created, key] : finished_) {
        if (too_many-- <= 0) break;
        const kube::ObjectPtr pod = seen.find(key);
        if (pod == nullptr || !removing_.insert(key).second) continue;
        Write write;
        write.verb = Write::Verb::remove;
        write.key = key;
        write.api_version = "v1";
        write.uid = pod->uid;
        write.grace_seconds = 0;
        result.writes.push_back(std::move(write));
    }
}

void PodCollector::collect_unplaced(const kube::Cache& seen, Time now, Reconciled& result) {
    for (const api::Key& key : unplaced_) {
        const kube::ObjectPtr pod = seen.find(key);
        if (pod == nullptr || !pod->value["spec"]["nodeName"].text_or("").empty()) continue;
        remove(*pod, "PodGC: deleting unscheduled terminating pod", now, result);
    }
}

void PodCollector::collect_lost(const kube::Cache& seen, Time now, Reconciled& result) {
    for (const auto& [node, bound] : by_node_) {
        if (seen.find({nodes, "", node}) != nullptr) continue;
        Missing& missing = missing_.emplace(node, Missing{now, false, false}).first->second;
        const Duration left = missing.since + quarantine_ - now;
        if (left > Duration{}) {
            if (!result.look_again || left < *result.look_again) result.look_again = left;
        } else if (!missing.confirmed) {
            if (!std::exchange(missing.asked, true)) result.looks.push_back({nodes, "", node});
        } else {
            for (const api::Key& key : bound) {
                const kube::ObjectPtr pod = seen.find(key);
                if (pod != nullptr) remove(*pod, "PodGC: node no longer exists", now, result);
            }
        }
    }
}

void PodCollector::remove(const kube::Object& pod, const std::string& why, Time now,
                          Reconciled& result) {
    if (!removing_.insert(pod.key).second) return;
    if (!is_finished_pod(pod)) {
        // Who waits for the pod's end must hear of it: nobody else will say that it failed.
        api::Value conditions = pod.value["status"]["conditions"];
        set_condition(conditions, {"DisruptionTarget", "True", "DeletionByPodGC", why}, now);
        Write fail;
        fail.verb = Write::Verb::merge_patch;
        fail.key = pod.key;
        fail.api_version = "v1";
        fail.subresource = "status";
        fail.version = pod.version;
        fail.body.at("status").set("phase", "Failed");
        fail.body.at("status").set("conditions", std::move(conditions));
        result.writes.push_back(std::move(fail));
    }
    Write write;
    write.verb = Write::Verb::remove;
    write.key = pod.key;
    write.api_version = "v1";
    write.uid = pod.uid;
    write.grace_seconds = 0;
    result.writes.push_back(std::move(write));
}

}  // namespace muster::control::cluster

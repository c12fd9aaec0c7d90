// control/cluster/node_lifecycle.cpp - heartbeats become conditions and taints, taints become
// evictions.
#include "control/cluster/node_lifecycle.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "control/cluster/resources.h"
#include "control/conditions.h"
#include "control/fold_pod.h"

namespace muster::control::cluster {
namespace {

constexpr std::string_view lease_namespace = "kube-node-lease";
constexpr std::string_view not_ready = "node.kubernetes.io/not-ready";
constexpr std::string_view unreachable = "node.kubernetes.io/unreachable";
constexpr std::string_view unschedulable = "node.kubernetes.io/unschedulable";
constexpr std::int64_t default_toleration_seconds = 300;
/// A plan that comes so much later than it was asked for comes from a process that stood still.
constexpr Duration usual_lateness = seconds(2);

Write patch(const kube::Object& object, std::string subresource) {
    Write write;
    write.verb = Write::Verb::merge_patch;
    write.key = object.key;
    write.api_version = "v1";
    write.subresource = std::move(subresource);
    write.version = object.version;
    return write;
}

/// A taint that somebody set: pods may tolerate it for a while that begins now.
api::Value with_time(api::Value taint, Time now) {
    const bool ends_pods = taint["effect"].text_or("") == "NoExecute";
    if (ends_pods && taint["timeAdded"].text_or("").empty())
        taint.set("timeAdded", to_rfc3339(now));
    return taint;
}

/// The taints that a node should have: its own, and those that follow from its state.
api::Value wanted_taints(const kube::Object& node, std::string_view ready, Time now) {
    const api::Value& held = node.value["spec"]["taints"];
    const auto keep = [&](api::Value& taints, std::string_view key, std::string_view effect) {
        for (const api::Value& taint : held.items()) {
            if (taint["key"].text_or("") == key && taint["effect"].text_or("") == effect) {
                taints.push(taint);
                return;
            }
        }
        taints.push(
            api::Value::object({{"key", key}, {"effect", effect}, {"timeAdded", to_rfc3339(now)}}));
    };
    api::Value taints = api::Value::array();
    for (const api::Value& taint : held.items()) {
        const std::string_view key = taint["key"].text_or("");
        if (key != not_ready && key != unreachable && key != unschedulable)
            taints.push(with_time(taint, now));
    }
    if (node.value["spec"]["unschedulable"].boolean_or(false))
        keep(taints, unschedulable, "NoSchedule");
    if (ready == "False" || ready.empty()) {
        keep(taints, not_ready, "NoSchedule");
        keep(taints, not_ready, "NoExecute");
    }
    if (ready == "Unknown") {
        keep(taints, unreachable, "NoSchedule");
        keep(taints, unreachable, "NoExecute");
    }
    return taints;
}

/// Conditions of a node that nobody has heard of for too long.
api::Value lost_conditions(const kube::Object& node, Time now) {
    api::Value conditions = node.value["status"]["conditions"];
    for (const char* type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
        set_condition(
            conditions,
            {type, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."}, now);
    }
    return conditions;
}

void make_pods_unready(const kube::Cache& seen, const std::string& node, Time now,
                       Reconciled& result) {
    for (const kube::ObjectPtr& pod : seen.list(pods)) {
        if (pod->value["spec"]["nodeName"].text_or("") != node || !is_ready_pod(*pod)) continue;
        api::Value conditions = pod->value["status"]["conditions"];
        set_condition(conditions, {"Ready", "False", "NodeNotReady", "The node is not ready"}, now);
        Write write = patch(*pod, "status");
        write.body.at("status").set("conditions", std::move(conditions));
        result.writes.push_back(std::move(write));
        result.events.push_back(
            {pod->key, "Warning", "NodeNotReady", "Node is not ready", "NodeNotReady"});
    }
}

/// How long the pod may stay on a node with this taint; absent: for ever.
std::optional<Duration> tolerated_for(const kube::Object& pod, const decide::Taint& taint) {
    bool names_it = false;
    std::optional<Duration> shortest;
    bool tolerated = false;
    for (const api::Value& toleration : pod.value["spec"]["tolerations"].items()) {
        if (toleration["key"].text_or("") == taint.key) names_it = true;
        if (!decide::tolerates({fold_toleration(toleration)}, taint)) continue;
        tolerated = true;
        const api::Value& limit = toleration["tolerationSeconds"];
        if (!limit.is_integer()) continue;
        const Duration left = seconds(std::max<std::int64_t>(limit.as_integer(), 0));
        if (!shortest || left < *shortest) shortest = left;
    }
    if (tolerated) return shortest;
    const bool of_lost_node = taint.key == not_ready || taint.key == unreachable;
    if (of_lost_node && !names_it) return seconds(default_toleration_seconds);
    return Duration{};
}

Reconciled evict(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr pod = seen.find(key);
    if (!seen.synced() || pod == nullptr || pod->is_terminating() || is_finished_pod(*pod))
        return {};
    const kube::ObjectPtr node = seen.find({nodes, "", pod->value["spec"]["nodeName"].text()});
    if (node == nullptr) return {};
    std::optional<Time> until;
    for (const api::Value& value : node->value["spec"]["taints"].items()) {
        const auto taint = fold_taint(value);
        if (!taint || taint->effect != decide::Taint::Effect::no_execute) continue;
        const std::optional<Duration> stay = tolerated_for(*pod, *taint);
        if (!stay) continue;
        const Time added = fold_time(value["timeAdded"]);
        const Time end = (added == Time{} ? now : added) + *stay;
        if (!until || end < *until) until = end;
    }
    Reconciled result;
    if (!until) return result;
    if (*until > now) {
        result.look_again = *until - now;
        return result;
    }
    api::Value conditions = pod->value["status"]["conditions"];
    set_condition(conditions,
                  {"DisruptionTarget", "True", "DeletionByTaintManager",
                   "Taint manager: deleting due to NoExecute taint"},
                  now);
    Write write = patch(*pod, "status");
    write.body.at("status").set("conditions", std::move(conditions));
    result.writes.push_back(std::move(write));
    Write remove;
    remove.verb = Write::Verb::remove;
    remove.key = key;
    remove.api_version = "v1";
    remove.uid = pod->uid;
    result.writes.push_back(std::move(remove));
    result.events.push_back({key, "Normal", "TaintManagerEviction",
                             "Marking for deletion Pod " + key.ns + "/" + key.name, "Evicting"});
    return result;
}

}  // namespace

std::vector<std::pair<api::GroupResource, std::string>> NodeLifecycle::watches() const {
    return {{nodes, "v1"}, {leases, "v1"}, {pods, "v1"}};
}

void NodeLifecycle::observe(const kube::Object* before, const kube::Object* after) {
    const api::Key& key = (after != nullptr ? after : before)->key;
    if (key.resource == pods) return;  // Only read when a node is lost.
    if (key.resource == leases && key.ns != lease_namespace) return;
    dirty_.insert(key.name);
    if (key.resource == nodes && after == nullptr) {
        heartbeats_.erase(key.name);
        look_at_.erase(key.name);
    }
}

void NodeLifecycle::failed(const Write& write) {
    if (write.key.resource == nodes) dirty_.insert(write.key.name);
}

std::optional<Duration> NodeLifecycle::since_heartbeat(const kube::Cache& seen,
                                                       const std::string& node, Time now) {
    const kube::ObjectPtr lease = seen.find({leases, std::string(lease_namespace), node});
    if (lease == nullptr && !heartbeats_.contains(node)) return std::nullopt;
    const std::string renewed =
        lease == nullptr ? "never" : lease->value["spec"]["renewTime"].text();
    Heartbeat& heartbeat = heartbeats_[node];
    if (heartbeat.text != renewed || heartbeat.seen_at > now) heartbeat = {renewed, now, false};
    return now - heartbeat.seen_at;
}

void NodeLifecycle::forgive_own_pause(Time now) {
    const Time before = std::exchange(planned_at_, now);
    for (auto& [node, when] : look_at_)
        when = std::min(when, now + grace_);  // Else the clock was set back.
    for (auto& [node, heartbeat] : heartbeats_)
        heartbeat.seen_at = std::min(heartbeat.seen_at, now);
    const bool is_late = std::any_of(look_at_.begin(), look_at_.end(), [now](const auto& each) {
        return now - each.second > usual_lateness;
    });
    if (!is_late) return;
    const Duration pause = now - before;
    for (auto& [node, heartbeat] : heartbeats_) {
        if (std::exchange(heartbeat.is_forgiven, true)) continue;
        heartbeat.seen_at = std::min(now, heartbeat.seen_at + pause);
        if (const auto look = look_at_.find(node); look != look_at_.end())
            look->second = heartbeat.seen_at + grace_;
    }
}

Reconciled NodeLifecycle::plan(const kube::Cache& seen, Time now) {
    Reconciled result;
    if (!seen.synced()) return result;
    forgive_own_pause(now);
    std::set<std::string> due = std::exchange(dirty_, {});
    for (const auto& [node, when] : look_at_) {
        if (when <= now) due.insert(node);
    }
    for (const std::string& name : due) {
        const kube::ObjectPtr node = seen.find({nodes, "", name});
        look_at_.erase(name);
        if (node == nullptr) continue;
        const std::optional<Duration> silence = since_heartbeat(seen, name, now);
        std::string ready = condition_of(node->value["status"], "Ready")["status"].text();
        if (silence && *silence < grace_) {
            look_at_[name] = now + (grace_ - *silence);
        } else if (silence && ready != "Unknown") {
            ready = "Unknown";
            Write write = patch(*node, "status");
            write.body.at("status").set("conditions", lost_conditions(*node, now));
            result.writes.push_back(std::move(write));
            result.events.push_back({node->key, "Normal", "NodeNotReady",
                                     "Node " + name + " status is now: NodeNotReady", ""});
            make_pods_unready(seen, name, now, result);
            continue;  // The taints follow when this has been seen.
        }
        api::Value taints = wanted_taints(*node, ready, now);
        const api::Value& held = node->value["spec"]["taints"];
        if (taints == held || (taints.empty() && held.empty())) continue;
        Write write = patch(*node, "");
        write.body.at("spec").set("taints", taints.empty() ? api::Value() : std::move(taints));
        result.writes.push_back(std::move(write));
    }
    for (const auto& [node, when] : look_at_) {
        const Duration delay = when - now;
        if (!result.look_again || delay < *result.look_again) result.look_again = delay;
    }
    return result;
}

Controller taint_eviction_controller() {
    Controller controller;
    controller.name = "taint-eviction-controller";
    Watch tainted{nodes, "v1", {}};
    tainted.wakes = [](const kube::Cache& seen, const kube::Object* before,
                       const kube::Object* after) {
        std::vector<api::Key> keys;
        if (after == nullptr) return keys;
        const api::Value& taints = after->value["spec"]["taints"];
        if (before != nullptr && before->value["spec"]["taints"] == taints) return keys;
        for (const kube::ObjectPtr& pod : seen.list(pods)) {
            if (pod->value["spec"]["nodeName"].text_or("") == after->key.name)
                keys.push_back(pod->key);
        }
        return keys;
    };
    Watch bound{pods, "v1", {}};
    bound.wakes = [](const kube::Cache&, const kube::Object* before, const kube::Object* after) {
        std::vector<api::Key> keys;
        if (after == nullptr || after->value["spec"]["nodeName"].text_or("").empty()) return keys;
        const bool same =
            before != nullptr && before->uid == after->uid &&
            before->value["spec"]["nodeName"] == after->value["spec"]["nodeName"] &&
            before->value["spec"]["tolerations"] == after->value["spec"]["tolerations"];
        if (!same) keys.push_back(after->key);
        return keys;
    };
    controller.watches = {std::move(tainted), std::move(bound)};
    controller.reconcile = evict;
    return controller;
}

}  // namespace muster::control::cluster

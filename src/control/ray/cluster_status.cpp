// control/ray/cluster_status.cpp - counts, endpoints, conditions and state of a RayCluster.
#include "control/ray/cluster_status.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "control/conditions.h"
#include "control/ray/names.h"
#include "control/ray/pod_state.h"

namespace muster::control::ray {
namespace {

using api::Value;

struct Counts {
    std::int64_t desired = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t ready = 0;
    std::int64_t available = 0;  // Running or ready, as KubeRay counts.
    const kube::Object* head = nullptr;
};

Counts count(const ClusterView& view) {
    Counts counts;
    for (const Value& group : view.cluster.value["spec"]["workerGroupSpecs"].items()) {
        counts.desired += desired_replicas(group);
        const bool suspended = group["suspend"].boolean_or(false);
        counts.low += suspended ? 0 : group["minReplicas"].integer_or(0);
        counts.high += suspended ? 0 : group["maxReplicas"].integer_or(INT32_MAX);
    }
    counts.high = std::min<std::int64_t>(counts.high, INT32_MAX);
    for (const kube::ObjectPtr& pod : view.pods) {
        if (pod->is_terminating()) continue;
        if (pod->label(node_type_label) == "head") {
            counts.head = pod.get();
            continue;
        }
        if (is_ready(*pod)) ++counts.ready;
        if (pod->value["status"]["phase"].text_or("") == "Running") ++counts.available;
    }
    return counts;
}

std::optional<Quantity> amount_of(const Value& resources, std::string_view name) {
    for (const char* from : {"requests", "limits"}) {
        const Value& value = resources[from][name];
        if (value.is_integer()) return Quantity::from_units(value.as_integer());
        if (value.is_string()) return Quantity::parse(value.as_string());
    }
    return std::nullopt;
}

/// By doubling: a group may have two thousand million replicas.
Quantity times(Quantity amount, std::int64_t count) {
    Quantity sum;
    for (; count > 0; count /= 2) {
        if (count % 2 == 1) sum = sum + amount;
        amount = amount + amount;
    }
    return sum;
}

Quantity sum_of(const Value& spec, std::string_view name) {
    Quantity sum;
    const auto add = [&](const Value& group, std::int64_t replicas) {
        for (const Value& container : group["template"]["spec"]["containers"].items()) {
            if (const auto amount = amount_of(container["resources"], name))
                sum = sum + times(*amount, replicas);
        }
    };
    add(spec["headGroupSpec"], 1);
    for (const Value& group : spec["workerGroupSpecs"].items())
        add(group, desired_replicas(group));
    return sum;
}

bool is_true(const Value& conditions, std::string_view type) {
    return find_condition(conditions, type)["status"].text_or("") == "True";
}

struct PodReason {
    std::string reason;
    std::string message;
};

/// Why a pod is not ready: its first waiting or terminated container, else its Ready or
/// PodScheduled condition.
PodReason reason_of(const kube::Object& pod) {
    for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
        for (const Value& container : pod.value["status"][list].items()) {
            for (const char* state : {"waiting", "terminated"}) {
                const Value& detail = container["state"][state];
                const std::string reason = detail["reason"].text();
                if (reason.empty() || reason == "Completed") continue;
                return {reason, detail["message"].text()};
            }
        }
    }
    for (const Value& condition : pod.value["status"]["conditions"].items()) {
        const bool is_false = condition["status"].text_or("") == "False";
        if (is_false && !condition["reason"].text_or("").empty()) {
            return {condition["reason"].text(), condition["message"].text()};
        }
    }
    return {"Unknown", ""};
}

void set_head_condition(Value& conditions, const Counts& counts, Time now) {
    if (counts.head == nullptr) {
        set_condition(conditions,
                      {"HeadPodReady", "False", "HeadPodNotFound", "Head Pod not found"}, now);
    } else if (is_ready(*counts.head)) {
        set_condition(conditions, {"HeadPodReady", "True", "HeadPodRunningAndReady", ""}, now);
    } else {
        const PodReason why = reason_of(*counts.head);
        set_condition(conditions, {"HeadPodReady", "False", why.reason, why.message}, now);
    }
}

void set_suspend_conditions(Value& conditions, bool wanted, bool any_pods, Time now) {
    const bool suspending = is_true(conditions, "RayClusterSuspending");
    const bool suspended = is_true(conditions, "RayClusterSuspended");
    const auto set = [&](const std::string& type, bool on) {
        set_condition(conditions, {type, on ? "True" : "False", type, ""}, now);
    };
    if (suspending) {
        if (any_pods) return;
        set("RayClusterSuspending", false);
        set("RayClusterSuspended", true);
        set_condition(conditions,
                      {"RayClusterProvisioned", "False", "RayClusterPodsProvisioning",
                       "RayCluster has been suspended"},
                      now);
    } else if (suspended) {
        if (!wanted) set("RayClusterSuspended", false);
    } else if (wanted) {
        set("RayClusterSuspending", true);
    }
}

/// The address of the head service: its own, or for a headless one that of the head pod.
std::string service_address(const ClusterView& view, const std::string& head_address) {
    if (view.service == nullptr) return head_address;
    const std::string address = view.service->value["spec"]["clusterIP"].text();
    return address.empty() || address == "None" ? head_address : address;
}

void set_head(Value& status, const ClusterView& view, const Counts& counts) {
    Value head = Value::object();
    std::string address;
    if (counts.head != nullptr) {
        address = counts.head->value["status"]["podIP"].text();
        head.set("podName", counts.head->key.name);
        if (!address.empty()) head.set("podIP", address);
    }
    const std::string service = service_address(view, address);
    if (!service.empty()) head.set("serviceIP", service);
    head.set("serviceName", head_service_name(view.cluster.value));
    status.set("head", std::move(head));
}

/// Ports of the head service by name: on the node where it has some there, else in the pod.
void set_endpoints(Value& status, const ClusterView& view) {
    if (view.service == nullptr) return;
    Value endpoints = Value::object();
    for (const Value& port : view.service->value["spec"]["ports"].items()) {
        const std::int64_t on_node = port["nodePort"].integer_or(0);
        const Value& target = port["targetPort"];
        const std::int64_t in_pod = target.integer_or(port["port"].integer_or(0));
        const std::string name = target.is_string() ? target.text() : std::to_string(in_pod);
        endpoints.set(port["name"].text(), on_node != 0 ? std::to_string(on_node) : name);
    }
    status.set("endpoints", std::move(endpoints));
}

void set_state(Value& status, std::string_view state, Time now) {
    if (status["state"].text_or("") == state) return;
    status.set("state", state);
    if (!state.empty()) status.at("stateTransitionTimes").set(state, to_rfc3339(now));
}

/// The state in one word; `ready` only while it is true.
std::string_view state_of(const ClusterView& view, const Counts& counts, const Value& conditions) {
    if (view.problem) return "failed";
    if (is_true(conditions, "RayClusterSuspended")) return "suspended";
    const bool all_ready =
        counts.head != nullptr && is_ready(*counts.head) && counts.ready >= counts.desired;
    if (all_ready && !is_true(conditions, "RayClusterSuspending")) return "ready";
    if (is_true(conditions, "RayClusterProvisioned")) return "unhealthy";
    return "";
}

}  // namespace

std::int64_t desired_replicas(const Value& group) {
    if (group["suspend"].boolean_or(false)) return 0;
    const std::int64_t low = group["minReplicas"].integer_or(0);
    const std::int64_t high = std::max(low, group["maxReplicas"].integer_or(INT32_MAX));
    return std::clamp(group["replicas"].integer_or(0), low, high);
}

Value cluster_status(const ClusterView& view) {
    const Value& spec = view.cluster.value["spec"];
    const Value& before = view.cluster.value["status"];
    Value status = before.is_object() ? before : Value::object();
    const Counts counts = count(view);
    if (!view.problem) {
        status.set("desiredWorkerReplicas", counts.desired);
        status.set("minWorkerReplicas", counts.low);
        status.set("maxWorkerReplicas", counts.high);
        status.set("readyWorkerReplicas", counts.ready);
        status.set("availableWorkerReplicas", counts.available);
        status.set("desiredCPU", sum_of(spec, "cpu").text());
        status.set("desiredMemory", sum_of(spec, "memory").text());
        status.set("desiredGPU", sum_of(spec, "nvidia.com/gpu").text());
        status.set("desiredTPU", sum_of(spec, "google.com/tpu").text());
        set_endpoints(status, view);
        set_head(status, view, counts);
    }
    Value conditions = status["conditions"];
    const bool all_ready =
        counts.head != nullptr && is_ready(*counts.head) && counts.ready >= counts.desired;
    if (!view.problem) {
        set_head_condition(conditions, counts, view.now);
        if (all_ready) {
            set_condition(conditions,
                          {"RayClusterProvisioned", "True", "AllPodRunningAndReadyFirstTime",
                           "All Ray Pods are ready for the first time"},
                          view.now);
        } else if (find_condition(conditions, "RayClusterProvisioned").is_null()) {
            set_condition(conditions,
                          {"RayClusterProvisioned", "False", "RayClusterPodsProvisioning",
                           "RayCluster Pods are being provisioned for first time"},
                          view.now);
        }
        set_suspend_conditions(conditions, spec["suspend"].boolean_or(false), !view.pods.empty(),
                               view.now);
    }
    if (view.failure) {
        set_condition(conditions,
                      {"ReplicaFailure", "True", view.failure->reason, view.failure->message},
                      view.now);
    } else {
        remove_condition(conditions, "ReplicaFailure");
    }
    set_state(status, state_of(view, counts, conditions), view.now);
    if (!conditions.empty()) status.set("conditions", std::move(conditions));
    if (view.problem) {
        status.set("reason", view.problem->message);
    } else {
        status.erase("reason");
    }
    status.set("observedGeneration", view.cluster.value["metadata"]["generation"].integer_or(1));
    if (!(status == before)) status.set("lastUpdateTime", to_rfc3339(view.now));
    return status;
}

}  // namespace muster::control::ray

// control/queue/pod_writes.cpp - patches and deletions of queued pods.
#include "control/queue/pod_writes.h"

#include <utility>

#include "control/conditions.h"
#include "control/queue/names.h"
#include "control/queue/pod_shape.h"
#include "control/queue/start.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

Write removal_of(const kube::Object& object, std::string api_version) {
    return {.verb = Write::Verb::remove,
            .key = object.key,
            .api_version = std::move(api_version),
            .subresource = "",
            .body = {},
            .version = 0,
            .uid = object.uid,
            .propagation = ""};
}

}  // namespace

Write without_managed_finalizer(const kube::Object& pod) {
    Value left = Value::array();
    for (const Value& each : pod.value["metadata"]["finalizers"].items()) {
        if (each.text_or("") != managed_label) left.push(each);
    }
    if (left.empty()) left = Value();
    return patch_of(
        pod, "v1", Value::object({{"metadata", Value::object({{"finalizers", std::move(left)}})}}));
}

Write termination_of(const kube::Object& pod, const char* reason, const std::string& message,
                     Time now) {
    Value conditions = pod.value["status"]["conditions"];
    set_condition(conditions, {"TerminationTarget", "True", reason, message}, now);
    return patch_of(
        pod, "v1",
        Value::object({{"status", Value::object({{"conditions", std::move(conditions)}})}}),
        "status");
}

Write deletion_of(const kube::Object& pod) {
    return removal_of(pod, "v1");
}

Write deletion_of_workload(const kube::Object& workload) {
    return removal_of(workload, std::string(kueue_api_version));
}

Opening opening_of(const kube::Cache& seen, const JobKind& kind, const kube::Object& pod,
                   const kube::Object& workload) {
    auto [opened, conflict] = started(seen, kind, pod, workload);
    if (!opened) return {std::nullopt, std::move(conflict)};
    // A gate cannot be added to a pod: the one of admission stands in for it (see places.h).
    const bool wants_place = has_gate(*opened, topology_gate);
    Value gates = pod.value["spec"]["schedulingGates"];
    if (!wants_place || has_gate(pod.value, topology_gate))
        gates = gates_without(pod.value, admission_gate);
    if (gates.is_null()) {
        opened->at("spec").erase("schedulingGates");
    } else {
        opened->at("spec").set("schedulingGates", std::move(gates));
    }
    return {patch_of(pod, "v1", merge_patch_between(pod.value, *opened))};
}

Write metadata_write(const kube::Object& workload, Value metadata) {
    return patch_of(workload, kueue_api_version,
                    Value::object({{"metadata", std::move(metadata)}}));
}

Value plain_owner(const kube::Object& pod) {
    return Value::object(
        {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod.key.name}, {"uid", pod.uid}});
}

}  // namespace muster::control::queue

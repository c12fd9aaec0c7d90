// control/queue/pod_hooks.cpp - admission of queued pods.
#include "control/queue/pod_hooks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "control/queue/identifiers.h"
#include "control/queue/integration.h"
#include "control/queue/leader_worker_set.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_kinds.h"
#include "control/queue/pod_shape.h"
#include "control/queue/topology.h"

namespace muster::control::queue {
namespace {

using api::Admission;
using api::AdmissionRequest;
using api::Value;

bool is_new(const AdmissionRequest& request, const api::GroupResource& resource) {
    return request.operation == AdmissionRequest::Operation::create &&
           request.subresource.empty() && request.kind->resource() == resource;
}

std::string_view annotation_of(const Value& object, std::string_view annotation) {
    return object["metadata"]["annotations"][annotation].text_or("");
}

void add_gate(Value& pod, std::string_view gate) {
    if (!has_gate(pod, gate))
        at_path(pod, "spec.schedulingGates").push(Value::object({{"name", gate}}));
}

void add_finalizer(Value& pod) {
    const auto& present = pod["metadata"]["finalizers"].items();
    const bool there = std::any_of(present.begin(), present.end(), [](const Value& each) {
        return each.text_or("") == managed_label;
    });
    if (!there) at_path(pod, "metadata.finalizers").push(Value(managed_label));
}

/// What made the pod; of a ReplicaSet, what made that.
Value maker_of(const AdmissionRequest& request) {
    Value owner = api::controller_of(request.object);
    if (owner["kind"].text_or("") != "ReplicaSet" || owner["apiVersion"].text_or("") != "apps/v1")
        return owner;
    const std::string ns = request.object["metadata"]["namespace"].text();
    return api::controller_of(request.find({replica_sets, ns, owner["name"].text()}));
}

bool is_managed_pod(const AdmissionRequest& request, const JobRules& rules) {
    const bool has_queue = !queue_name_of(request.object).empty();
    if (!leader_worker_set_of(request.object).empty()) return true;
    if (!annotation_of(request.object, suspending_parent_annotation).empty())
        return has_queue || rules.unlabelled == JobRules::Unlabelled::managed;
    if (!has_queue) {
        const std::string ns = request.object["metadata"]["namespace"].text();
        return must_find_queue(rules, *find_job_kind(pods), request.object, ns, request.find);
    }
    const Value maker = maker_of(request);
    return find_job_kind_named(maker["apiVersion"].text_or(""), maker["kind"].text_or("")) ==
           nullptr;
}

/// Its group starts when the StatefulSet's Workload is admitted, pod after pod.
void join_group(const AdmissionRequest& request, Value& pod) {
    if (const std::string set_name(leader_worker_set_of(pod)); !set_name.empty()) {
        const api::Key key{
            find_job_kind_named("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")->resource,
            pod["metadata"]["namespace"].text(), set_name};
        pod = in_leader_worker_group(request.find(key), std::move(pod));
        return;
    }
    if (annotation_of(pod, suspending_parent_annotation) != "statefulset") return;
    const Value owner = api::controller_of(pod);
    if (owner["kind"].text_or("") != "StatefulSet") return;
    const std::string ns = pod["metadata"]["namespace"].text();
    const Value set = request.find({stateful_sets, ns, owner["name"].text()});
    const std::string group =
        stateful_set_workload(owner["name"].text_or(""), owner["uid"].text_or(""));
    set_group(pod, group);
    Value& annotations = at_path(pod, "metadata.annotations");
    annotations.set(group_count_annotation, std::to_string(set["spec"]["replicas"].integer_or(1)));
    annotations.set(group_fast_annotation, "true");
    annotations.set(group_serving_annotation, "true");
    annotations.set(pod_index_label_annotation, "apps.kubernetes.io/pod-index");
    annotations.set(role_hash_annotation, "main");
}

void ask_for_places(Value& pod) {
    const std::string from(annotation_of(pod, pod_index_label_annotation));
    if (!from.empty())
        pod.at("metadata").at("labels").set(pod_index_label, pod["metadata"]["labels"][from]);
    if (!topology_request_of(pod).is_null()) add_gate(pod, topology_gate);
}

}  // namespace

Admission mark_pod_templates(const AdmissionRequest& request, const JobRules& rules) {
    Admission admission;
    if (request.operation == AdmissionRequest::Operation::remove || !request.subresource.empty())
        return admission;
    const api::GroupResource resource = request.kind->resource();
    const bool has_groups =
        find_job_kind(resource) != nullptr && find_job_kind(resource)->kind == "LeaderWorkerSet";
    if (resource != deployments && resource != stateful_sets && !has_groups) return admission;
    const std::string ns = request.object["metadata"]["namespace"].text();
    const JobKind& kind = *find_job_kind(resource);
    if (is_left_alone(kind, request.object) ||
        (!is_managed(request.object, ns, request.find) &&
         !must_find_queue(rules, kind, request.object, ns, request.find))) {
        return admission;
    }
    if (has_groups) {
        Value marked = with_marked_groups(request.object);
        if (marked != request.object) admission.changed = std::move(marked);
        return admission;
    }
    Value made = request.object;
    const Value& labels = request.object["metadata"]["labels"];
    Value& metadata = at_path(made, "spec.template.metadata");
    metadata.at("annotations")
        .set(suspending_parent_annotation, resource == deployments ? "deployment" : "statefulset");
    if (!labels[queue_name_label].text_or("").empty())
        metadata.at("labels").set(queue_name_label, labels[queue_name_label]);
    if (!labels[priority_class_label].text_or("").empty())
        metadata.at("labels").set(priority_class_label, labels[priority_class_label]);
    if (made != request.object) admission.changed = std::move(made);
    return admission;
}

Admission gate_new_pod(const AdmissionRequest& request, const JobRules& rules) {
    Admission admission;
    if (!is_new(request, pods) || !is_managed_pod(request, rules)) return admission;
    Value pod = request.object;
    add_finalizer(pod);
    at_path(pod, "metadata.labels").set(managed_label, "true");
    add_gate(pod, admission_gate);
    join_group(request, pod);
    ask_for_places(pod);
    const bool grouped = !group_of(pod).empty();
    if (grouped && annotation_of(pod, role_hash_annotation).empty()) {
        at_path(pod, "metadata.annotations").set(role_hash_annotation, role_hash(pod["spec"]));
    }
    admission.changed = std::move(pod);
    return admission;
}

Admission warn_of_managed_label(const AdmissionRequest& request) {
    Admission admission;
    if (request.operation == AdmissionRequest::Operation::remove || !request.subresource.empty() ||
        request.kind->resource() != pods) {
        return admission;
    }
    const Value& labels = request.object["metadata"]["labels"];
    if (labels[managed_label].text_or("") != "true" || !is_made_by_job(request.object))
        return admission;
    if (!annotation_of(request.object, suspending_parent_annotation).empty()) return admission;
    admission.warnings.push_back("pod owner is managed by kueue, label '" +
                                 std::string(managed_label) +
                                 "=true' might lead to unexpected behaviour");
    return admission;
}

}  // namespace muster::control::queue

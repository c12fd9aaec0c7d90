// control/queue/pod_kinds.cpp - Pod, Deployment and StatefulSet as kinds that queue.
#include "control/queue/pod_kinds.h"

#include <utility>

#include "base/text.h"
#include "control/queue/identifiers.h"
#include "control/queue/job_rules.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_shape.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

const Value& label_of(const Value& object, std::string_view label) {
    return object["metadata"]["labels"][label];
}

const Value& annotation_of(const Value& object, std::string_view annotation) {
    return object["metadata"]["annotations"][annotation];
}

bool is_over(const Value& pod) {
    const std::string_view phase = pod["status"]["phase"].text_or("");
    return phase == "Succeeded" || phase == "Failed";
}

bool is_gated_or_over(const Value& pod) {
    return is_over(pod) || has_gate(pod, admission_gate);
}

/// One pod, whose template is the pod itself.
std::vector<PodSet> pods_of_pod(const Value& pod) {
    const bool grouped = !group_of(pod).empty();
    const std::string given = annotation_of(pod, role_hash_annotation).text();
    std::string name = "main";
    if (grouped) name = given.empty() ? role_hash(pod["spec"]) : given;
    Value pod_template = Value::object({{"metadata", pod["metadata"]}, {"spec", pod["spec"]}});
    return {{std::move(name), 1, std::move(pod_template), "", 0, "."}};
}

std::string both_needed(const Value& pod) {
    return "both the '" + std::string(group_count_annotation) + "' annotation and the '" +
           std::string(group_label) +
           (has_group_annotation(pod) ? "' annotation should be set" : "' label should be set");
}

/// Absent when the count is good.
std::optional<std::string> wrong_count(std::string_view text) {
    const auto count = parse_go_integer(text);
    if (!count) return "strconv.Atoi: parsing " + quoted(text) + ": invalid syntax";
    if (*count >= 1) return std::nullopt;
    return "incorrect annotation value '" + std::string(group_count_annotation) + "=" +
           std::string(text) + "': group total count should be greater than zero";
}

void check_group(const Value& pod, FieldErrors& errors) {
    const Value& count = annotation_of(pod, group_count_annotation);
    if (group_of(pod).empty()) {
        if (count.is_string()) errors.push_back(required_at(group_path(pod), both_needed(pod)));
        return;
    }
    check_group_name(pod, errors);
    if (!count.is_string()) {
        errors.push_back(required_at(annotation_path(group_count_annotation), both_needed(pod)));
        return;
    }
    if (const auto fault = wrong_count(count.as_string()))
        errors.push_back(invalid_at(annotation_path(group_count_annotation), count, *fault));
}

FieldErrors check_pod(const Value& pod) {
    FieldErrors errors;
    const Value& managed = label_of(pod, managed_label);
    if (managed.is_string() && managed.as_string() != "true") {
        errors.push_back(
            forbidden_at(label_path(managed_label), "managed label value can only be 'true'"));
    }
    check_group(pod, errors);
    const std::string_view prebuilt = prebuilt_of(pod);
    if (!group_of(pod).empty() && !prebuilt.empty() && prebuilt != group_of(pod)) {
        errors.push_back(invalid_at(prebuilt_path(pod), Value(prebuilt),
                                    "prebuilt workload and pod group should be equal"));
    }
    return errors;
}

bool is_final(const Value& pod) {
    return annotation_of(pod, retriable_annotation).text_or("") == "false";
}

FieldErrors check_pod_change(const Value& before, const Value& now) {
    FieldErrors errors = check_pod(now);
    const Value group{group_of(before)};
    const Value new_group{group_of(now)};
    if (!new_group.as_string().empty() && is_final(before) && !is_final(now)) {
        errors.push_back(forbidden_at(annotation_path(retriable_annotation),
                                      "unretriable pod group can't be converted to retriable"));
    }
    if (!group.as_string().empty()) check_same(group, new_group, group_path(now), errors);
    return errors;
}

/// What another kind has made, whose pods queue for that.
bool serves_another(const Value& set) {
    const Value& parent = annotation_of(set["spec"]["template"], suspending_parent_annotation);
    return parent.is_string() && parent.as_string() != "statefulset";
}

/// The quota of a set that was scaled to nothing goes back before it may ask for some again.
void check_scaling(const api::AdmissionRequest& request, FieldErrors& errors) {
    const std::string path = "spec.replicas";
    const std::int64_t was = request.old["spec"]["replicas"].integer_or(1);
    const std::int64_t is = request.object["spec"]["replicas"].integer_or(1);
    if (was != 0 && is != 0) check_same(Value(was), Value(is), path, errors);
    if (was != 0 || is <= 0) return;
    if (request.object["status"]["replicas"].integer_or(0) > 0) {
        errors.push_back(forbidden_at(path, "scaling down is still in progress"));
        return;
    }
    const Value& metadata = request.object["metadata"];
    const Value workload = request.find(
        {workloads, metadata["namespace"].text(),
         stateful_set_workload(metadata["name"].text_or(""), metadata["uid"].text_or(""))});
    if (workload.is_null() || is_on_hold(workload)) return;
    errors.push_back(
        forbidden_at(path, "workload from previous scale-down is still being deleted"));
}

FieldErrors check_queued_stateful_set(const api::AdmissionRequest& request) {
    FieldErrors errors;
    check_same_shape(request.old["spec"]["template"]["spec"],
                     request.object["spec"]["template"]["spec"], "spec.template.spec", errors);
    check_scaling(request, errors);
    return errors;
}

PodSetRule replicas() {
    return {"main", "", "spec.template", {"spec.replicas"}, "", nullptr, nullptr};
}

}  // namespace

bool has_no_ready_replicas(const Value& object) {
    return object["status"]["readyReplicas"].integer_or(0) == 0;
}

FieldErrors check_serving_change(const Value& before, const Value& now) {
    FieldErrors errors;
    const Value queue{queue_name_of(before)};
    const Value new_queue{queue_name_of(now)};
    const bool runs = !has_no_ready_replicas(before);
    if (runs || new_queue.as_string().empty())
        check_same(queue, new_queue, label_path(queue_name_label), errors);
    check_priority_class(before, now, runs ? Waits::no : Waits::yes, errors);
    return errors;
}

JobKind pod_kind() {
    JobKind kind{pods, "v1", "Pod", "pod"};
    kind.start = JobKind::Start::ungated;
    kind.is_waiting = is_gated_or_over;
    kind.find_pod_sets = pods_of_pod;
    kind.ends = {
        {EndRule::Sign::field, "status.phase", "Succeeded", EndRule::Success::yes,
         "status.message"},
        {EndRule::Sign::field, "status.phase", "Failed", EndRule::Success::no, "status.message"}};
    kind.prebuilt = JobKind::Support::yes;
    kind.check = check_pod;
    kind.check_change = check_pod_change;
    return kind;
}

JobKind deployment_kind() {
    JobKind kind{deployments, "v1", "Deployment", "deployment"};
    kind.start = JobKind::Start::by_pods;
    kind.is_waiting = has_no_ready_replicas;
    kind.pod_sets = {replicas()};
    kind.check_change = check_serving_change;
    return kind;
}

JobKind stateful_set_kind() {
    JobKind kind{stateful_sets, "v1", "StatefulSet", "statefulset"};
    kind.start = JobKind::Start::by_pods;
    kind.is_waiting = has_no_ready_replicas;
    kind.pod_sets = {replicas()};
    kind.is_left_alone = serves_another;
    kind.check_change = check_serving_change;
    kind.check_queued_change = check_queued_stateful_set;
    return kind;
}

std::optional<std::int64_t> group_count_of(const kube::Object& pod) {
    const auto count = parse_go_integer(pod.annotation(group_count_annotation));
    return count && *count >= 1 ? count : std::nullopt;
}

std::string stateful_set_workload(std::string_view name, std::string_view uid) {
    return workload_name("StatefulSet", "apps", name, uid);
}

}  // namespace muster::control::queue

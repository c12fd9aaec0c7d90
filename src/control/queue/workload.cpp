// control/queue/workload.cpp - Workloads of jobs.
#include "control/queue/workload.h"

#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "api/kueue/admission_gates.h"
#include "base/text.h"
#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/owner.h"
#include "control/queue/checks.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/topology.h"

namespace muster::control::queue {
namespace {

using api::Value;

Priority from_class(const kube::Object& found, const char* group, const char* kind) {
    return {found.value["value"].integer_or(0),
            Value::object({{"group", group}, {"kind", kind}, {"name", found.key.name}})};
}

MissingClass missing(const char* kind, const std::string& name) {
    return {std::string(kind) + " \"" + name + "\" not found"};
}

kube::ObjectPtr global_default_class(const kube::Cache& seen) {
    for (kube::ObjectPtr& candidate : seen.list(priority_classes)) {
        if (candidate->value["globalDefault"].boolean_or(false)) return candidate;
    }
    return nullptr;
}

/// Without a queue it has no such field.
void set_queue(Value& spec, std::string_view queue) {
    if (queue.empty()) {
        spec.erase("queueName");
    } else {
        spec.set("queueName", Value(queue));
    }
}

Value pod_template_of(const Value& pod_template) {
    Value made = Value::object();
    Value metadata = Value::object();
    for (const char* part : {"labels", "annotations"}) {
        if (!pod_template["metadata"][part].empty())
            metadata.set(part, pod_template["metadata"][part]);
    }
    made.set("metadata", std::move(metadata));
    made.set("spec", pod_template["spec"]);
    return made;
}

}  // namespace

bool is_true(const Value& object, std::string_view condition) {
    return condition_of(object["status"], condition)["status"].text_or("") == "True";
}

bool is_admitted(const Value& workload) {
    return is_true(workload, "Admitted");
}

bool is_finished(const Value& workload) {
    return is_true(workload, "Finished");
}

bool is_evicted(const Value& workload) {
    return is_true(workload, "Evicted");
}

bool has_admission(const Value& workload) {
    return workload["status"]["admission"].is_object();
}

bool has_in_use_finalizer(const Value& object) {
    const auto& all = object["metadata"]["finalizers"].items();
    return std::any_of(all.begin(), all.end(),
                       [](const Value& each) { return each.text_or("") == in_use_finalizer; });
}

std::variant<Priority, MissingClass> priority_of(const kube::Cache& seen, const Value& job,
                                                 const std::vector<PodSet>& pod_sets) {
    const std::string label = job["metadata"]["labels"][priority_class_label].text();
    if (!label.empty()) {
        const kube::ObjectPtr found = seen.find({workload_priority_classes, "", label});
        if (found == nullptr) return missing("WorkloadPriorityClass.kueue.x-k8s.io", label);
        return from_class(*found, "kueue.x-k8s.io", "WorkloadPriorityClass");
    }
    if (const auto found = seen.find({workload_priority_classes, "", "default"}))
        return from_class(*found, "kueue.x-k8s.io", "WorkloadPriorityClass");
    std::vector<std::string> names;
    const JobKind* kind =
        find_job_kind_named(job["apiVersion"].text_or(""), job["kind"].text_or(""));
    if (kind != nullptr && !kind->priority_class.empty())
        names.push_back(job.path(kind->priority_class).text());
    for (const PodSet& set : pod_sets)
        names.push_back(set.pod_template["spec"]["priorityClassName"].text());
    for (const std::string& name : names) {
        if (name.empty()) continue;
        const kube::ObjectPtr found = seen.find({priority_classes, "", name});
        if (found == nullptr) return missing("PriorityClass.scheduling.k8s.io", name);
        return from_class(*found, "scheduling.k8s.io", "PriorityClass");
    }
    if (const kube::ObjectPtr found = global_default_class(seen))
        return from_class(*found, "scheduling.k8s.io", "PriorityClass");
    if (job["kind"].text_or("") == "AppWrapper")
        return Priority{job["spec"]["priority"].integer_or(0), {}};
    return Priority{};
}

std::optional<Priority> priority_or_tell(const kube::Cache& seen, const kube::Object& job,
                                         const std::vector<PodSet>& pod_sets, Reconciled& result) {
    auto priority = priority_of(seen, job.value, pod_sets);
    if (auto* found = std::get_if<Priority>(&priority)) return std::move(*found);
    result.events.push_back({job.key, "Warning", "WorkloadPriorityClassNotFound",
                             std::get<MissingClass>(priority).text, ""});
    result.look_again = seconds(5);
    return std::nullopt;
}

Value to_pod_sets(const std::vector<PodSet>& pod_sets) {
    Value list = Value::array();
    for (const PodSet& set : pod_sets) {
        Value made = Value::object({{"name", set.name},
                                    {"count", set.count},
                                    {"template", pod_template_of(set.pod_template)}});
        if (set.min_count) made.set("minCount", *set.min_count);
        Value request = topology_request_of(set.pod_template);
        if (!request.is_null()) made.set("topologyRequest", std::move(request));
        list.push(std::move(made));
    }
    return list;
}

Value new_workload(const JobKind& kind, const kube::Object& job,
                   const std::vector<PodSet>& pod_sets, const Priority& priority) {
    const std::string name = workload_name(kind.kind, kind.resource.group, job.key.name, job.uid);
    Value metadata = Value::object();
    metadata.set("name", name);
    metadata.set("namespace", job.key.ns);
    metadata.at("labels").set(job_uid_label, job.uid);
    const Value& job_labels = job.value["metadata"]["labels"];
    if (job_labels.has(priority_class_label))
        metadata.at("labels").set(priority_class_label, job_labels[priority_class_label]);
    metadata.set("finalizers", Value::array({Value(in_use_finalizer)}));
    metadata.set("ownerReferences", Value::array({owner_reference(job)}));
    Value spec = Value::object();
    spec.set("podSets", to_pod_sets(pod_sets));
    set_queue(spec, queue_name_of(job.value));
    spec.set("active", true);
    spec.set("priority", priority.value);
    if (!priority.reference.is_null()) spec.set("priorityClassRef", priority.reference);
    Value made = Value::object({{"apiVersion", kueue_api_version},
                                {"kind", "Workload"},
                                {"metadata", std::move(metadata)},
                                {"spec", std::move(spec)}});
    follow_limit(job.value, made);
    const Value& gates = job.value["metadata"]["annotations"][admission_gates_annotation];
    if (!gates.text_or("").empty())
        made.at("metadata").at("annotations").set(admission_gates_annotation, gates);
    return made;
}

void copy_labels(const std::vector<std::string>& labels, const Value& job, Value& workload) {
    for (const std::string& label : labels) {
        const Value& value = job["metadata"]["labels"][label];
        if (!value.is_null()) workload.at("metadata").at("labels").set(label, value);
    }
}

void follow_limit(const Value& job, Value& workload) {
    const auto limit = parse_integer(job["metadata"]["labels"][max_time_label].text_or(""));
    if (limit && *limit > 0 && *limit <= std::numeric_limits<std::int32_t>::max()) {
        workload.at("spec").set("maximumExecutionTimeSeconds", *limit);
    } else {
        workload.at("spec").erase("maximumExecutionTimeSeconds");
    }
}

void follow_gates(const Value& job, Value& workload) {
    const auto said = [](const Value& object) {
        return object["metadata"]["annotations"][admission_gates_annotation].text_or("");
    };
    if (said(workload).empty() || said(workload) == said(job)) return;
    const std::vector<std::string> gates = api::admission_gates_of(job);
    const std::set<std::string_view> asked(gates.begin(), gates.end());
    std::vector<std::string> left = api::admission_gates_of(workload);
    const auto gone =
        std::erase_if(left, [&](const std::string& gate) { return !asked.contains(gate); });
    if (gone == 0 && !left.empty()) return;
    Value& annotations = workload.at("metadata").at("annotations");
    if (left.empty()) {  // Also blanks, which name no gate and close nevertheless.
        annotations.erase(admission_gates_annotation);
    } else {
        annotations.set(admission_gates_annotation, join(left, ","));
    }
}

void follow_metadata(const kube::Cache& seen, const Value& job, const std::vector<PodSet>& pod_sets,
                     Value& workload) {
    Value& spec = workload.at("spec");
    set_queue(spec, queue_name_of(job));
    follow_gates(job, workload);
    follow_limit(job, workload);
    const auto priority = priority_of(seen, job, pod_sets);
    const auto* found = std::get_if<Priority>(&priority);
    if (found == nullptr || (found->reference == spec["priorityClassRef"] &&
                             found->value == spec["priority"].integer_or(0))) {
        return;
    }
    spec.set("priority", found->value);
    if (found->reference.is_null()) {
        spec.erase("priorityClassRef");
    } else {
        spec.set("priorityClassRef", found->reference);
    }
}

std::optional<std::int64_t> admitted_count(const Value& workload, std::string_view pod_set) {
    for (const Value& set : workload.path("status.admission.podSetAssignments").items()) {
        if (set["name"].text_or("main") == pod_set && set["count"].is_integer())
            return set["count"].as_integer();
    }
    return std::nullopt;
}

bool agree(const Value& workload, const std::vector<PodSet>& pod_sets, Compare how) {
    const Value& theirs = workload["spec"]["podSets"];
    if (theirs.size() != pod_sets.size()) return false;
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
        const PodSet& set = pod_sets[i];
        if (theirs[i]["name"].text_or("") != set.name) return false;
        const bool same_count = theirs[i]["count"].integer_or(1) == set.count;
        const bool same_least =
            theirs[i]["minCount"] == (set.min_count ? Value(*set.min_count) : Value());
        if (how == Compare::everything && !(same_count && same_least)) return false;
        if (!same_count && !(set.min_count && admitted_count(workload, set.name) == set.count))
            return false;
        const Value& ours = set.pod_template["spec"];
        const Value& other = theirs[i]["template"]["spec"];
        if (effective_requests(ours) != effective_requests(other)) return false;
        if (how == Compare::counts_and_requests) continue;
        for (const char* field : {"nodeSelector", "affinity", "tolerations"}) {
            if (ours[field].empty() && other[field].empty()) continue;
            if (!(ours[field] == other[field])) return false;
        }
    }
    return true;
}

Write creation_of_workload(std::string_view ns, Value made) {
    const std::string name = made["metadata"]["name"].text();
    return {.verb = Write::Verb::create,
            .key = {workloads, std::string(ns), name},
            .api_version = std::string(kueue_api_version),
            .subresource = "",
            .body = std::move(made),
            .version = 0,
            .uid = "",
            .propagation = ""};
}

Write patch_of(const kube::Object& object, std::string_view api_version, Value body,
               std::string_view subresource) {
    return {.verb = Write::Verb::merge_patch,
            .key = object.key,
            .api_version = std::string(api_version),
            .subresource = std::string(subresource),
            .body = std::move(body),
            .version = object.version,
            .uid = "",
            .propagation = ""};
}

std::optional<Write> status_write(const kube::Object& workload, const Value& status) {
    const Value patch = merge_patch_between(Value::object({{"status", workload.value["status"]}}),
                                            Value::object({{"status", status}}));
    if (patch.empty()) return std::nullopt;
    return patch_of(workload, kueue_api_version, patch, "status");
}

bool is_on_hold(const Value& workload) {
    const Value& reserved = condition_of(workload["status"], "QuotaReserved");
    return reserved["status"].text_or("") == "False" && reserved["reason"].text_or("") == "OnHold";
}

void set_pods_ready(Value& status, bool ready, Time now) {
    Value& conditions = status.at("conditions");
    const Value before = condition_of(status, "PodsReady");
    if (ready) {
        const std::string_view reason = before["reason"].text_or("");
        const bool again = reason == "WaitForRecovery" || reason == "Recovered";
        set_condition(conditions,
                      {"PodsReady", "True", again ? "Recovered" : "Started",
                       "All pods reached readiness and the workload is running"},
                      now);
    } else if (before["status"].text_or("") == "True") {
        set_condition(conditions,
                      {"PodsReady", "False", "WaitForRecovery",
                       "At least one pod has failed, waiting for recovery"},
                      now);
    } else if (before.is_null()) {
        set_condition(conditions,
                      {"PodsReady", "False", "WaitForStart", "Not all pods are ready or succeeded"},
                      now);
    }
}

void clear_admission(Value& status, Time now) {
    const Value evicted = condition_of(status, "Evicted");
    const std::string reason = evicted["reason"].text();
    const std::string message = evicted["message"].text();
    status.erase("admission");
    sync_admitted(status, now);
    Value& conditions = status.at("conditions");
    set_condition(conditions, {"QuotaReserved", "False", "PendingEvaluation", message}, now);
    // The next run begins anew.
    if (remove_condition(conditions, "PodsReady")) set_pods_ready(status, false, now);
    const bool at_once = reason == "Preempted" || reason == "NodeFailures";
    set_condition(conditions, {"Requeued", at_once ? "True" : "False", reason, message}, now);
}

}  // namespace muster::control::queue

// api/kueue/workload_validation.cpp - what Kueue's webhook refuses of Workloads beyond the rules of
// the schemas, and what it fills in.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/field_error.h"
#include "api/kueue/admission_gates.h"
#include "api/kueue/rules.h"
#include "api/label_rules.h"
#include "api/quantity_fields.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

constexpr const char* elastic_annotation = "kueue.x-k8s.io/elastic-job";
constexpr const char* replacement_annotation = "kueue.x-k8s.io/workload-slice-replacement-for";

bool is_elastic(const Value& workload) {
    return workload["metadata"]["annotations"][elastic_annotation].text_or("") == "true";
}

/// One pod set may start with fewer pods than it has; none of a job that grows and shrinks itself.
void check_min_counts(const Value& workload, const Path& path, Errors& errors) {
    std::int64_t count = 0;
    for (const Value& pod_set : workload["spec"]["podSets"].items())
        count += pod_set["minCount"].is_null() ? 0 : 1;
    if (count > 1) errors.push_back(invalid(path, count, "at most one podSet can use minCount"));
    if (count > 0 && is_elastic(workload)) {
        errors.push_back(
            invalid(path, count, "partial admission and elastic job cannot be used together"));
    }
}

bool holds(const Value& workload, std::string_view condition) {
    for (const Value& each : workload["status"]["conditions"].items()) {
        if (each["type"].text_or("") == condition) return each["status"].text_or("") == "True";
    }
    return false;
}

void check_amounts(const Value& amounts, const Path& path, Errors& errors) {
    for (const Value::Member& amount : amounts.members()) {
        if (amount.key == "pods") {
            errors.push_back(invalid(path.key(amount.key), "pods",
                                     "the key is reserved for internal kueue use"));
        }
        check_not_negative(amount.value, path.key(amount.key), errors);
    }
}

void check_resources(const Value& resources, const Path& path, Errors& errors) {
    for (const char* list : {"requests", "limits"})
        check_amounts(resources[list], path.child(list), errors);
}

void check_pod_resources(const Value& pod_set, const Path& path, Errors& errors) {
    const Path pod_template = path.child("template");
    const Path spec = pod_template.child("spec");
    const Value& pod = pod_set["template"]["spec"];
    for (const char* list : {"initContainers", "containers"}) {
        const Path list_path = spec.child(list);
        for (std::size_t i = 0; i < pod[list].size(); ++i) {
            const Path item = list_path.item(i);
            check_resources(pod[list][i]["resources"], item.child("resources"), errors);
        }
    }
    check_resources(pod["resources"], spec.child("resources"), errors);
}

/// Slices of pods have a size, and are of a pod set that asks for slices.
void check_slices(const Value& request, const Path& path, Errors& errors) {
    const Value& size = request["podSetSliceSize"];
    const Path size_path = path.child("podSetSliceSize");
    const bool sliced = request["podSetSliceRequiredTopology"].is_string();
    if (sliced && size.is_null()) {
        errors.push_back(
            required(size_path, "must be set when podSetSliceRequiredTopology is specified"));
    } else if (sliced && size.integer_or(0) <= 0) {
        errors.push_back(invalid(size_path, size, "must be greater than 0"));
    } else if (!sliced && !size.is_null()) {
        errors.push_back(forbidden(
            size_path, "may not be set when podSetSliceRequiredTopology is not specified"));
    }
    const Value& layers = request["podsetSliceRequiredTopologyConstraints"];
    const Path layers_path = path.child("podsetSliceRequiredTopologyConstraints");
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const Path layer = layers_path.item(i);
        if (layers[i]["size"].integer_or(0) <= 0)
            errors.push_back(
                invalid(layer.child("size"), layers[i]["size"], "must be greater than 0"));
    }
}

void check_pod_set(const Value& pod_set, const Path& path, Errors& errors) {
    const Path pod_template = path.child("template");
    const Path metadata = pod_template.child("metadata");
    const Value& given = pod_set["template"]["metadata"];
    check_labels(given["labels"], metadata.child("labels"), errors);
    check_annotations(given["annotations"], metadata.child("annotations"), errors);
    check_pod_resources(pod_set, path, errors);
    check_slices(pod_set["topologyRequest"], path.child("topologyRequest"), errors);
}

const Value& named(const Value& list, const Value& name) {
    static const Value none{};
    for (const Value& item : list.items()) {
        if (item["name"] == name) return item;
    }
    return none;
}

std::vector<std::string> pod_set_names(const Value& workload) {
    std::vector<std::string> names;
    for (const Value& pod_set : workload["spec"]["podSets"].items())
        names.push_back(pod_set["name"].text());
    return names;
}

/// Whether an elastic job has fewer pods in this pod set than it was admitted with.
bool has_shrunk(const Value& workload, const Value& pod_set) {
    if (!is_elastic(workload)) return false;
    const Value& admitted = named(workload["status"]["admission"]["podSetAssignments"], pod_set);
    const Value& now = named(workload["spec"]["podSets"], pod_set);
    return admitted["count"].integer_or(0) > now["count"].integer_or(1);
}

/// A count that an elastic job had before it shrank below it: it is lowered when the job is seen.
bool is_left_over(const Value& object, const Value* old, const Value& pods) {
    return old != nullptr && is_elastic(object) &&
           named((*old)["status"]["reclaimablePods"], pods["name"])["count"] == pods["count"];
}

void check_reclaimable(const Value& object, const Value* old, Errors& errors) {
    const Path status = Path().child("status");
    const Path list = status.child("reclaimablePods");
    const Value& now = object["status"]["reclaimablePods"];
    for (const Value& pods : now.items()) {
        const Value& pod_set = named(object["spec"]["podSets"], pods["name"]);
        const std::string key = pods["name"].text();
        const Path item = list.key(key);
        if (pod_set.is_null()) {
            errors.push_back(
                not_supported(item.child("name"), pods["name"], pod_set_names(object)));
        } else if (pods["count"].integer_or(0) > pod_set["count"].integer_or(1) &&
                   !is_left_over(object, old, pods)) {
            errors.push_back(invalid(
                item.child("count"), pods["count"],
                "should be less or equal to " + std::to_string(pod_set["count"].integer_or(1))));
        }
    }
    if (old == nullptr || !holds(*old, "QuotaReserved") || !holds(object, "QuotaReserved")) return;
    for (const Value& before : (*old)["status"]["reclaimablePods"].items()) {
        const Value& after = named(now, before["name"]);
        const std::string key = before["name"].text();
        const Path item = list.key(key);
        if (has_shrunk(object, before["name"])) continue;
        if (after.is_null()) {
            errors.push_back(required(item, "cannot be removed"));
        } else if (after["count"].integer_or(0) < before["count"].integer_or(0)) {
            errors.push_back(
                invalid(item.child("count"), after["count"],
                        "cannot be less than " + std::to_string(before["count"].integer_or(0))));
        }
    }
}

/// Every pod of a pod set uses the same: amounts are counted as the quota counts them.
void check_usage(const Value& assignment, const Path& path, Errors& errors) {
    const std::int64_t count = assignment["count"].integer_or(0);
    if (count <= 0) return;
    for (const Value::Member& usage : assignment["resourceUsage"].members()) {
        const std::optional<Quantity> amount = quantity_of(usage.value);
        if (!amount) continue;
        const std::int64_t counted = usage.key == "cpu" ? amount->milli() : amount->units();
        if (counted % count == 0) continue;
        const Path resources = path.child("resourceUsage");
        errors.push_back(invalid(resources.key(usage.key), amount->text(),
                                 "is not a multiple of " + std::to_string(count)));
    }
}

bool reserves_without_admission(const Value& workload) {
    return holds(workload, "QuotaReserved") && workload["status"]["admission"].is_null();
}

void check_admission(const Value& object, const Value* old, Errors& errors) {
    if (!holds(object, "QuotaReserved")) return;
    const Path status = Path().child("status");
    const Path admission = status.child("admission");
    // Whoever was like that before may change, to become right.
    if (reserves_without_admission(object) && (old == nullptr || !reserves_without_admission(*old)))
        errors.push_back(
            required(admission, "must be set while the QuotaReserved condition is true"));
    const Path list = admission.child("podSetAssignments");
    const Value& assignments = object["status"]["admission"]["podSetAssignments"];
    for (std::size_t i = 0; i < assignments.size(); ++i) {
        const Path item = list.item(i);
        const Value& name = assignments[i]["name"];
        if (named(object["spec"]["podSets"], name).is_null())
            errors.push_back(not_found(item.child("name"), name));
        check_usage(assignments[i], item, errors);
    }
}

/// Of several clusters a workload goes to one of those that were named before; what replaces a
/// slice goes where that one is.
void check_cluster_name(const Value& object, const Value& old, Errors& errors) {
    const Value& name = object["status"]["clusterName"];
    if (name.is_null() || !old["status"]["clusterName"].is_null()) return;
    if (object["metadata"]["annotations"].has(replacement_annotation)) return;
    for (const Value& nominated : old["status"]["nominatedClusterNames"].items()) {
        if (nominated == name) return;
    }
    const Path status = Path().child("status");
    errors.push_back(
        invalid(status.child("clusterName"), name,
                "when setting clusterName it must be one of the nominatedClusterNames"));
}

/// What of an admission may never change: all but where its pods are.
Value without_places(Value admission) {
    if (!admission["podSetAssignments"].is_array()) return admission;
    for (Value& set : admission.at("podSetAssignments").mutable_items()) {
        set.erase("topologyAssignment");
        set.erase("delayedTopologyRequest");
    }
    return admission;
}

void check_admission_checks(const Value& object, const Value* old, Errors& errors) {
    const Path status = Path().child("status");
    const Path list = status.child("admissionChecks");
    const Value& checks = object["status"]["admissionChecks"];
    std::vector<std::string> known = pod_set_names(object);
    std::sort(known.begin(), known.end());
    for (std::size_t i = 0; i < checks.size(); ++i) {
        const Value& updates = checks[i]["podSetUpdates"];
        const Path check = list.item(i);
        const Path path = check.child("podSetUpdates");
        for (std::size_t k = 0; k < updates.size(); ++k) {
            const Path item = path.item(k);
            if (named(object["spec"]["podSets"], updates[k]["name"]).is_null())
                errors.push_back(not_supported(item.child("name"), updates[k]["name"], known));
            check_labels(updates[k]["labels"], item.child("labels"), errors);
            check_annotations(updates[k]["annotations"], item.child("annotations"), errors);
            check_labels(updates[k]["nodeSelector"], item.child("nodeSelector"), errors);
            check_tolerations(updates[k]["tolerations"], item.child("tolerations"), errors);
        }
    }
    if (old == nullptr) return;
    const Value& before = (*old)["status"]["admissionChecks"];
    for (std::size_t i = 0; i < before.size(); ++i) {
        const Value& now = named(checks, before[i]["name"]);
        if (before[i]["state"].text_or("") != "Ready" || now["state"].text_or("") != "Ready" ||
            before[i]["podSetUpdates"] == now["podSetUpdates"]) {
            continue;
        }
        const Path check = list.item(i);
        errors.push_back(
            invalid(check.child("podSetUpdates"), now["podSetUpdates"], "field is immutable"));
    }
}

/// While it holds quota only the pods of a pod set may become fewer.
void check_same_pod_sets(const Value& object, const Value& old, Errors& errors) {
    const Value& now = object["spec"]["podSets"];
    const Value& before = old["spec"]["podSets"];
    const Path spec = Path().child("spec");
    const Path list = spec.child("podSets");
    if (now.size() != before.size()) {
        errors.push_back(invalid(list, now, "field is immutable"));
        return;
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
        Value same = now[i];
        if (now[i]["count"].integer_or(1) < before[i]["count"].integer_or(1))
            same.set("count", before[i]["count"]);
        // The index stands in the path as a member does.
        const std::string index = std::to_string(i);
        if (!(same == before[i]))
            errors.push_back(invalid(list.child(index), same, "field is immutable"));
    }
}

void check_workload_update(const Value& object, const Value& old, Errors& errors) {
    if (holds(old, "QuotaReserved")) check_same_pod_sets(object, old, errors);
    const Value& before = old["status"]["admission"];
    const Value& after = object["status"]["admission"];
    if (before.is_null() || after.is_null() || without_places(before) == without_places(after))
        return;
    const Path status = Path().child("status");
    errors.push_back(invalid(status.child("admission"), after, "field is immutable"));
}

}  // namespace

void default_workload(Value& workload) {
    Value* spec = workload.is_object() ? workload.find("spec") : nullptr;
    if (spec == nullptr || (*spec)["podSets"].size() == 0) return;
    for (Value& pod_set : spec->at("podSets").mutable_items()) {
        if (!pod_set.is_object()) continue;
        if (pod_set["name"].text_or("").empty()) pod_set.set("name", "main");
    }
}

std::vector<FieldError> validate_workload(const Value& object, const Value* old) {
    Errors errors;
    const Path spec = Path().child("spec");
    const Value& pod_sets = object["spec"]["podSets"];
    const Path list = spec.child("podSets");
    if (pod_sets.empty()) errors.push_back(required(list, "at least one podSet is required"));
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
        const Path item = list.item(i);
        check_pod_set(pod_sets[i], item, errors);
    }
    check_min_counts(object, list, errors);
    check_admission(object, old, errors);
    check_reclaimable(object, old, errors);
    check_admission_checks(object, old, errors);
    check_admission_gates(old, object, errors);
    if (old == nullptr) return errors;
    check_workload_update(object, *old, errors);
    check_cluster_name(object, *old, errors);
    return errors;
}

}  // namespace muster::api

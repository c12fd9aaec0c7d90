// api/kueue/conversion.cpp - Kueue's objects from v1beta1 to v1beta2 and back.
#include "api/kueue/rules.h"
#include "api/kueue/topology.h"

namespace muster::api {
namespace {

/// The member as an object that may be changed; null when it is none.
Value* object_in(Value* parent, std::string_view key) {
    Value* member = parent != nullptr && parent->is_object() ? parent->find(key) : nullptr;
    return member != nullptr && member->is_object() ? member : nullptr;
}

/// Renames a member at its place. The old name wins over nothing, never over a given new one.
void rename(Value* object, std::string_view from, std::string_view to) {
    if (object == nullptr || !object->has(from)) return;
    if (object->has(to)) {
        object->erase(from);
        return;
    }
    for (Value::Member& member : object->mutable_members()) {
        if (member.key == from) member.key = to;
    }
}

void replace_text(Value* object, std::string_view key, std::string_view from, std::string_view to) {
    if (object != nullptr && (*object)[key].text_or("") == from) object->set(key, to);
}

bool is_at(const Value& object, std::string_view version) {
    return object["apiVersion"].text_or("").ends_with(std::string("/") + std::string(version));
}

void set_version(Value& object, std::string_view version) {
    object.set("apiVersion", "kueue.x-k8s.io/" + std::string(version));
}

/// A plain list of checks becomes rules that hold for every flavor.
void to_check_rules(Value* spec) {
    if (spec == nullptr || !spec->has("admissionChecks")) return;
    Value rules = Value::array();
    for (const Value& name : (*spec)["admissionChecks"].items()) {
        rules.push(Value::object({{"name", name}}));
    }
    spec->erase("admissionChecks");
    if (rules.empty() || spec->has("admissionChecksStrategy")) return;
    spec->set("admissionChecksStrategy", Value::object({{"admissionChecks", std::move(rules)}}));
}

constexpr std::string_view workload_class = "kueue.x-k8s.io/workloadpriorityclass";
constexpr std::string_view pod_class = "scheduling.k8s.io/priorityclass";

void to_class_reference(Value* spec) {
    if (spec == nullptr) return;
    const std::string source = (*spec)["priorityClassSource"].text();
    const std::string name = (*spec)["priorityClassName"].text();
    spec->erase("priorityClassSource");
    spec->erase("priorityClassName");
    if (name.empty() || (source != workload_class && source != pod_class)) return;
    const bool of_workloads = source == workload_class;
    Value reference =
        Value::object({{"group", of_workloads ? "kueue.x-k8s.io" : "scheduling.k8s.io"},
                       {"kind", of_workloads ? "WorkloadPriorityClass" : "PriorityClass"},
                       {"name", name}});
    spec->set("priorityClassRef", std::move(reference));
}

void to_class_source(Value* spec) {
    if (spec == nullptr || !spec->has("priorityClassRef")) return;
    const Value reference = (*spec)["priorityClassRef"];
    spec->erase("priorityClassRef");
    const bool of_workloads = reference["kind"].text_or("") == "WorkloadPriorityClass";
    spec->set("priorityClassName", reference["name"]);
    spec->set("priorityClassSource", of_workloads ? workload_class : pod_class);
}

/// Both ways to reach a cluster go below one member; a kubeconfig without a location is none.
void to_cluster_source(Value& spec) {
    Value source = Value::object();
    if (!spec["kubeConfig"]["location"].text_or("").empty())
        source.set("kubeConfig", spec["kubeConfig"]);
    if (spec["clusterProfileRef"].is_object())
        source.set("clusterProfileRef", spec["clusterProfileRef"]);
    spec.erase("kubeConfig");
    spec.erase("clusterProfileRef");
    spec.set("clusterSource", std::move(source));
}

/// In v1beta1 there is always a kubeconfig; that of a cluster with a profile is empty, as Kueue
/// writes it.
void from_cluster_source(Value& spec) {
    const Value source = spec["clusterSource"];
    spec.erase("clusterSource");
    const Value empty = Value::object({{"location", ""}, {"locationType", ""}});
    spec.set("kubeConfig", source["kubeConfig"].is_object() ? source["kubeConfig"] : empty);
    if (source["clusterProfileRef"].is_object())
        spec.set("clusterProfileRef", source["clusterProfileRef"]);
}

/// Places by domain (v1beta1) or in compressed slices (v1beta2).
enum class Places { by_domain, in_slices };

void to_places(Value* status, Places form) {
    Value* admission = object_in(status, "admission");
    if (admission == nullptr || !(*admission)["podSetAssignments"].is_array()) return;
    std::size_t room = topology_domains_max;  // Of the object: all pod sets together.
    for (Value& set : admission->at("podSetAssignments").mutable_items()) {
        const Value* places = object_in(&set, "topologyAssignment");
        if (places == nullptr) continue;
        if (form == Places::in_slices && places->has("domains")) {
            set.set("topologyAssignment", compressed_topology(*places));
        } else if (form == Places::by_domain && places->has("slices")) {
            Value expanded = expanded_topology(*places, room);
            room -= expanded["domains"].size();
            set.set("topologyAssignment", std::move(expanded));
        }
    }
}

}  // namespace

Value convert_cluster_queue(Value object, std::string_view to_version) {
    if (!object.is_object() || is_at(object, to_version)) return object;
    Value* spec = object_in(&object, "spec");
    if (to_version == "v1beta2") {
        rename(spec, "cohort", "cohortName");
        to_check_rules(spec);
        // Not before: members move when others are taken away.
        Value* fungibility = object_in(spec, "flavorFungibility");
        replace_text(fungibility, "whenCanBorrow", "Borrow", "MayStopSearch");
        replace_text(fungibility, "whenCanPreempt", "Preempt", "MayStopSearch");
        if (Value* status = object_in(&object, "status")) status->erase("pendingWorkloadsStatus");
    } else {
        rename(spec, "cohortName", "cohort");
        for (const char* newer : {"concurrentAdmissionPolicy", "quotaManagement"}) {
            if (spec != nullptr) spec->erase(newer);
        }
    }
    set_version(object, to_version);
    return object;
}

Value convert_cohort(Value object, std::string_view to_version) {
    if (!object.is_object() || is_at(object, to_version)) return object;
    set_version(object, to_version);
    return object;
}

Value convert_local_queue(Value object, std::string_view to_version) {
    if (!object.is_object() || is_at(object, to_version)) return object;
    Value* status = object_in(&object, "status");
    if (to_version == "v1beta2") {
        rename(status, "flavorUsage", "flavorsUsage");
        if (status != nullptr) status->erase("flavors");
    } else {
        rename(status, "flavorsUsage", "flavorUsage");
    }
    set_version(object, to_version);
    return object;
}

Value convert_multi_kueue_cluster(Value object, std::string_view to_version) {
    if (!object.is_object() || is_at(object, to_version)) return object;
    if (Value* spec = object_in(&object, "spec")) {
        if (to_version == "v1beta2") {
            to_cluster_source(*spec);
        } else {
            from_cluster_source(*spec);
        }
    }
    set_version(object, to_version);
    return object;
}

Value convert_workload(Value object, std::string_view to_version) {
    if (!object.is_object() || is_at(object, to_version)) return object;
    Value* spec = object_in(&object, "spec");
    Value* status = object_in(&object, "status");
    constexpr std::string_view misspelt = "accumulatedPastExexcutionTimeSeconds";
    constexpr std::string_view spelt = "accumulatedPastExecutionTimeSeconds";
    if (to_version == "v1beta2") {
        to_class_reference(spec);
        rename(status, misspelt, spelt);
        to_places(status, Places::in_slices);
    } else {
        to_class_source(spec);
        rename(status, spelt, misspelt);
        to_places(status, Places::by_domain);
    }
    set_version(object, to_version);
    return object;
}

}  // namespace muster::api

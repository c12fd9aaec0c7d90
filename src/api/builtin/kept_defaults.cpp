// api/builtin/kept_defaults.cpp - defaults of built-in kinds that are kept for others to act on, as
// Kubernetes fills them: who reads such an object finds in it what he would find there.
#include <string>

#include "api/builtin/fill.h"
#include "api/builtin/validation.h"

namespace muster::api {
namespace {

/// The members of a list that are objects.
template <typename Act>
void each_object(Value& parent, std::string_view list, Act act) {
    Value* items = parent.is_object() ? parent.find(list) : nullptr;
    if (items == nullptr || !items->is_array()) return;
    for (Value& item : items->mutable_items()) {
        if (item.is_object()) act(item);
    }
}

/// The spec of the pods that a template makes.
void default_pods(Value& holder, std::string_view pod_template) {
    Value* found = object_in(holder, pod_template);
    Value* spec = found == nullptr ? nullptr : object_in(*found, "spec");
    if (spec != nullptr) default_pod_spec(*spec);
}

void default_protocols(Value& holder) {
    each_object(holder, "ports", [](Value& port) { fill_empty_text(port, "protocol", "TCP"); });
}

/// What one side says of a resource the other takes over when it says nothing.
void fill_amounts(Value& limit, const char* to, const char* from) {
    const Value amounts = limit[from];
    for (const Value::Member& amount : amounts.members())
        fill(fill(limit, to, Value::object()), amount.key, amount.value);
}

}  // namespace

void default_daemon_set(Value& set) {
    fill_condition_times(set, {"lastTransitionTime"});
    Value* spec = object_in(set, "spec");
    if (spec == nullptr) return;
    default_pods(*spec, "template");
    fill(*spec, "revisionHistoryLimit", 10);
    Value& strategy = fill(*spec, "updateStrategy", Value::object());
    if (!strategy.is_object()) return;
    fill_empty_text(strategy, "type", "RollingUpdate");
    if (strategy["type"].text_or("") != "RollingUpdate") return;
    Value& rolling = fill(strategy, "rollingUpdate", Value::object());
    if (!rolling.is_object()) return;
    fill(rolling, "maxUnavailable", 1);
    fill(rolling, "maxSurge", 0);
}

void default_replication_controller(Value& controller) {
    fill_condition_times(controller, {"lastTransitionTime"});
    Value* spec = object_in(controller, "spec");
    if (spec == nullptr) return;
    default_pods(*spec, "template");
    fill(*spec, "replicas", 1);
    const Value labels = (*spec)["template"]["metadata"]["labels"];
    if (!labels.is_object() || labels.empty()) return;
    if ((*spec)["selector"].empty()) spec->set("selector", labels);
    Value* metadata = object_in(controller, "metadata");
    if (metadata != nullptr && (*metadata)["labels"].empty()) metadata->set("labels", labels);
}

void default_pod_template(Value& pod_template) {
    default_pods(pod_template, "template");
}

void default_cron_job(Value& job) {
    Value* spec = object_in(job, "spec");
    if (spec == nullptr) return;
    fill_empty_text(*spec, "concurrencyPolicy", "Allow");
    fill(*spec, "suspend", false);
    fill(*spec, "successfulJobsHistoryLimit", 3);
    fill(*spec, "failedJobsHistoryLimit", 1);
    Value* made = object_in(*spec, "jobTemplate");
    Value* inner = made == nullptr ? nullptr : object_in(*made, "spec");
    if (inner != nullptr) default_pods(*inner, "template");
}

void default_volume_claim(Value& claim) {
    if (Value* spec = object_in(claim, "spec")) fill_empty_text(*spec, "volumeMode", "Filesystem");
}

void default_persistent_volume(Value& volume) {
    Value* spec = object_in(volume, "spec");
    if (spec == nullptr) return;
    fill_empty_text(*spec, "persistentVolumeReclaimPolicy", "Retain");
    fill_empty_text(*spec, "volumeMode", "Filesystem");
    if (Value* path = object_in(*spec, "hostPath")) fill(*path, "type", "");
}

void default_storage_class(Value& storage_class) {
    fill_empty_text(storage_class, "reclaimPolicy", "Delete");
    fill_empty_text(storage_class, "volumeBindingMode", "Immediate");
}

void default_endpoints(Value& endpoints) {
    each_object(endpoints, "subsets", default_protocols);
}

void default_endpoint_slice(Value& slice) {
    default_protocols(slice);
    each_object(slice, "ports", [](Value& port) { fill(port, "name", ""); });
}

void default_network_policy(Value& policy) {
    Value* spec = object_in(policy, "spec");
    if (spec == nullptr) return;
    for (const char* rules : {"ingress", "egress"})
        each_object(*spec, rules, default_protocols);
    if (!(*spec)["policyTypes"].empty()) return;
    Value types = Value::array({Value("Ingress")});
    if (!(*spec)["egress"].empty()) types.push("Egress");
    spec->set("policyTypes", std::move(types));
}

void default_limit_range(Value& range) {
    Value* spec = object_in(range, "spec");
    if (spec == nullptr) return;
    each_object(*spec, "limits", [](Value& limit) {
        if (limit["type"].text_or("") != "Container") return;
        fill_amounts(limit, "default", "max");
        fill_amounts(limit, "defaultRequest", "default");
        fill_amounts(limit, "defaultRequest", "min");
    });
}

}  // namespace muster::api

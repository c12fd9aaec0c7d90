// control/queue/start.cpp - pod templates of admitted jobs.
#include "control/queue/start.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

const Value& named(const Value& list, std::string_view name) {
    static const Value none{};
    for (const Value& item : list.items()) {
        if (item["name"].text_or("") == name) return item;
    }
    return none;
}

void add_toleration(Value& pod_spec, const Value& toleration) {
    const auto& present = pod_spec["tolerations"].items();
    if (std::find(present.begin(), present.end(), toleration) == present.end())
        pod_spec.at("tolerations").push(toleration);
}

bool add_flavors(const kube::Cache& seen, const Value& assignment, Value& pod_spec) {
    std::set<std::string> names;
    for (const auto& [resource, flavor] : assignment["flavors"].members())
        names.insert(flavor.text());
    for (const std::string& name : names) {
        const kube::ObjectPtr flavor = seen.find({flavors, "", name});
        if (flavor == nullptr) return false;
        const Value& spec = flavor->value["spec"];
        for (const auto& [key, value] : spec["nodeLabels"].members())
            pod_spec.at("nodeSelector").set(key, value);
        for (const Value& toleration : spec["tolerations"].items())
            add_toleration(pod_spec, toleration);
    }
    return true;
}

/// Its pods wait until each has its place: see places.h.
void add_gate(Value& pod_spec) {
    for (const Value& gate : pod_spec["schedulingGates"].items()) {
        if (gate["name"].text_or("") == topology_gate) return;
    }
    pod_spec.at("schedulingGates").push(Value::object({{"name", topology_gate}}));
}

void add_marks(const kube::Object& workload, const PodSet& set, Value& metadata) {
    Value& labels = metadata.at("labels");
    labels.set(pod_set_label, set.name);
    const auto add_short = [&labels](std::string_view label, std::string_view value) {
        constexpr std::size_t label_max = 63;  // A longer name cannot be a label's value.
        if (!value.empty() && value.size() <= label_max) labels.set(label, value);
    };
    add_short(cluster_queue_label,
              workload.value.path("status.admission.clusterQueue").text_or(""));
    add_short(local_queue_label, workload.value["spec"]["queueName"].text_or(""));
    metadata.at("annotations").set(workload_annotation, workload.key.name);
}

void set_count(Value& job, const PodSet& set, std::int64_t count) {
    for (const std::string_view place : set.count_places)
        at_path(job, place) = count;
}

void set_or_erase(Value& object, std::string_view field, const Value& value) {
    if (value.is_null() || (value.empty() && !object.has(field))) {
        object.erase(field);
    } else {
        object.set(field, value);
    }
}

/// Adds members; the first that is there with another value is the conflict.
std::string merge(const Value& added, const char* what, Value& present) {
    for (const auto& [key, value] : added.members()) {
        if (!present.has(key)) {
            present.set(key, value);
        } else if (!(present[key] == value)) {
            return "conflict for " + std::string(what) + ": conflict for key=" + key +
                   ", value1=" + present[key].text() + ", value2=" + value.text();
        }
    }
    return {};
}

/// What an admission check wants of the pods; words when that cannot be had.
std::string add_update(const Value& update, Value& pod_template) {
    for (const char* what : {"annotations", "labels"}) {
        if (update[what].empty()) continue;
        std::string conflict = merge(update[what], what, pod_template.at("metadata").at(what));
        if (!conflict.empty()) return conflict;
    }
    if (!update["nodeSelector"].empty()) {
        Value& selector = pod_template.at("spec").at("nodeSelector");
        std::string conflict = merge(update["nodeSelector"], "nodeSelector", selector);
        if (!conflict.empty()) return conflict;
    }
    for (const Value& toleration : update["tolerations"].items())
        add_toleration(pod_template.at("spec"), toleration);
    return {};
}

std::string add_updates(const Value& checks, const std::string& pod_set, Value& pod_template) {
    for (const Value& check : checks.items()) {
        const std::string conflict =
            add_update(named(check["podSetUpdates"], pod_set), pod_template);
        if (!conflict.empty()) {
            return "in admission check \"" + check["name"].text() +
                   "\": invalid admission check PodSetUpdate: " + conflict;
        }
    }
    return {};
}

}  // namespace

Started started(const kube::Cache& seen, const JobKind& kind, const kube::Object& job,
                const kube::Object& workload) {
    Value made = job.value;
    const Value& assignments = workload.value.path("status.admission.podSetAssignments");
    const std::vector<PodSet> sets = pod_sets_of(seen, kind, job.value);
    if (kind.find_pod_sets_by != nullptr && sets.empty()) return {};
    for (const PodSet& set : sets) {
        Value apart = kind.put != nullptr ? set.pod_template : Value();
        Value* pod_template = kind.put != nullptr ? &apart : find_template(made, set);
        if (pod_template == nullptr) continue;
        const Value& assignment = named(assignments, set.name);
        if (!add_flavors(seen, assignment, pod_template->at("spec"))) return {};
        if (assignment["topologyAssignment"].is_object()) add_gate(pod_template->at("spec"));
        add_marks(workload, set, pod_template->at("metadata"));
        // Fewer pods than asked for may have been admitted.
        if (set.min_count) set_count(made, set, assignment["count"].integer_or(set.count));
        std::string conflict =
            add_updates(workload.value["status"]["admissionChecks"], set.name, *pod_template);
        if (!conflict.empty()) return {std::nullopt, std::move(conflict)};
        if (kind.put != nullptr) kind.put(made, set, apart);
    }
    if (!kind.suspend.empty()) at_path(made, kind.suspend) = false;
    return {std::move(made)};
}

Value restored(const JobKind& kind, const Value& job, const Value& workload) {
    Value made = job;
    if (kind.take_back != nullptr) {
        for (const Value& set : workload["spec"]["podSets"].items())
            kind.take_back(made, set["name"].text_or(""), set["template"]);
        return made;
    }
    for (const PodSet& set : pod_sets_of(kind, job)) {
        Value* pod_template = find_template(made, set);
        const Value& asked = named(workload["spec"]["podSets"], set.name);
        const Value& original = asked["template"];
        if (pod_template == nullptr || original.is_null()) continue;
        if (set.min_count) set_count(made, set, asked["count"].integer_or(set.count));
        for (const char* part : {"labels", "annotations"})
            set_or_erase(pod_template->at("metadata"), part, original["metadata"][part]);
        for (const char* part : {"nodeSelector", "tolerations", "schedulingGates"})
            set_or_erase(pod_template->at("spec"), part, original["spec"][part]);
    }
    return made;
}

}  // namespace muster::control::queue

// sim/scenario_objects.cpp - plain values of decide become specs.
#include "sim/scenario_objects.h"

#include <utility>

#include "control/queue/fold.h"
#include "control/queue/names.h"
#include "decide/place/operator_text.h"

namespace muster::sim {
namespace {

using api::Value;
using control::queue::quantity_text;

Value object_of(std::string_view api_version, const char* kind, Value metadata) {
    return Value::object(
        {{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

Value named(const std::string& name) {
    return Value::object({{"name", name}});
}

Value named(const std::string& ns, const std::string& name) {
    return Value::object({{"namespace", ns}, {"name", name}});
}

Value amounts_of(const Resources& resources) {
    Value made = Value::object();
    for (const auto& [resource, amount] : resources)
        made.set(resource, quantity_text(resource, amount));
    return made;
}

const char* to_text(decide::StopPolicy stop) {
    switch (stop) {
        case decide::StopPolicy::none:
            return "None";
        case decide::StopPolicy::hold:
            return "Hold";
        case decide::StopPolicy::hold_and_drain:
            return "HoldAndDrain";
    }
    return "None";
}

Value to_taints(const std::vector<decide::Taint>& taints) {
    using Effect = decide::Taint::Effect;
    Value made = Value::array();
    for (const decide::Taint& taint : taints) {
        const char* effect = taint.effect == Effect::no_execute           ? "NoExecute"
                             : taint.effect == Effect::prefer_no_schedule ? "PreferNoSchedule"
                                                                          : "NoSchedule";
        made.push(Value::object({{"key", taint.key}, {"value", taint.value}, {"effect", effect}}));
    }
    return made;
}

Value to_tolerations(const std::vector<decide::Toleration>& tolerations) {
    Value made = Value::array();
    for (const decide::Toleration& toleration : tolerations) {
        const bool exists = toleration.op == decide::Toleration::Op::exists;
        Value each = Value::object({{"operator", exists ? "Exists" : "Equal"}});
        if (!toleration.key.empty()) each.set("key", toleration.key);
        if (!exists) each.set("value", toleration.value);
        made.push(std::move(each));
    }
    return made;
}

Value to_expressions(const std::vector<decide::Requirement>& requirements) {
    Value made = Value::array();
    for (const decide::Requirement& requirement : requirements) {
        Value values = Value::array();
        for (const std::string& value : requirement.values)
            values.push(value);
        Value each = Value::object(
            {{"key", requirement.key}, {"operator", decide::operator_text(requirement.op)}});
        if (!values.empty()) each.set("values", std::move(values));
        made.push(std::move(each));
    }
    return made;
}

/// A pod that asks for what the shape says.
Value to_pod_spec(const decide::PodShape& shape) {
    Value resources = Value::object();
    if (!shape.requests.empty()) resources.set("requests", amounts_of(shape.requests));
    Resources extended;
    for (const auto& [resource, amount] : shape.requests) {
        if (resource.find('/') != std::string::npos) extended[resource] = amount;
    }
    if (!extended.empty()) resources.set("limits", amounts_of(extended));
    const Value container =
        Value::object({{"name", "main"}, {"image", "busybox"}, {"resources", resources}});
    Value spec =
        Value::object({{"restartPolicy", "Never"}, {"containers", Value::array({container})}});
    if (!shape.node_selector.empty()) spec.set("nodeSelector", to_labels(shape.node_selector));
    if (!shape.tolerations.empty()) spec.set("tolerations", to_tolerations(shape.tolerations));
    Value terms = Value::array();
    for (const decide::NodeTerm& term : shape.node_affinity)
        terms.push(Value::object({{"matchExpressions", to_expressions(term.expressions)}}));
    if (!terms.empty()) {
        spec.at("affinity")
            .at("nodeAffinity")
            .at("requiredDuringSchedulingIgnoredDuringExecution")
            .set("nodeSelectorTerms", std::move(terms));
    }
    return spec;
}

Value to_quotas(const decide::FlavorQuotas& quotas, const std::vector<std::string>& covered) {
    Value resources = Value::array();
    for (const std::string& resource : covered) {
        const auto found = quotas.resources.find(resource);
        if (found == quotas.resources.end()) continue;
        const decide::Quota& quota = found->second;
        Value each = Value::object(
            {{"name", resource}, {"nominalQuota", quantity_text(resource, quota.nominal)}});
        if (quota.borrowing_limit)
            each.set("borrowingLimit", quantity_text(resource, *quota.borrowing_limit));
        if (quota.lending_limit)
            each.set("lendingLimit", quantity_text(resource, *quota.lending_limit));
        resources.push(std::move(each));
    }
    return Value::object({{"name", quotas.flavor}, {"resources", std::move(resources)}});
}

Value to_groups(const std::vector<decide::ResourceGroup>& groups) {
    Value made = Value::array();
    for (const decide::ResourceGroup& group : groups) {
        Value covered = Value::array();
        for (const std::string& resource : group.resources)
            covered.push(resource);
        Value flavors = Value::array();
        for (const decide::FlavorQuotas& quotas : group.flavors)
            flavors.push(to_quotas(quotas, group.resources));
        made.push(Value::object(
            {{"coveredResources", std::move(covered)}, {"flavors", std::move(flavors)}}));
    }
    return made;
}

}  // namespace

std::string object_name(std::string_view scenario_name) {
    std::string name(scenario_name);
    for (char& c : name) {
        if (c == '/') c = '-';
    }
    return name;
}

Value to_labels(const decide::Labels& labels) {
    Value made = Value::object();
    for (const auto& [key, value] : labels)
        made.set(key, value);
    return made;
}

Value to_object(const decide::Flavor& flavor) {
    Value made = object_of(control::queue::kueue_api_version, "ResourceFlavor", named(flavor.name));
    Value spec = Value::object();
    if (!flavor.node_labels.empty()) spec.set("nodeLabels", to_labels(flavor.node_labels));
    if (!flavor.taints.empty()) spec.set("nodeTaints", to_taints(flavor.taints));
    if (!flavor.tolerations.empty()) spec.set("tolerations", to_tolerations(flavor.tolerations));
    made.set("spec", std::move(spec));
    return made;
}

Value to_object(const decide::ClusterQueue& queue) {
    Value made = object_of(control::queue::kueue_api_version, "ClusterQueue", named(queue.name));
    Value spec = Value::object({{"stopPolicy", to_text(queue.stop)}});
    if (!queue.cohort.empty()) spec.set("cohortName", queue.cohort);
    const bool strict = queue.strategy == decide::ClusterQueue::Strategy::strict_fifo;
    spec.set("queueingStrategy", strict ? "StrictFIFO" : "BestEffortFIFO");
    if (queue.namespaces) {
        Value selector = Value::object();
        if (!queue.namespaces->labels.empty())
            selector.set("matchLabels", to_labels(queue.namespaces->labels));
        if (!queue.namespaces->expressions.empty())
            selector.set("matchExpressions", to_expressions(queue.namespaces->expressions));
        spec.set("namespaceSelector", std::move(selector));
    }
    spec.set("resourceGroups", to_groups(queue.groups));
    Value rules = Value::array();
    for (const decide::CheckRule& rule : queue.checks) {
        Value made_rule = Value::object({{"name", rule.name}});
        for (const std::string& flavor : rule.flavors)
            made_rule.at("onFlavors").push(flavor);
        rules.push(std::move(made_rule));
    }
    if (!rules.empty()) spec.at("admissionChecksStrategy").set("admissionChecks", std::move(rules));
    made.set("spec", std::move(spec));
    return made;
}

Value to_object(const decide::AdmissionCheck& check) {
    Value made = object_of(control::queue::kueue_api_version, "AdmissionCheck", named(check.name));
    made.set("spec", Value::object({{"controllerName", "muster.dev/scenario"}}));
    return made;
}

Value to_object(const decide::LocalQueue& queue) {
    Value made =
        object_of(control::queue::kueue_api_version, "LocalQueue", named(queue.ns, queue.name));
    made.set("spec", Value::object({{"clusterQueue", queue.cluster_queue},
                                    {"stopPolicy", to_text(queue.stop)}}));
    return made;
}

Value to_workload(const decide::Workload& workload) {
    Value made = object_of(control::queue::kueue_api_version, "Workload",
                           named(workload.ns, object_name(workload.id)));
    made.at("metadata").set("finalizers", Value::array({Value(process_finalizer)}));
    Value pod_sets = Value::array();
    for (const decide::PodSet& set : workload.pod_sets) {
        pod_sets.push(
            Value::object({{"name", set.name},
                           {"count", set.count},
                           {"template", Value::object({{"spec", to_pod_spec(set.pod)}})}}));
    }
    made.set("spec",
             Value::object({{"queueName", workload.local_queue},
                            {"priority", workload.priority},
                            {"active", workload.activity == decide::Workload::Activity::active},
                            {"podSets", std::move(pod_sets)}}));
    return made;
}

Value to_wrapper(const decide::Workload& workload) {
    const std::string name = object_name(workload.id);
    Value made =
        object_of("workload.codeflare.dev/v1beta1", "AppWrapper", named(workload.ns, name));
    if (!workload.local_queue.empty()) {
        made.at("metadata")
            .at("labels")
            .set(control::queue::queue_name_label, workload.local_queue);
    }
    Value items = Value::array();
    int number = 0;
    for (const decide::PodSet& set : workload.pod_sets) {
        Value job = object_of("batch/v1", "Job", named(name + "-" + std::to_string(number++)));
        job.set("spec",
                Value::object({{"suspend", true},
                               {"parallelism", set.count},
                               {"template", Value::object({{"spec", to_pod_spec(set.pod)}})}}));
        items.push(Value::object({{"generictemplate", std::move(job)}}));
    }
    Value spec = Value::object();
    if (workload.priority != 0) spec.set("priority", workload.priority);
    if (workload.slope_millionths != 0)
        spec.set("priorityslope", static_cast<double>(workload.slope_millionths) / 1e6);
    spec.set("resources", Value::object({{"GenericItems", std::move(items)}}));
    made.set("spec", std::move(spec));
    return made;
}

Value to_pod(const decide::PodBound& pod, const std::string& ns, const std::string& name) {
    Value made = object_of("v1", "Pod", named(ns, name));
    made.at("metadata").set("finalizers", Value::array({Value(process_finalizer)}));
    if (!pod.pod_set.empty())
        made.at("metadata").at("labels").set(control::queue::pod_set_label, pod.pod_set);
    Value spec = to_pod_spec(pod.shape);
    spec.set("restartPolicy", "Always");
    spec.set("nodeName", pod.node);
    made.set("spec", std::move(spec));
    return made;
}

NodeSpec to_node(const decide::Node& node) {
    NodeSpec made;
    made.name = node.name;
    made.amounts = amounts_of(node.allocatable);
    made.labels = to_labels(node.labels);
    made.spec = Value::object({{"taints", to_taints(node.taints)}});
    made.spec.set("unschedulable", node.scheduling == decide::Node::Scheduling::cordoned);
    return made;
}

}  // namespace muster::sim

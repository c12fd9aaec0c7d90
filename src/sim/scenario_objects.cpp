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

Value to_fair_sharing(decide::FairWeight weight) {
    constexpr std::int64_t nanos_in_milli = 1'000'000;
    return Value::object({{"weight", std::to_string(weight.nanos / nanos_in_milli) + "m"}});
}

std::string seconds_text(Duration duration) {
    return std::to_string(duration.nanoseconds / seconds(1).nanoseconds) + "s";
}

Value to_preemption(const decide::Preemption& preemption) {
    using decide::Preemption;
    Value made = Value::object();
    if (preemption.within_queue != Preemption::WithinQueue::never) {
        const bool lower = preemption.within_queue == Preemption::WithinQueue::lower_priority;
        made.set("withinClusterQueue", lower ? "LowerPriority" : "LowerOrNewerEqualPriority");
    }
    if (preemption.reclaim_within_cohort != Preemption::Reclaim::never) {
        const bool any = preemption.reclaim_within_cohort == Preemption::Reclaim::any;
        made.set("reclaimWithinCohort", any ? "Any" : "LowerPriority");
    }
    if (preemption.borrow_within_cohort == Preemption::WhileBorrowing::lower_priority) {
        Value& borrow = made.at("borrowWithinCohort");
        borrow.set("policy", "LowerPriority");
        if (preemption.max_priority_threshold)
            borrow.set("maxPriorityThreshold", *preemption.max_priority_threshold);
    }
    return made;
}

Value to_fungibility(const decide::FlavorFungibility& fungibility) {
    using Fungibility = decide::FlavorFungibility;
    Value made = Value::object();
    if (fungibility.when_can_borrow == Fungibility::Search::try_next_flavor)
        made.set("whenCanBorrow", "TryNextFlavor");
    if (fungibility.when_can_preempt == Fungibility::Search::may_stop)
        made.set("whenCanPreempt", "MayStopSearch");
    if (fungibility.preference == Fungibility::Preference::borrowing_over_preemption)
        made.set("preference", "BorrowingOverPreemption");
    if (fungibility.preference == Fungibility::Preference::preemption_over_borrowing)
        made.set("preference", "PreemptionOverBorrowing");
    return made;
}

/// Empty when it asks for no place.
Value to_topology_request(const decide::PodSet& set) {
    using Mode = decide::TopologyRequest::Mode;
    const decide::TopologyRequest& request = set.topology;
    Value made = Value::object();
    if (request.mode == Mode::required) made.set("required", request.level);
    if (request.mode == Mode::preferred) made.set("preferred", request.level);
    if (request.mode == Mode::unconstrained) made.set("unconstrained", true);
    if (!set.group.empty()) made.set("podSetGroupName", set.group);
    if (request.slices.size() == 1) {
        made.set("podSetSliceRequiredTopology", request.slices[0].level);
        made.set("podSetSliceSize", request.slices[0].size);
        return made;
    }
    for (const auto& [level, size] : request.slices) {
        made.at("podsetSliceRequiredTopologyConstraints")
            .push(Value::object({{"topology", level}, {"size", size}}));
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
    if (!flavor.topology.empty()) spec.set("topologyName", flavor.topology);
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
    if (Value said = to_preemption(queue.preemption); !said.empty())
        spec.set("preemption", std::move(said));
    if (Value said = to_fungibility(queue.fungibility); !said.empty())
        spec.set("flavorFungibility", std::move(said));
    if (queue.weight != decide::FairWeight{})
        spec.set("fairSharing", to_fair_sharing(queue.weight));
    if (queue.admission_mode == decide::ClusterQueue::AdmissionMode::usage_based)
        spec.at("admissionScope").set("admissionMode", "UsageBasedAdmissionFairSharing");
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

Value to_object(const decide::Cohort& cohort) {
    Value made = object_of(control::queue::kueue_api_version, "Cohort", named(cohort.name));
    Value spec = Value::object({{"resourceGroups", to_groups(cohort.groups)}});
    if (!cohort.parent.empty()) spec.set("parentName", cohort.parent);
    if (cohort.weight != decide::FairWeight{})
        spec.set("fairSharing", to_fair_sharing(cohort.weight));
    made.set("spec", std::move(spec));
    return made;
}

Value to_object(const decide::Topology& topology) {
    Value made = object_of(control::queue::kueue_api_version, "Topology", named(topology.name));
    Value levels = Value::array();
    for (const std::string& label : topology.levels)
        levels.push(Value::object({{"nodeLabel", label}}));
    made.set("spec", Value::object({{"levels", std::move(levels)}}));
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
    Value spec =
        Value::object({{"clusterQueue", queue.cluster_queue}, {"stopPolicy", to_text(queue.stop)}});
    if (queue.weight != decide::FairWeight{})
        spec.set("fairSharing", to_fair_sharing(queue.weight));
    made.set("spec", std::move(spec));
    return made;
}

Value to_workload(const decide::Workload& workload) {
    Value made = object_of(control::queue::kueue_api_version, "Workload",
                           named(workload.ns, object_name(workload.id)));
    made.at("metadata").set("finalizers", Value::array({Value(process_finalizer)}));
    if (workload.barrier == decide::Workload::Barrier::admission_gates) {
        made.at("metadata")
            .at("annotations")
            .set(control::queue::admission_gates_annotation, workload.barred_by);
    }
    Value pod_sets = Value::array();
    for (const decide::PodSet& set : workload.pod_sets) {
        Value each = Value::object({{"name", set.name},
                                    {"count", set.count},
                                    {"template", Value::object({{"spec", to_pod_spec(set.pod)}})}});
        if (set.min_count) each.set("minCount", *set.min_count);
        if (Value said = to_topology_request(set); !said.empty())
            each.set("topologyRequest", std::move(said));
        pod_sets.push(std::move(each));
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
    made.is_ready = node.condition == decide::Node::Condition::ready;
    return made;
}

std::vector<decide::Options::Strategy> said_strategies(
    const std::vector<decide::Options::Strategy>& strategies) {
    using Strategy = decide::Options::Strategy;
    if (!strategies.empty()) return strategies;
    return {Strategy::less_than_or_equal_to_final_share, Strategy::less_than_initial_share};
}

std::vector<Value> to_configuration(const decide::Options& options) {
    using decide::Options;
    using Strategy = Options::Strategy;
    Value own = object_of("muster.dev/v1alpha1", "Configuration", Value::object());
    own.erase("metadata");
    Value kueue = own;
    const bool sums = options.capacity == Options::Capacity::aggregate;
    own.at("appWrappers").set("capacity", sums ? "Aggregate" : "PerNode");
    const bool fifo = options.order == Options::Order::fifo;
    own.at("appWrappers").set("order", fifo ? "FIFO" : "Priority");
    kueue.set("apiVersion", "config.kueue.x-k8s.io/v1beta2");
    if (options.undeclared == Options::Undeclared::ignore) {
        kueue.at("featureGates").set("QuotaCheckStrategy", true);
        kueue.at("resources").set("quotaCheckStrategy", "IgnoreUndeclared");
    }
    // Pods that a scenario does not speak of are never ready.
    Value& wait = kueue.at("waitForPodsReady");
    wait.set("timeout", "240h");
    if (options.blocking == Options::Blocking::until_pods_ready) wait.set("blockAdmission", true);
    if (options.fair_sharing) {
        Value strategies = Value::array();
        for (const Strategy strategy : said_strategies(*options.fair_sharing)) {
            strategies.push(strategy == Strategy::less_than_initial_share
                                ? "LessThanInitialShare"
                                : "LessThanOrEqualToFinalShare");
        }
        kueue.at("fairSharing").set("preemptionStrategies", std::move(strategies));
    }
    if (options.admission_sharing) {
        const decide::AdmissionSharing& sharing = *options.admission_sharing;
        Value& section = kueue.at("admissionFairSharing");
        section.set("usageHalfLifeTime", seconds_text(sharing.half_life));
        section.set("usageSamplingInterval", seconds_text(sharing.sampling));
        for (const auto& [resource, nanos] : sharing.weight_nanos)
            section.at("resourceWeights").set(resource, static_cast<double>(nanos) / 1e9);
    }
    return {std::move(own), std::move(kueue)};
}

}  // namespace muster::sim

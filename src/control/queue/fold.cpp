// control/queue/fold.cpp - reading the objects of the queues.
#include "control/queue/fold.h"

#include <cmath>
#include <utility>

#include "base/quantity.h"
#include "control/appwrapper/demand.h"
#include "control/fold_pod.h"
#include "control/queue/managed.h"

namespace muster::control::queue {
namespace {

using api::Value;

decide::StopPolicy fold_stop(const Value& policy) {
    const std::string_view text = policy.text_or("None");
    if (text == "Hold") return decide::StopPolicy::hold;
    if (text == "HoldAndDrain") return decide::StopPolicy::hold_and_drain;
    return decide::StopPolicy::none;
}

decide::Labels fold_labels(const Value& labels) {
    decide::Labels folded;
    for (const auto& [key, value] : labels.members())
        folded[key] = value.text();
    return folded;
}

decide::FlavorQuotas fold_quotas(const Value& flavor) {
    decide::FlavorQuotas quotas;
    quotas.flavor = flavor["name"].text();
    for (const Value& resource : flavor["resources"].items()) {
        const std::string name = resource["name"].text();
        decide::Quota quota;
        quota.nominal = fold_amount(name, resource["nominalQuota"]);
        if (resource.has("borrowingLimit"))
            quota.borrowing_limit = fold_amount(name, resource["borrowingLimit"]);
        if (resource.has("lendingLimit"))
            quota.lending_limit = fold_amount(name, resource["lendingLimit"]);
        quotas.resources[name] = quota;
    }
    return quotas;
}

std::int64_t reclaimable_of(const Value& workload, std::string_view pod_set) {
    for (const Value& pods : workload["status"]["reclaimablePods"].items()) {
        if (pods["name"].text_or("") == pod_set) return pods["count"].integer_or(0);
    }
    return 0;
}

}  // namespace

decide::Flavor fold_flavor(const kube::Object& flavor) {
    const Value& spec = flavor.value["spec"];
    decide::Flavor folded;
    folded.name = flavor.key.name;
    folded.node_labels = fold_labels(spec["nodeLabels"]);
    for (const Value& taint : spec["nodeTaints"].items()) {
        if (auto known = fold_taint(taint)) folded.taints.push_back(std::move(*known));
    }
    for (const Value& toleration : spec["tolerations"].items())
        folded.tolerations.push_back(fold_toleration(toleration));
    return folded;
}

decide::ClusterQueue fold_cluster_queue(const kube::Object& queue) {
    const Value& spec = queue.value["spec"];
    decide::ClusterQueue folded;
    folded.name = queue.key.name;
    folded.cohort = spec["cohortName"].text();
    if (spec["queueingStrategy"].text_or("") == "StrictFIFO")
        folded.strategy = decide::ClusterQueue::Strategy::strict_fifo;
    if (spec["namespaceSelector"].is_object())
        folded.namespaces = fold_selector(spec["namespaceSelector"]);
    folded.stop = fold_stop(spec["stopPolicy"]);
    if (queue.is_terminating() && folded.stop == decide::StopPolicy::none)
        folded.stop = decide::StopPolicy::hold;
    for (const Value& group : spec["resourceGroups"].items()) {
        decide::ResourceGroup made;
        for (const Value& resource : group["coveredResources"].items())
            made.resources.push_back(resource.text());
        for (const Value& flavor : group["flavors"].items())
            made.flavors.push_back(fold_quotas(flavor));
        folded.groups.push_back(std::move(made));
    }
    return folded;
}

decide::LocalQueue fold_local_queue(const kube::Object& queue) {
    return {queue.key.ns, queue.key.name, queue.value["spec"]["clusterQueue"].text(),
            fold_stop(queue.value["spec"]["stopPolicy"])};
}

decide::Workload fold_workload(const kube::Object& workload, const Identity& identity,
                               const kube::Cache& seen) {
    using decide::Workload;
    const Value& spec = workload.value["spec"];
    Workload folded;
    folded.id = identity.id;
    folded.ns = workload.key.ns;
    folded.local_queue = spec["queueName"].text();
    if (controller_of(workload.value)["kind"].text_or("") == "AppWrapper")
        folded.binds = Workload::Binds::quota_and_nodes;
    if (!spec["active"].boolean_or(true)) folded.activity = Workload::Activity::deactivated;
    folded.priority = spec["priority"].integer_or(0);
    folded.created = fold_time(workload.value["metadata"]["creationTimestamp"]);
    folded.queued = identity.queued;
    folded.not_before = identity.not_before;
    for (const Value& pods : spec["podSets"].items()) {
        decide::PodSet set;
        set.name = pods["name"].text_or("main");
        set.count = pods["count"].integer_or(1);
        set.reclaimable = reclaimable_of(workload.value, set.name);
        set.pod = fold_pod_shape(workload.key.ns, pods["template"]["metadata"]["labels"],
                                 pods["template"]["spec"], seen);
        folded.pod_sets.push_back(std::move(set));
    }
    return folded;
}

decide::Workload fold_wrapper(const kube::Object& wrapper, const Identity& identity,
                              const kube::Cache& seen) {
    decide::Workload folded;
    folded.id = identity.id;
    folded.ns = wrapper.key.ns;
    folded.binds = decide::Workload::Binds::quota_and_nodes;
    folded.priority = wrapper.value["spec"]["priority"].integer_or(0);
    const Value& slope = wrapper.value["spec"]["priorityslope"];
    if (slope.is_number()) folded.slope_millionths = std::llround(slope.as_real() * 1e6);
    folded.created = fold_time(wrapper.value["metadata"]["creationTimestamp"]);
    folded.queued = identity.queued;
    folded.not_before = identity.not_before;
    for (const appwrapper::PodDemand& demand : appwrapper::demand_of(wrapper.value)) {
        if (demand.count <= 0) continue;
        decide::PodSet set;
        set.name = demand.name;
        set.count = demand.count;
        set.pod = fold_pod_shape(wrapper.key.ns, demand.pod_template["metadata"]["labels"],
                                 demand.pod_template["spec"], seen);
        folded.pod_sets.push_back(std::move(set));
    }
    return folded;
}

decide::Assignment fold_admission(const Value& admission) {
    decide::Assignment folded;
    folded.cluster_queue = admission["clusterQueue"].text();
    for (const Value& assignment : admission["podSetAssignments"].items()) {
        decide::PodSetAssignment made;
        made.name = assignment["name"].text_or("main");
        made.count = assignment["count"].integer_or(0);
        for (const auto& [resource, flavor] : assignment["flavors"].members())
            made.flavors[resource] = flavor.text();
        made.usage = fold_resources(assignment["resourceUsage"]);
        folded.pod_sets.push_back(std::move(made));
    }
    return folded;
}

decide::Assignment assignment_without_queue(const decide::Workload& workload) {
    decide::Assignment made;
    for (const decide::PodSet& set : workload.pod_sets) {
        decide::PodSetAssignment assignment{set.name, set.count, {}, {}};
        for (const auto& [resource, amount] : set.pod.requests)
            assignment.usage[resource] = amount * set.count;
        made.pod_sets.push_back(std::move(assignment));
    }
    return made;
}

std::string quantity_text(std::string_view resource, Amount amount) {
    if (resource == "cpu") return Quantity::from_milli(amount.value).text();
    const bool in_bytes = resource == "memory" || resource == "ephemeral-storage" ||
                          resource == "storage" || resource.starts_with("hugepages-");
    return Quantity::from_units(
               amount.value, in_bytes ? Quantity::Format::binary_si : Quantity::Format::decimal_si)
        .text();
}

}  // namespace muster::control::queue

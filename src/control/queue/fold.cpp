// control/queue/fold.cpp - reading the objects of the queues.
#include "control/queue/fold.h"

#include <cmath>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "control/appwrapper/demand.h"
#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/queue/checks.h"
#include "control/queue/limits.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/requests.h"
#include "control/queue/topology.h"
#include "control/queue/workload.h"

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

std::vector<decide::ResourceGroup> fold_groups(const Value& groups) {
    std::vector<decide::ResourceGroup> folded;
    for (const Value& group : groups.items()) {
        decide::ResourceGroup made;
        for (const Value& resource : group["coveredResources"].items())
            made.resources.push_back(resource.text());
        for (const Value& flavor : group["flavors"].items())
            made.flavors.push_back(fold_quotas(flavor));
        folded.push_back(std::move(made));
    }
    return folded;
}

decide::FairWeight fold_weight(const Value& fair_sharing) {
    const Value& weight = fair_sharing["weight"];
    const std::string text = weight.is_string()    ? weight.text()
                             : weight.is_integer() ? std::to_string(weight.as_integer())
                                                   : std::string("1");
    const auto parsed = Quantity::parse(text);
    return parsed ? decide::FairWeight{parsed->nano()} : decide::FairWeight{};
}

decide::Preemption fold_preemption(const Value& spec) {
    using decide::Preemption;
    Preemption folded;
    const std::string_view within = spec["withinClusterQueue"].text_or("");
    if (within == "LowerPriority") folded.within_queue = Preemption::WithinQueue::lower_priority;
    if (within == "LowerOrNewerEqualPriority")
        folded.within_queue = Preemption::WithinQueue::lower_or_newer_equal_priority;
    const std::string_view reclaim = spec["reclaimWithinCohort"].text_or("");
    if (reclaim == "LowerPriority")
        folded.reclaim_within_cohort = Preemption::Reclaim::lower_priority;
    if (reclaim == "Any") folded.reclaim_within_cohort = Preemption::Reclaim::any;
    const Value& borrow = spec["borrowWithinCohort"];
    if (borrow["policy"].text_or("") == "LowerPriority")
        folded.borrow_within_cohort = Preemption::WhileBorrowing::lower_priority;
    if (borrow["maxPriorityThreshold"].is_integer())
        folded.max_priority_threshold = borrow["maxPriorityThreshold"].as_integer();
    return folded;
}

decide::FlavorFungibility fold_fungibility(const Value& spec) {
    using Fungibility = decide::FlavorFungibility;
    Fungibility folded;
    if (spec["whenCanBorrow"].text_or("") == "TryNextFlavor")
        folded.when_can_borrow = Fungibility::Search::try_next_flavor;
    if (spec["whenCanPreempt"].text_or("") == "MayStopSearch")
        folded.when_can_preempt = Fungibility::Search::may_stop;
    const std::string_view preference = spec["preference"].text_or("");
    if (preference == "BorrowingOverPreemption")
        folded.preference = Fungibility::Preference::borrowing_over_preemption;
    if (preference == "PreemptionOverBorrowing")
        folded.preference = Fungibility::Preference::preemption_over_borrowing;
    return folded;
}

std::int64_t reclaimable_of(const Value& workload, std::string_view pod_set) {
    for (const Value& done : workload["status"]["reclaimablePods"].items()) {
        if (done["name"].text_or("") == pod_set) return done["count"].integer_or(0);
    }
    return 0;
}

/// A gate of its spec is closed until its status says that it is open.
bool has_closed_gate(const Value& workload) {
    for (const Value& gate : workload["spec"]["preemptionGates"].items()) {
        bool open = false;
        for (const Value& state : workload["status"]["preemptionGates"].items())
            open =
                open || (state["name"] == gate["name"] && state["position"].text_or("") == "Open");
        if (!open) return true;
    }
    return false;
}

/// What its object says beyond its content: gates, checks, and how far it has come.
void fold_standing(const Value& workload, decide::Workload& folded) {
    using decide::Workload;
    const Value& status = workload["status"];
    const std::string gates =
        workload["metadata"]["annotations"][admission_gates_annotation].text();
    const bool holds = status["admission"].is_object();
    const auto is_true = [&](const char* condition) {
        return condition_of(status, condition)["status"].text_or("") == "True";
    };
    if (!gates.empty()) {
        folded.barrier = Workload::Barrier::admission_gates;
        folded.barred_by = gates;
    } else if (!holds && (has_check_in(status, "Retry") || has_check_in(status, "Rejected"))) {
        folded.barrier = Workload::Barrier::failed_checks;
    }
    if (!holds) return;
    if (!is_true("Admitted")) folded.stage = Workload::Stage::reserved;
    if (!is_true("PodsReady")) folded.pods_ready = Workload::PodsReady::no;
}

/// What is wrong goes before what has to be opened, as in Kueue.
void bar_wrong_requests(const Value& workload, const Limits& limits, const kube::Cache& seen,
                        decide::Workload& folded) {
    std::string fault = request_fault(workload, limits, seen);
    if (fault.empty()) return;
    folded.barrier = decide::Workload::Barrier::wrong_requests;
    folded.barred_by = std::move(fault);
}

}  // namespace

decide::AdmissionCheck fold_check(const kube::Object& check) {
    using State = decide::AdmissionCheck::State;
    const Value& active = condition_of(check.value["status"], "Active");
    return {check.key.name,
            active["status"].text_or("") == "True" ? State::active : State::inactive};
}

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
    folded.topology = spec["topologyName"].text();
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
    folded.groups = fold_groups(spec["resourceGroups"]);
    folded.preemption = fold_preemption(spec["preemption"]);
    folded.fungibility = fold_fungibility(spec["flavorFungibility"]);
    folded.weight = fold_weight(spec["fairSharing"]);
    if (spec["admissionScope"]["admissionMode"].text_or("") == "UsageBasedAdmissionFairSharing")
        folded.admission_mode = decide::ClusterQueue::AdmissionMode::usage_based;
    for (const Value& rule : spec["admissionChecksStrategy"]["admissionChecks"].items()) {
        decide::CheckRule made{rule["name"].text(), {}};
        for (const Value& flavor : rule["onFlavors"].items())
            made.flavors.push_back(flavor.text());
        folded.checks.push_back(std::move(made));
    }
    return folded;
}

decide::Cohort fold_cohort(const kube::Object& cohort) {
    const Value& spec = cohort.value["spec"];
    return {cohort.key.name, spec["parentName"].text(), fold_groups(spec["resourceGroups"]),
            fold_weight(spec["fairSharing"])};
}

decide::LocalQueue fold_local_queue(const kube::Object& queue) {
    const Value& spec = queue.value["spec"];
    decide::LocalQueue folded{queue.key.ns, queue.key.name, spec["clusterQueue"].text(),
                              fold_stop(spec["stopPolicy"]), fold_weight(spec["fairSharing"])};
    const Value& use = queue.value["status"]["fairSharing"]["admissionFairSharingStatus"];
    folded.use_updated = fold_time(use["lastUpdate"]);
    for (const auto& [resource, quantity] : use["consumedResources"].members()) {
        const std::string text =
            quantity.is_integer() ? std::to_string(quantity.as_integer()) : quantity.text();
        const auto parsed = Quantity::parse(text);
        // Amounts of cpu are thousandths of a core; these are thousandths of amounts.
        if (parsed)
            folded.used_thousandths[resource] =
                (Amount{parsed->milli()} * (resource == "cpu" ? 1'000 : 1)).value;
    }
    return folded;
}

decide::Workload fold_workload(const kube::Object& workload, const Identity& identity,
                               const kube::Cache& seen, const Settings& settings) {
    using decide::Workload;
    const Value& spec = workload.value["spec"];
    Workload folded;
    folded.id = identity.id;
    folded.ns = workload.key.ns;
    folded.local_queue = spec["queueName"].text();
    if (controller_of(workload.value)["kind"].text_or("") == "AppWrapper")
        folded.binds = Workload::Binds::quota_and_nodes;
    if (!spec["active"].boolean_or(true)) folded.activity = Workload::Activity::deactivated;
    if (has_closed_gate(workload.value)) folded.gate = Workload::PreemptionGate::closed;
    folded.priority = spec["priority"].integer_or(0);
    if (settings.workloads.priority_boost == WorkloadRules::Obeyed::yes)
        folded.priority += parse_integer(workload.annotation(boost_annotation)).value_or(0);
    folded.created = fold_time(workload.value["metadata"]["creationTimestamp"]);
    folded.queued = identity.queued;
    folded.not_before = identity.not_before;
    const Limits limits = limits_of(seen, workload.key.ns);
    fold_standing(workload.value, folded);
    if (!has_admission(workload.value)) bar_wrong_requests(workload.value, limits, seen, folded);
    for (const Value& given : spec["podSets"].items()) {
        decide::PodSet set;
        set.name = given["name"].text_or("main");
        set.count = given["count"].integer_or(1);
        if (given["minCount"].is_integer() &&
            settings.workloads.min_count == WorkloadRules::Obeyed::yes) {
            set.min_count = given["minCount"].as_integer();
        }
        set.group = given["topologyRequest"]["podSetGroupName"].text();
        set.topology = fold_topology_request(given["topologyRequest"]);
        if (settings.workloads.reclaimable == WorkloadRules::Obeyed::yes)
            set.reclaimable = std::min(set.count, reclaimable_of(workload.value, set.name));
        const Value& pod_template = given["template"];
        const std::optional<Value> full = completed(pod_template["spec"], limits, seen);
        set.pod = fold_pod_shape(workload.key.ns, pod_template["metadata"]["labels"],
                                 full ? *full : pod_template["spec"], seen);
        if (settings.resources.counts_differently())
            set.counted = counted_requests(set.pod.requests, settings.resources);
        folded.pod_sets.push_back(std::move(set));
    }
    return folded;
}

Value resource_requests(const decide::Workload& workload) {
    Value list = Value::array();
    for (const decide::PodSet& set : workload.pod_sets) {
        const std::int64_t count = std::max<std::int64_t>(0, set.count - set.reclaimable);
        Value resources = Value::object();
        for (const auto& [resource, amount] : set.counted ? *set.counted : set.pod.requests)
            resources.set(resource, quantity_text(resource, amount * count));
        list.push(Value::object({{"name", set.name}, {"resources", std::move(resources)}}));
    }
    return list;
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
        made.topology = fold_topology_assignment(assignment["topologyAssignment"]);
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

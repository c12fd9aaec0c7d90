// control/queue/places.cpp - from a Workload's topologyAssignment to the node selectors of pods.
#include "control/queue/places.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "control/fold_pod.h"
#include "control/queue/identifiers.h"
#include "control/queue/integration.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_shape.h"
#include "control/queue/topology.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

constexpr std::string_view index_label = "batch.kubernetes.io/job-completion-index";

/// A pod that was told its Workload, but has no place yet. The gate of admission stands in for that
/// of topologies where a pod came in without it.
bool is_gated(const kube::Object& pod) {
    return has_gate(pod.value, topology_gate) || has_gate(pod.value, admission_gate);
}

/// Its number among its like; absent: it has none.
std::optional<std::int64_t> rank_of(const kube::Object& pod) {
    for (const std::string_view label : {index_label, pod_index_label}) {
        const auto rank = parse_integer(pod.label(label));
        const auto offset = parse_integer(pod.annotation(pod_index_offset_annotation));
        if (rank) return *rank - offset.value_or(0);
    }
    return std::nullopt;
}

/// Of jobs, by what made them; of pods that queue by themselves, by what they were told.
std::vector<kube::ObjectPtr> pods_of(const kube::Cache& seen, const kube::Object& workload) {
    const std::string kind = controller_of(workload.value)["kind"].text();
    if (!kind.empty() && kind != "Pod") return living_pods(seen, workload.label(job_uid_label));
    std::vector<kube::ObjectPtr> found;
    for (kube::ObjectPtr& pod :
         seen.by_index(pods, workload.key.ns, workload_named_by, workload.key.name)) {
        if (!is_finished_pod(*pod)) found.push_back(std::move(pod));
    }
    return found;
}

/// The number of its domain, when its node selector names one.
std::optional<std::size_t> domain_of(const kube::Object& pod,
                                     const decide::TopologyAssignment& places) {
    const Value& selector = pod.value["spec"]["nodeSelector"];
    for (std::size_t i = 0; i < places.domains.size(); ++i) {
        bool there = true;
        for (std::size_t level = 0; level < places.levels.size(); ++level) {
            there = there &&
                    selector[places.levels[level]].text_or("") == places.domains[i].values[level];
        }
        if (there) return i;
    }
    return std::nullopt;
}

/// The domain of the pod with this rank, counted through all domains.
std::optional<std::size_t> domain_by_rank(std::int64_t rank,
                                          const decide::TopologyAssignment& places) {
    for (std::size_t i = 0; rank >= 0 && i < places.domains.size(); ++i) {
        if (rank < places.domains[i].count) return i;
        rank -= places.domains[i].count;
    }
    return std::nullopt;
}

Write send_to(const kube::Object& pod, const decide::TopologyAssignment& places,
              std::size_t domain) {
    Value selector = Value::object();
    for (std::size_t level = 0; level < places.levels.size(); ++level)
        selector.set(places.levels[level], places.domains[domain].values[level]);
    Value open = pod.value;
    open.at("spec").set("schedulingGates", gates_without(open, topology_gate));
    Value spec = Value::object({{"nodeSelector", std::move(selector)}});
    spec.set("schedulingGates", gates_without(open, admission_gate));
    return patch_of(pod, "v1", Value::object({{"spec", std::move(spec)}}));
}

void place_set(const std::vector<kube::ObjectPtr>& all, const decide::TopologyAssignment& places,
               Reconciled& result) {
    std::vector<std::int64_t> left;
    for (const auto& domain : places.domains)
        left.push_back(domain.count);
    std::vector<kube::ObjectPtr> gated;
    for (const kube::ObjectPtr& pod : all) {
        if (is_gated(*pod)) {
            gated.push_back(pod);
        } else if (const auto domain = domain_of(*pod, places)) {
            --left[*domain];
        }
    }
    std::sort(gated.begin(), gated.end(),
              [](const auto& a, const auto& b) { return a->key.name < b->key.name; });
    for (const kube::ObjectPtr& pod : gated) {
        std::optional<std::size_t> domain;
        if (const auto rank = rank_of(*pod)) domain = domain_by_rank(*rank, places);
        if (!domain || left[*domain] <= 0) {
            const auto free =
                std::find_if(left.begin(), left.end(), [](std::int64_t pods) { return pods > 0; });
            if (free == left.end()) break;  // One that ends makes room.
            domain = static_cast<std::size_t>(free - left.begin());
        }
        --left[*domain];
        result.writes.push_back(send_to(*pod, places, *domain));
    }
}

Reconciled reconcile(const kube::Cache& seen, const api::Key& key, Time) {
    Reconciled result;
    const kube::ObjectPtr workload = seen.find(key);
    if (workload == nullptr || !is_admitted(workload->value) || is_evicted(workload->value) ||
        workload->is_terminating()) {
        return result;
    }
    std::map<std::string, std::vector<kube::ObjectPtr>> by_set;
    for (kube::ObjectPtr& pod : pods_of(seen, *workload)) {
        if (pod->is_terminating() || workload_named_by(*pod) != key.name) continue;
        by_set[std::string(pod->label(pod_set_label))].push_back(std::move(pod));
    }
    for (const Value& set : workload->value.path("status.admission.podSetAssignments").items()) {
        const auto places = fold_topology_assignment(set["topologyAssignment"]);
        if (places) place_set(by_set[set["name"].text()], *places, result);
    }
    return result;
}

std::vector<api::Key> workload_of(const kube::Cache&, const kube::Object* before,
                                  const kube::Object* after) {
    const kube::Object& pod = after != nullptr ? *after : *before;
    const std::string_view name = workload_named_by(pod);
    if (name.empty()) return {};
    return {{workloads, pod.key.ns, std::string(name)}};
}

}  // namespace

Controller places_controller() {
    Controller controller;
    controller.name = "kueue-topology-ungater";
    controller.indexes = {{pods, workload_named_by}};
    controller.watches = {watch_self(workloads, std::string(kueue_version)),
                          Watch{pods, "v1", workload_of}};
    controller.reconcile = reconcile;
    return controller;
}

}  // namespace muster::control::queue

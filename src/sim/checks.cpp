// sim/checks.cpp - the invariants.
#include "sim/checks.h"

#include <algorithm>
#include <set>
#include <variant>

#include "api/json.h"
#include "control/fold_pod.h"

namespace muster::sim {
namespace {

using api::Value;

bool is_over(const Value& pod) {
    const std::string_view phase = pod["status"]["phase"].text_or("");
    return phase == "Succeeded" || phase == "Failed";
}

bool is_finished(const Value& workload) {
    return control::condition_of(workload["status"], "Finished")["status"].text_or("") == "True";
}

/// Flavor, resource.
using Use = std::map<std::string, std::map<std::string, Amount>>;

/// Of a pod set's count, those that are done and need nothing any more.
std::int64_t reclaimed_of(const Value& workload, std::string_view pod_set) {
    for (const Value& pods : workload["status"]["reclaimablePods"].items()) {
        if (pods["name"].text_or("") == pod_set) return pods["count"].integer_or(0);
    }
    return 0;
}

/// An elastic one that was scaled down holds only what is left of it.
std::int64_t asked_of(const Value& workload, std::string_view pod_set, std::int64_t admitted) {
    const bool elastic =
        workload["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"].text_or("") == "true";
    for (const Value& pods : workload["spec"]["podSets"].items()) {
        if (elastic && pods["name"].text_or("main") == pod_set)
            return std::min(admitted, pods["count"].integer_or(1));
    }
    return admitted;
}

/// What its quota holds for a workload.
void add_use(Use& use, const Value& workload) {
    for (const Value& pods : workload["status"]["admission"]["podSetAssignments"].items()) {
        const std::int64_t count = pods["count"].integer_or(0);
        const std::string_view name = pods["name"].text_or("");
        const std::int64_t left = asked_of(workload, name, count) - reclaimed_of(workload, name);
        for (const auto& [resource, amount] : pods["resourceUsage"].members()) {
            const Amount all = control::fold_amount(resource, amount);
            use[pods["flavors"][resource].text()][resource] +=
                count == 0 ? all : Amount{all.value / count * left};
        }
    }
}

}  // namespace

std::optional<std::string> Checks::take(const store::Change& change) {
    ++changes_;
    const auto mix = [this](std::string_view text) { trace_ = stable_hash(text, trace_); };
    mix(change.key);
    if (change.after == nullptr) {
        mix("removed");
        objects_.erase(change.key);
    } else {
        mix(*change.after);
        auto parsed = api::parse_json(*change.after);
        auto* document = std::get_if<api::Parsed>(&parsed);
        if (document == nullptr) return change.key + " holds no JSON";
        objects_[change.key] = std::move(document->value);
    }
    const bool is_pod = change.key.find("/pods/") != std::string::npos;
    if (is_pod || change.key.find("/nodes/") != std::string::npos) {
        if (auto broken = check_nodes()) return broken;
    }
    if (is_pod) {
        if (auto broken = check_heads()) return broken;
    }
    if (change.key.find("/workloads/") != std::string::npos) {
        if (auto broken = check_quota()) return broken;
    }
    return check_wrappers();
}

std::map<std::string, Value> Checks::under(std::string_view prefix) const {
    std::map<std::string, Value> found;
    for (auto at = objects_.lower_bound(prefix);
         at != objects_.end() && at->first.starts_with(prefix); ++at) {
        found.insert(*at);
    }
    return found;
}

std::optional<std::string> Checks::check_nodes() const {
    std::map<std::string, Resources> used;
    for (const auto& [key, pod] : objects_) {
        if (key.find("/pods/") == std::string::npos || is_over(pod)) continue;
        const std::string node = pod["spec"]["nodeName"].text();
        if (node.empty()) continue;
        for (const auto& [resource, amount] : control::effective_requests(pod["spec"]))
            used[node][resource] += amount;
        used[node]["pods"] += Amount{1};
    }
    for (const auto& [key, node] : objects_) {
        if (key.find("/nodes/") == std::string::npos) continue;
        const std::string name = node["metadata"]["name"].text();
        for (const auto& [resource, amount] :
             control::fold_resources(node["status"]["allocatable"])) {
            if (used[name][resource] <= amount) continue;
            return "node " + name + " has " + std::to_string(amount.value) + " " + resource +
                   " and its pods ask for " + std::to_string(used[name][resource].value);
        }
    }
    return std::nullopt;
}

std::optional<std::string> Checks::check_quota() const {
    std::map<std::string, Use> used;  // By queue.
    std::set<std::string> replaced;   // What these slices hold is part of what others do.
    for (const auto& [key, workload] : objects_) {
        if (key.find("/workloads/") == std::string::npos) continue;
        if (workload["status"]["admission"].is_object())
            replaced.insert(
                workload["metadata"]["annotations"]["kueue.x-k8s.io/workload-slice-replacement-for"]
                    .text());
    }
    for (const auto& [key, workload] : objects_) {
        if (key.find("/workloads/") == std::string::npos || is_finished(workload)) continue;
        const Value& metadata = workload["metadata"];
        if (replaced.contains(metadata["namespace"].text() + "/" + metadata["name"].text()))
            continue;
        add_use(used[workload["status"]["admission"]["clusterQueue"].text()], workload);
    }
    for (const auto& [key, queue] : objects_) {
        if (key.find("/clusterqueues/") == std::string::npos) continue;
        const std::string name = queue["metadata"]["name"].text();
        for (const Value& group : queue["spec"]["resourceGroups"].items()) {
            for (const Value& flavor : group["flavors"].items()) {
                for (const Value& resource : flavor["resources"].items()) {
                    const std::string what = resource["name"].text();
                    Amount most = control::fold_amount(what, resource["nominalQuota"]);
                    const bool alone = queue["spec"]["cohortName"].text_or("").empty();
                    if (!alone && !resource.has("borrowingLimit")) continue;  // As the cohort can.
                    if (!alone) most += control::fold_amount(what, resource["borrowingLimit"]);
                    const Amount taken = used[name][flavor["name"].text()][what];
                    if (taken <= most) continue;
                    return "queue " + name + " gives " + std::to_string(most.value) + " " + what +
                           " and " + std::to_string(taken.value) + " are admitted";
                }
            }
        }
    }
    return std::nullopt;
}

std::optional<std::string> Checks::check_wrappers() const {
    for (const auto& [key, wrapper] : objects_) {
        if (key.find("/appwrappers/") == std::string::npos) continue;
        if (wrapper["status"]["canrun"].boolean_or(false)) continue;
        if (!control::condition_of(wrapper["status"], "Dispatched").is_null()) continue;
        if (wrapper["status"]["state"].text_or("") == "Failed") continue;
        const std::string uid = wrapper["metadata"]["uid"].text();
        for (const auto& [other, object] : objects_) {
            for (const Value& owner : object["metadata"]["ownerReferences"].items()) {
                if (owner["uid"].text_or("") == uid && key.find("workloads") == std::string::npos &&
                    other.find("/workloads/") == std::string::npos) {
                    return key + " waits, but owns " + other;
                }
            }
        }
    }
    return std::nullopt;
}

std::optional<std::string> Checks::check_heads() const {
    std::map<std::string, std::string> heads;
    for (const auto& [key, pod] : objects_) {
        if (key.find("/pods/") == std::string::npos || is_over(pod)) continue;
        const Value& labels = pod["metadata"]["labels"];
        if (labels["ray.io/node-type"].text_or("") != "head" ||
            pod["metadata"].has("deletionTimestamp"))
            continue;
        const std::string cluster =
            pod["metadata"]["namespace"].text() + "/" + labels["ray.io/cluster"].text();
        const auto [found, first] = heads.emplace(cluster, key);
        if (!first)
            return "cluster " + cluster + " has two heads: " + found->second + " and " + key;
    }
    return std::nullopt;
}

}  // namespace muster::sim

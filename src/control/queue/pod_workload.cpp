// control/queue/pod_workload.cpp - composing the Workload of pods, and keeping it theirs.
#include "control/queue/pod_workload.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/conditions.h"
#include "control/queue/managed.h"
#include "control/queue/pod_kinds.h"

namespace muster::control::queue {
namespace {

using api::Value;

void refuse(PodPass& pass, const std::string& why) {
    pass.tell(pass.first(), "Warning", "ErrWorkloadCompose", why);
}

/// What the pods of a group say differently from each other. Absent: nothing.
std::optional<std::string> disagreement(const PodPass& pass, std::int64_t count) {
    const kube::Object& first = pass.first();
    for (const kube::ObjectPtr& pod : pass.all) {
        if (pod->value["status"]["phase"].text_or("") == "Failed") continue;
        const std::string both =
            "pods '" + first.key.name + "' and '" + pod->key.name + "' has different ";
        const std::string queue(queue_name_of(first.value));
        const std::string other(queue_name_of(pod->value));
        if (queue != other) return both + "queue names: " + queue + "!=" + other;
        const auto theirs = group_count_of(*pod);
        if (theirs == count) continue;
        return both + "'" + std::string(group_count_annotation) +
               "' values: " + std::to_string(count) +
               "!=" + std::string(pod->annotation(group_count_annotation));
    }
    return std::nullopt;
}

/// The pod sets of a group that can have a Workload. Absent: it cannot yet, and was told why.
std::optional<std::vector<PodSet>> compose_group(PodPass& pass) {
    constexpr std::size_t roles_max = 8;
    const auto count = group_count_of(pass.first());
    if (!count) {
        refuse(pass, "failed to extract '" + std::string(group_count_annotation) + "' annotation");
        return std::nullopt;
    }
    Pods active;
    Pods ended;
    for (const kube::ObjectPtr& pod : pass.all)
        (counts_for_group(*pod) ? active : ended).push_back(pod);
    pass.finalize(ended);
    if (active.empty()) return std::nullopt;
    const bool fast = pass.first().annotation(group_fast_annotation) == "true";
    if (static_cast<std::int64_t>(active.size()) < *count && !fast) {
        refuse(pass, "'" + pass.key.name + "' group has fewer runnable pods than expected");
        return std::nullopt;
    }
    if (const auto why = disagreement(pass, *count)) {
        refuse(pass, *why);
        return std::nullopt;
    }
    const Pods excess = excess_of(active, *count);
    pass.remove_excess(excess);
    if (!excess.empty()) return std::nullopt;  // Looked at again when they are gone.
    if (fast) return std::vector<PodSet>{fast_role_of(*active.front(), *count)};
    std::vector<PodSet> roles = roles_of(active);
    if (roles.size() <= roles_max) return roles;
    refuse(pass, "pod group can't include more than 8 roles");
    return std::nullopt;
}

/// Every pod of the group owns its Workload; none controls it.
void make_groups_own(const PodPass& pass, Value& workload) {
    Value& metadata = workload.at("metadata");
    metadata.set("name", pass.key.name);
    metadata.erase("labels");
    if (const std::string_view name = pass.first().label(priority_class_label); !name.empty())
        metadata.at("labels").set(priority_class_label, name);
    metadata.at("annotations").set(group_workload_annotation, "true");
    Value owners = Value::array();
    for (const kube::ObjectPtr& pod : pass.all)
        owners.push(plain_owner(*pod));
    metadata.set("ownerReferences", std::move(owners));
}

/// What the settings have the Workload say of its pods. Absent: they say different things.
std::optional<std::map<std::string, std::string>> copied_labels(const PodPass& pass) {
    std::map<std::string, std::string> copied;
    for (const kube::ObjectPtr& pod : pass.all) {
        for (const std::string& label : pass.settings.jobs.labels_to_copy) {
            const Value& value = pod->value["metadata"]["labels"][label];
            if (!value.is_string()) continue;
            const auto [known, is_new] = copied.try_emplace(label, value.as_string());
            if (!is_new && known->second != value.as_string()) return std::nullopt;
        }
    }
    return copied;
}

}  // namespace

const JobKind& kind_of_pods() {
    static const JobKind kind = pod_kind();
    return kind;
}

void create_workload(PodPass& pass) {
    std::optional<std::vector<PodSet>> sets =
        pass.is_group() ? compose_group(pass)
                        : std::optional(pod_sets_of(kind_of_pods(), pass.first().value));
    if (!sets) return;
    const auto priority = priority_or_tell(pass.seen, pass.first(), *sets, pass.result);
    if (!priority) return;
    const auto labels = copied_labels(pass);
    if (!labels) {
        refuse(pass, "constructing workload: pods have different label values");
        return;
    }
    Value made = new_workload(kind_of_pods(), pass.first(), *sets, *priority);
    if (pass.is_group()) make_groups_own(pass, made);
    for (const auto& [label, value] : *labels)
        made.at("metadata").at("labels").set(label, value);
    const api::Key key{workloads, pass.key.ns, made["metadata"]["name"].text()};
    pass.tell(pass.first(), "Normal", "CreatedWorkload",
              "Created Workload: " + key.ns + "/" + key.name);
    pass.write(creation_of_workload(key.ns, std::move(made)));
}

void follow_pods(PodPass& pass) {
    if (pass.is_prebuilt()) return;
    Value wanted = pass.workload->value;
    const PodSet first = pod_sets_of(kind_of_pods(), pass.first().value).front();
    follow_metadata(pass.seen, pass.first().value, {first}, wanted);
    const Value patch = merge_patch_between(pass.workload->value, wanted);
    if (!patch.empty()) pass.write(patch_of(*pass.workload, kueue_api_version, patch));
}

bool is_in_sync(const PodPass& pass) {
    const Value& workload = pass.workload->value;
    if (is_finished(workload)) return true;
    if (!pass.is_group()) {
        const Compare how =
            is_waiting_pod(pass.first()) ? Compare::everything : Compare::counts_and_requests;
        return agree(workload, pod_sets_of(kind_of_pods(), pass.first().value), how);
    }
    // A group's roles must be among the Workload's, and have no more pods.
    const auto& sets = workload["spec"]["podSets"].items();
    const std::vector<PodSet> roles = roles_of(pass.all);
    return std::all_of(roles.begin(), roles.end(), [&](const PodSet& role) {
        return std::any_of(sets.begin(), sets.end(), [&](const Value& set) {
            return set["name"].text_or("main") == role.name &&
                   set["count"].integer_or(1) >= role.count;
        });
    });
}

}  // namespace muster::control::queue

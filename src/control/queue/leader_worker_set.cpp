// control/queue/leader_worker_set.cpp - LeaderWorkerSets in the queues.
#include "control/queue/leader_worker_set.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/conditions.h"
#include "control/queue/guest_job_kinds.h"
#include "control/queue/identifiers.h"
#include "control/queue/job_rules.h"
#include "control/queue/job_watches.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_kinds.h"
#include "control/queue/pod_shape.h"
#include "control/queue/pod_writes.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

constexpr std::string_view set_label = leader_worker_set_label;
constexpr std::string_view group_index_label = "leaderworkerset.sigs.k8s.io/group-index";
constexpr std::string_view worker_index_label = "leaderworkerset.sigs.k8s.io/worker-index";
constexpr std::string_view leader_annotation = "leaderworkerset.sigs.k8s.io/leader-name";
constexpr std::string_view group_annotation = "kueue.x-k8s.io/component-workload-index";

const Value& parts_of(const Value& set) {
    return set["spec"]["leaderWorkerTemplate"];
}

bool has_leader_template(const Value& set) {
    return parts_of(set)["leaderTemplate"].is_object();
}

std::int64_t size_of(const Value& set) {
    return parts_of(set)["size"].integer_or(1);
}

/// Of one group.
std::vector<PodSet> pod_sets(const Value& set) {
    const Value& parts = parts_of(set);
    const auto part = [&](const char* name, std::int64_t count, const char* member) {
        return PodSet{name, count, parts[member],
                      "",   0,     "spec.leaderWorkerTemplate." + std::string(member)};
    };
    if (!has_leader_template(set)) return {part("main", size_of(set), "workerTemplate")};
    return {part("leader", 1, "leaderTemplate"),
            part("worker", size_of(set) - 1, "workerTemplate")};
}

const JobKind& kind_of_sets() {
    static const JobKind kind = leader_worker_set_kind();
    return kind;
}

std::string workload_of(const std::string& name, std::string_view uid, std::string_view index) {
    return workload_name("LeaderWorkerSet", kind_of_sets().resource.group,
                         name + "-" + std::string(index), uid);
}

FieldErrors check(const Value& set) {
    constexpr std::int64_t groups_max = 1'000'000;
    FieldErrors errors;
    const std::int64_t groups = set["spec"]["replicas"].integer_or(1);
    const auto wrong = [&](const std::string& bound) {
        errors.push_back(invalid_at("spec.replicas", Value(groups),
                                    "invalid LeaderWorkerSet replicas: must be " + bound +
                                        ", got " + std::to_string(groups)));
    };
    if (groups < 0) wrong(">= 0");
    if (groups > groups_max) wrong("<= " + std::to_string(groups_max));
    check_pod_sets(kind_of_sets(), set, errors);
    return errors;
}

void check_same_template(const Value& before, const Value& now, const char* member,
                         FieldErrors& errors) {
    const std::string path = "spec.leaderWorkerTemplate." + std::string(member);
    const Value& was = parts_of(before)[member];
    const Value& is = parts_of(now)[member];
    if (was.is_object() != is.is_object()) return check_same(was, is, path, errors);
    check_same_shape(was["spec"], is["spec"], path + ".spec", errors);
}

FieldErrors check_change(const Value& before, const Value& now) {
    FieldErrors errors = check(now);
    for (api::FieldError& error : check_serving_change(before, now))
        errors.push_back(std::move(error));
    return errors;
}

/// Its Workloads are not made anew: more pods of a group would run without quota.
FieldErrors check_queued_change(const api::AdmissionRequest& request) {
    FieldErrors errors;
    check_same_template(request.old, request.object, "leaderTemplate", errors);
    check_same_template(request.old, request.object, "workerTemplate", errors);
    check_same(Value(size_of(request.old)), Value(size_of(request.object)),
               "spec.leaderWorkerTemplate.size", errors);
    return errors;
}

/// A rolling update may have more groups for a while.
std::int64_t groups_of(const Value& set) {
    const std::int64_t wanted = set["spec"]["replicas"].integer_or(1);
    const Value& surge = set.path("spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge");
    const bool surges = surge.integer_or(0) > 0 || (surge.is_string() && surge.as_string() != "0%");
    const Value& status = set["status"];
    if (!surges || status["updatedReplicas"].integer_or(0) >= wanted) return wanted;
    return std::max(wanted, status["replicas"].integer_or(0));
}

/// How many Workloads one pass makes; when they are seen the next pass makes more.
constexpr int creations_max = 256;

struct Pass {
    const kube::Cache& seen;
    const JobRules& rules;
    const kube::Object& set;
    std::vector<PodSet> pod_sets;
    Reconciled result = {};
    int created = 0;
};

void create(Pass& pass, std::int64_t index, const std::string& name) {
    const auto priority = priority_or_tell(pass.seen, pass.set, pass.pod_sets, pass.result);
    if (!priority) return;
    ++pass.created;
    Value made = new_workload(kind_of_sets(), pass.set, pass.pod_sets, *priority);
    copy_labels(pass.rules.labels_to_copy, pass.set.value, made);
    Value& metadata = made.at("metadata");
    metadata.set("name", name);
    metadata.at("annotations").set(group_annotation, std::to_string(index));
    pass.result.events.push_back({pass.set.key, "Normal", "CreatedWorkload",
                                  "Created Workload: " + pass.set.key.ns + "/" + name, ""});
    pass.result.writes.push_back(creation_of_workload(pass.set.key.ns, std::move(made)));
}

void follow(Pass& pass, const kube::Object& workload) {
    if (workload.is_terminating() || is_finished(workload.value)) return;
    Value wanted = workload.value;
    follow_metadata(pass.seen, pass.set.value, pass.pod_sets, wanted);
    const Value patch = merge_patch_between(workload.value, wanted);
    if (!patch.empty()) pass.result.writes.push_back(patch_of(workload, kueue_api_version, patch));
}

/// Which index a pod has may be said after it was made.
void bring_in(Pass& pass) {
    for (const kube::ObjectPtr& pod : pass.seen.list(pods, pass.set.key.ns)) {
        if (pod->is_terminating() || leader_worker_set_of(pod->value) != pass.set.key.name ||
            !group_of(*pod).empty()) {
            continue;
        }
        const Value joined = in_leader_worker_group(pass.set.value, pod->value);
        const Value patch = merge_patch_between(pod->value, joined);
        if (!patch.empty()) pass.result.writes.push_back(patch_of(*pod, "v1", patch));
    }
}

void remove_others(Pass& pass, const std::set<std::string>& wanted) {
    for (const kube::ObjectPtr& workload : pass.seen.owned_by(workloads, pass.set.uid)) {
        if (workload->is_terminating() || wanted.contains(workload->key.name)) continue;
        pass.result.writes.push_back(deletion_of_workload(*workload));
    }
}

Reconciled reconcile(const JobRules& rules, const kube::Cache& seen, const api::Key& key) {
    const kube::ObjectPtr set = seen.find(key);
    if (set == nullptr || set->is_terminating()) return {};
    const FindObject find = find_in(seen);
    if (!manages_namespace(rules, key.ns, find)) return {};
    if (!is_managed(set->value, key.ns, find) &&
        !must_find_queue(rules, kind_of_sets(), set->value, key.ns, find)) {
        return {};
    }
    Pass pass{seen, rules, *set, pod_sets(set->value)};
    std::set<std::string> wanted;
    const std::int64_t groups = groups_of(set->value);
    for (std::int64_t index = 0; index < groups; ++index) {
        if (pass.created == creations_max) break;
        const std::string name = workload_of(key.name, set->uid, std::to_string(index));
        wanted.insert(name);
        const kube::ObjectPtr workload = seen.find({workloads, key.ns, name});
        if (workload == nullptr) {
            create(pass, index, name);
        } else {
            follow(pass, *workload);
        }
    }
    if (pass.created < creations_max) remove_others(pass, wanted);
    bring_in(pass);
    return std::move(pass.result);
}

std::vector<api::Key> set_of_pod(const kube::Cache&, const kube::Object*,
                                 const kube::Object* after) {
    if (after == nullptr || !group_of(*after).empty()) return {};
    const std::string_view name = leader_worker_set_of(after->value);
    if (name.empty()) return {};
    return {{kind_of_sets().resource, after->key.ns, std::string(name)}};
}

void mark(const Value& set, Value& pod_template) {
    Value& metadata = pod_template.at("metadata");
    metadata.at("annotations").set(suspending_parent_annotation, leader_worker_framework);
    metadata.at("annotations").set(group_serving_annotation, "true");
    const Value& priority = set["metadata"]["labels"][priority_class_label];
    if (!priority.text_or("").empty()) metadata.at("labels").set(priority_class_label, priority);
}

}  // namespace

JobKind leader_worker_set_kind() {
    JobKind kind = named_guest("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "");
    kind.start = JobKind::Start::by_pods;
    kind.is_waiting = has_no_ready_replicas;
    kind.find_pod_sets = pod_sets;
    kind.check = check;
    kind.check_change = check_change;
    kind.check_queued_change = check_queued_change;
    return kind;
}

Controller leader_worker_set_controller(const Settings& settings) {
    const JobKind& kind = kind_of_sets();
    Controller controller;
    controller.name = "leaderworkerset-kueue-controller";
    controller.watches = {
        watch_self(kind.resource, std::string(kind.version)),
        watch_owned(workloads, std::string(kueue_version), kind.resource),
        Watch{pods, "v1", set_of_pod},
        Watch{namespaces, "v1",
              [&kind, rules = settings.jobs](const kube::Cache& seen, const kube::Object* before,
                                             const kube::Object* after) {
                  return jobs_in_namespace(kind.resource, rules, seen, before, after);
              }}};
    controller.reconcile = [rules = settings.jobs](const kube::Cache& seen, const api::Key& key,
                                                   Time) { return reconcile(rules, seen, key); };
    return controller;
}

std::string_view leader_worker_set_of(const Value& pod) {
    const Value& metadata = pod["metadata"];
    if (metadata["annotations"][suspending_parent_annotation].text_or("") !=
        leader_worker_framework) {
        return {};
    }
    return metadata["labels"][set_label].text_or("");
}

Value in_leader_worker_group(const Value& set, Value pod) {
    const std::string index = pod["metadata"]["labels"][group_index_label].text();
    const std::string_view queue = queue_name_of(set);
    if (index.empty() || queue.empty()) return pod;
    const bool is_worker = pod["metadata"]["annotations"].has(leader_annotation);
    const bool has_index = pod["metadata"]["labels"].has(worker_index_label);
    const Value& identity = set["metadata"];
    const std::string group =
        workload_of(identity["name"].text(), identity["uid"].text_or(""), index);
    set_group(pod, group);
    Value& labels = pod.at("metadata").at("labels");
    Value& annotations = pod.at("metadata").at("annotations");
    labels.set(managed_label, "true");
    labels.set(queue_name_label, Value(queue));
    annotations.set(group_count_annotation, std::to_string(size_of(set)));
    const char* role = !has_leader_template(set) ? "main" : is_worker ? "worker" : "leader";
    annotations.set(role_hash_annotation, role);
    if (has_index) {
        annotations.set(pod_index_label_annotation, worker_index_label);
        labels.set(pod_index_label, Value(pod["metadata"]["labels"][worker_index_label].text()));
    }
    return pod;
}

Value with_marked_groups(Value set) {
    Value& parts = set.at("spec").at("leaderWorkerTemplate");
    for (const char* member : {"leaderTemplate", "workerTemplate"}) {
        if (parts[member].is_object()) mark(set, parts.at(member));
    }
    return set;
}

}  // namespace muster::control::queue

// control/queue/pod_groups.cpp - reconciling queued pods with their Workload.
#include "control/queue/pod_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/owner.h"
#include "control/queue/group_members.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_kinds.h"
#include "control/queue/pod_shape.h"
#include "control/queue/pod_writes.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

const JobKind& kind_of_pods() {
    static const JobKind kind = pod_kind();
    return kind;
}

/// One reconcile of one pod or one group in the making.
struct Pass {
    enum class Members { one, group };
    const kube::Cache& seen;
    const Time now;
    const api::Key key;  // Of the pod, or of the group's Workload.
    const Members members;
    Pods all = {};
    kube::ObjectPtr workload = {};
    Reconciled result = {};

    bool is_group() const { return members == Members::group; }
    const kube::Object& first() const { return *all.front(); }
    bool is_serving() const { return first().annotation(group_serving_annotation) == "true"; }
    /// Its Workload is made by somebody else.
    bool is_prebuilt() const { return !first().label(prebuilt_label).empty(); }
    std::string workload_text() const { return workload->key.ns + "/" + workload->key.name; }
    void write(Write write) { result.writes.push_back(std::move(write)); }
    void tell(const kube::Object& about, const char* type, const char* reason, std::string text) {
        result.events.push_back({about.key, type, reason, std::move(text), ""});
    }
    void change_status(const Value& status) {
        if (auto made = status_write(*workload, status)) write(std::move(*made));
    }
};

void finalize(Pass& pass, const Pods& done) {
    for (const kube::ObjectPtr& pod : done) {
        if (has_managed_finalizer(*pod)) pass.write(without_managed_finalizer(*pod));
    }
}

enum class Stopped { started, all };

void stop(Pass& pass, const char* reason, const std::string& message,
          Stopped which = Stopped::started) {
    for (const kube::ObjectPtr& pod : pass.all) {
        if (which == Stopped::all ? pod->is_terminating() : !is_started_pod(*pod)) continue;
        pass.write(termination_of(*pod, reason, message, pass.now));
        pass.write(deletion_of(*pod));
        pass.tell(*pod, "Normal", "Stopped", message);
    }
}

void remove_excess(Pass& pass, const Pods& excess) {
    for (const kube::ObjectPtr& pod : excess) {
        if (has_managed_finalizer(*pod)) pass.write(without_managed_finalizer(*pod));
        if (pod->is_terminating()) continue;
        pass.write(deletion_of(*pod));
        pass.tell(*pod, "Normal", "ExcessPodDeleted", "Excess pod deleted");
    }
}

void refuse(Pass& pass, const std::string& why) {
    pass.tell(pass.first(), "Warning", "ErrWorkloadCompose", why);
}

/// What the pods of a group say differently from each other. Absent: nothing.
std::optional<std::string> disagreement(const Pass& pass, std::int64_t count) {
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
std::optional<std::vector<PodSet>> compose_group(Pass& pass) {
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
    finalize(pass, ended);
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
    remove_excess(pass, excess);
    if (!excess.empty()) return std::nullopt;  // Looked at again when they are gone.
    if (fast) return std::vector<PodSet>{fast_role_of(*active.front(), *count)};
    std::vector<PodSet> roles = roles_of(active);
    if (roles.size() <= roles_max) return roles;
    refuse(pass, "pod group can't include more than 8 roles");
    return std::nullopt;
}

/// Every pod of the group owns its Workload; none controls it.
void make_groups_own(const Pass& pass, Value& workload) {
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

void create_workload(Pass& pass) {
    std::optional<std::vector<PodSet>> sets =
        pass.is_group() ? compose_group(pass)
                        : std::optional(pod_sets_of(kind_of_pods(), pass.first().value));
    if (!sets) return;
    const auto priority = priority_of(pass.seen, pass.first().value, *sets);
    if (const auto* missing = std::get_if<MissingClass>(&priority)) {
        pass.tell(pass.first(), "Warning", "WorkloadPriorityClassNotFound",
                  "PriorityClass \"" + missing->name + "\" not found");
        pass.result.look_again = seconds(5);
        return;
    }
    Value made = new_workload(kind_of_pods(), pass.first(), *sets, std::get<Priority>(priority));
    if (pass.is_group()) make_groups_own(pass, made);
    const api::Key key{workloads, pass.key.ns, made["metadata"]["name"].text()};
    pass.tell(pass.first(), "Normal", "CreatedWorkload",
              "Created Workload: " + key.ns + "/" + key.name);
    pass.write(creation_of_workload(key.ns, std::move(made)));
}

/// The words of the end of a pod or group; absent while it goes on.
std::optional<JobEnd> end_of_pods(const Pass& pass) {
    if (!pass.is_group()) {
        auto end = end_of(kind_of_pods(), pass.first().value);
        const bool won = end && end->success == EndRule::Success::yes;
        if (end && end->message.empty()) end->message = won ? "Pod succeeded" : "Pod failed";
        return end;
    }
    const auto count = group_count_of(pass.first());
    if (!count || pass.is_serving()) return std::nullopt;
    std::int64_t succeeded = 0;
    bool active = false;
    bool final = false;
    for (const kube::ObjectPtr& pod : pass.all) {
        if (pod->value["status"]["phase"].text_or("") == "Succeeded") ++succeeded;
        active = active || !is_finished_pod(*pod);
        final = final || pod->annotation(retriable_annotation) == "false";
    }
    if (succeeded != *count && (active || !final)) return std::nullopt;
    return JobEnd{EndRule::Success::yes, "Pods succeeded: " + std::to_string(succeeded) + "/" +
                                             std::to_string(*count) + "."};
}

void finish(Pass& pass, const JobEnd& end) {
    Value status = pass.workload->value["status"];
    const char* reason = end.success == EndRule::Success::yes ? "Succeeded" : "Failed";
    set_condition(status.at("conditions"), {"Finished", "True", reason, end.message}, pass.now);
    pass.change_status(status);
    pass.tell(pass.first(), "Normal", "FinishedWorkload",
              "Workload '" + pass.workload_text() + "' is declared finished");
}

/// Pods that came later own the Workload as well.
void add_owners(Pass& pass, const Pods& kept) {
    Value owners = pass.workload->value["metadata"]["ownerReferences"];
    std::size_t added = 0;
    for (const kube::ObjectPtr& pod : kept) {
        const auto& present = owners.items();
        const bool there = std::any_of(present.begin(), present.end(), [&](const Value& owner) {
            return owner["uid"].text_or("") == pod->uid;
        });
        if (there) continue;
        owners.push(plain_owner(*pod));
        ++added;
    }
    if (added == 0) return;
    pass.write(
        metadata_write(*pass.workload, Value::object({{"ownerReferences", std::move(owners)}})));
    pass.tell(*pass.workload, "Normal", "OwnerReferencesAdded",
              "Added " + std::to_string(added) + " owner reference(s)");
}

/// WaitingForReplacementPods, which a Workload has from the first pod on that was missing.
void tell_absent(const Pass& pass, std::int64_t absent, Value& status) {
    constexpr const char* type = "WaitingForReplacementPods";
    const Value before = condition_of(status, type);
    if (before.is_null() && absent == 0) return;
    Value& conditions = status.at("conditions");
    if (absent == 0) {
        if (before["status"].text_or("") != "False") {
            set_condition(conditions, {type, "False", "PodsReady", "No pods need replacement"},
                          pass.now);
        }
        return;
    }
    const Value evicted = condition_of(status, "Evicted");
    if (evicted["status"].text_or("") == "True") {
        set_condition(conditions,
                      {type, "True", evicted["reason"].text(), evicted["message"].text()},
                      pass.now);
    } else if (before["status"].text_or("") != "True") {
        set_condition(conditions, {type, "True", "PodsFailed", "Some Failed pods need replacement"},
                      pass.now);
    }
}

void tell_reclaimable(const Pods& kept, Value& status) {
    std::map<std::string, std::int64_t> done;
    for (const kube::ObjectPtr& pod : kept) {
        if (pod->value["status"]["phase"].text_or("") == "Succeeded") ++done[role_of(*pod)];
    }
    if (done.empty()) return;
    Value list = Value::array();
    for (const auto& [role, count] : done)
        list.push(Value::object({{"name", role}, {"count", count}}));
    status.set("reclaimablePods", std::move(list));
}

void start(Pass& pass, const Pods& kept, Value& status) {
    for (const kube::ObjectPtr& pod : kept) {
        if (!is_waiting_pod(*pod) || pod->is_terminating()) continue;
        auto opened = opening_of(pass.seen, kind_of_pods(), *pod, *pass.workload);
        if (!opened.conflict.empty()) {
            set_condition(status.at("conditions"),
                          {"Finished", "True", "FailedToStart", opened.conflict}, pass.now);
            return;
        }
        if (!opened.write) {
            pass.result.look_again = seconds(1);  // A flavor of the admission is not seen yet.
            continue;
        }
        pass.write(std::move(*opened.write));
        pass.tell(*pod, "Normal", "Started",
                  "Admitted by clusterQueue " +
                      pass.workload->value.path("status.admission.clusterQueue").text());
    }
}

void report_progress(Pass& pass, const Pods& kept, Value& status) {
    const bool ready = std::all_of(kept.begin(), kept.end(), [](const kube::ObjectPtr& pod) {
        return is_ready_pod(*pod) || pod->value["status"]["phase"].text_or("") == "Succeeded";
    });
    set_pods_ready(status, ready, pass.now);
    if (pass.is_group() && !pass.is_serving()) tell_reclaimable(kept, status);
}

/// A waiting Workload follows its pods' queue.
void follow_queue(Pass& pass) {
    const Value queue{queue_name_of(pass.first().value)};
    if (pass.workload->value["spec"]["queueName"] == queue) return;
    pass.write(patch_of(*pass.workload, kueue_api_version,
                        Value::object({{"spec", Value::object({{"queueName", queue}})}})));
}

void go_on(Pass& pass, const Pods& kept, std::int64_t absent) {
    const Value& workload = pass.workload->value;
    Value status = workload["status"];
    if (pass.is_group() && !pass.is_serving()) tell_absent(pass, absent, status);
    if (has_admission(workload) && is_evicted(workload)) {
        stop(pass, "WorkloadEvicted", condition_of(status, "Evicted")["message"].text());
        if (std::none_of(pass.all.begin(), pass.all.end(),
                         [](const kube::ObjectPtr& pod) { return holds_quota(*pod); })) {
            clear_admission(status, pass.now);
        }
    } else if (is_admitted(workload)) {
        start(pass, kept, status);
        report_progress(pass, kept, status);
    } else {
        stop(pass, "NotAdmitted", "Not admitted by cluster queue");
        if (!has_admission(workload)) follow_queue(pass);
    }
    pass.change_status(status);
}

void reconcile_with_workload(Pass& pass) {
    if (is_finished(pass.workload->value)) {
        finalize(pass, pass.all);
        return;
    }
    if (const auto end = end_of_pods(pass)) {
        finish(pass, *end);
        return;
    }
    if (!pass.is_group()) {
        go_on(pass, pass.all, 0);
        return;
    }
    Roll roll = call_roll(pass.all, pass.workload->value["spec"]["podSets"]);
    if (roll.kept.empty() && !pass.is_prebuilt()) {
        stop(pass, "NoMatchingWorkload", "No matching Workload");
        pass.write(deletion_of_workload(*pass.workload));
        pass.tell(pass.first(), "Normal", "DeletedWorkload",
                  "Deleted not matching Workload: " + pass.workload_text());
        return;
    }
    if (!pass.is_prebuilt()) add_owners(pass, roll.kept);
    remove_excess(pass, roll.excess);
    finalize(pass, roll.replaced);
    go_on(pass, roll.kept, roll.absent);
}

/// Nothing of a group is left: neither is its Workload.
void end_group(Pass& pass) {
    if (pass.workload == nullptr || pass.workload->is_terminating()) return;
    if (pass.workload->annotation(group_workload_annotation) != "true") return;
    pass.write(deletion_of_workload(*pass.workload));
}

void reconcile_pods(Pass& pass) {
    if (pass.workload == nullptr) {
        const bool any_started =
            std::any_of(pass.all.begin(), pass.all.end(),
                        [](const kube::ObjectPtr& pod) { return is_started_pod(*pod); });
        const auto end = end_of_pods(pass);
        if (end) {
            finalize(pass, pass.all);
        } else if (any_started) {
            stop(pass, "NoMatchingWorkload", "No matching Workload");
        } else if (!pass.is_prebuilt()) {
            create_workload(pass);
        }
    } else if (pass.workload->is_terminating()) {
        // Who deletes the Workload of what runs or waits gives its pods up.
        if (!is_finished(pass.workload->value))
            stop(pass, "WorkloadDeleted", "Workload is deleted", Stopped::all);
        finalize(pass, pass.all);
    } else {
        reconcile_with_workload(pass);
    }
}

/// The Workload that was made for the pod becomes its own.
void adopt(Pass& pass) {
    Value metadata =
        Value::object({{"ownerReferences", Value::array({owner_reference(pass.first())})}});
    metadata.at("labels").set(job_uid_label, pass.first().uid);
    pass.write(metadata_write(*pass.workload, std::move(metadata)));
}

bool is_queued(const kube::Object& pod) {
    return pod.label(managed_label) == "true";
}

Reconciled reconcile_one(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr pod = seen.find(key);
    if (pod == nullptr || !is_queued(*pod) || !pod->label(group_label).empty()) return {};
    Pass pass{seen, now, key, Pass::Members::one, {pod}};
    if (pod->is_terminating()) {
        finalize(pass, pass.all);
        return std::move(pass.result);
    }
    const std::string prebuilt(pod->label(prebuilt_label));
    for (const kube::ObjectPtr& workload : seen.owned_by(workloads, pod->uid)) {
        if (pass.workload == nullptr || pass.workload->is_terminating()) pass.workload = workload;
    }
    if (pass.workload == nullptr && !prebuilt.empty()) {
        pass.workload = seen.find({workloads, key.ns, prebuilt});
        if (pass.workload == nullptr) return {};
        if (controller_of(pass.workload->value).is_null()) adopt(pass);
        return std::move(pass.result);  // Somebody else's is left alone.
    }
    reconcile_pods(pass);
    return std::move(pass.result);
}

Reconciled reconcile_group(const kube::Cache& seen, const api::Key& key, Time now) {
    Pass pass{seen, now, key, Pass::Members::group};
    for (const kube::ObjectPtr& pod : seen.list(pods, key.ns)) {
        if (is_queued(*pod) && pod->label(group_label) == key.name) pass.all.push_back(pod);
    }
    pass.workload = seen.find(key);
    if (pass.all.empty()) {
        end_group(pass);
        return std::move(pass.result);
    }
    // A StatefulSet's pods come back under their names.
    Pods gone;
    for (const kube::ObjectPtr& pod : pass.all) {
        if (pod->annotation(suspending_parent_annotation) != "statefulset") continue;
        if (pod->is_terminating() || is_finished_pod(*pod)) gone.push_back(pod);
    }
    finalize(pass, gone);
    reconcile_pods(pass);
    return std::move(pass.result);
}

std::vector<api::Key> key_of_pod(const kube::Object* before, const kube::Object* after) {
    const kube::Object& pod = after != nullptr ? *after : *before;
    if (!is_queued(pod)) return {};
    const std::string_view group = pod.label(group_label);
    if (!group.empty()) return {{workloads, pod.key.ns, std::string(group)}};
    return {pod.key};
}

std::vector<api::Key> key_of_workload(const kube::Cache& seen, const kube::Object* before,
                                      const kube::Object* after) {
    const kube::Object& workload = after != nullptr ? *after : *before;
    const Value& owner = controller_of(workload.value);
    const std::string_view kind = owner["kind"].text_or("");
    if (kind == "Pod") return {{pods, workload.key.ns, owner["name"].text()}};
    if (kind == "StatefulSet" || workload.annotation(group_workload_annotation) == "true")
        return {workload.key};
    if (!owner.is_null()) return {};
    std::vector<api::Key> keys;  // Made beforehand, for whoever names it.
    for (const kube::ObjectPtr& pod : seen.list(pods, workload.key.ns)) {
        if (pod->label(prebuilt_label) != workload.key.name) continue;
        for (api::Key& key : key_of_pod(nullptr, pod.get()))
            keys.push_back(std::move(key));
    }
    return keys;
}

}  // namespace

Controller pod_controller() {
    Controller controller;
    controller.name = "v1/pod-kueue-controller";
    controller.watches = {
        Watch{pods, "v1",
              [](const kube::Cache&, const kube::Object* before, const kube::Object* after) {
                  return key_of_pod(before, after);
              }},
        Watch{workloads, std::string(kueue_version), key_of_workload}};
    controller.reconcile = [](const kube::Cache& seen, const api::Key& key, Time now) {
        return key.resource == pods ? reconcile_one(seen, key, now)
                                    : reconcile_group(seen, key, now);
    };
    return controller;
}

}  // namespace muster::control::queue

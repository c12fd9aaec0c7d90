// control/queue/pod_groups.cpp - reconciling queued pods with their Workload.
#include "control/queue/pod_groups.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/owner.h"
#include "control/queue/group_members.h"
#include "control/queue/identifiers.h"
#include "control/queue/leader_worker_set.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_kinds.h"
#include "control/queue/pod_pass.h"
#include "control/queue/pod_shape.h"
#include "control/queue/pod_workload.h"
#include "control/queue/pod_writes.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

using Pass = PodPass;

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
        if (!has_admission(workload)) follow_pods(pass);
    }
    pass.change_status(status);
}

void reconcile_with_workload(Pass& pass) {
    if (is_finished(pass.workload->value)) {
        pass.finalize(pass.all);
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
    pass.remove_excess(roll.excess);
    pass.finalize(roll.replaced);
    go_on(pass, roll.kept, roll.absent);
}

/// Nothing of a group is left: neither is its Workload.
void end_group(Pass& pass) {
    if (pass.workload == nullptr || pass.workload->is_terminating()) return;
    if (pass.workload->annotation(group_workload_annotation) != "true") return;
    pass.write(deletion_of_workload(*pass.workload));
}

/// The Workload that was made for them asks for something else: it is over, and so are they.
void end_out_of_sync(Pass& pass) {
    Value status = pass.workload->value["status"];
    set_condition(status.at("conditions"),
                  {"Finished", "True", "OutOfSync", std::string(out_of_sync_text)}, pass.now);
    pass.change_status(status);
    stop(pass, "NoMatchingWorkload", "missing workload");
}

Pods ended_of(const Pods& all) {
    Pods ended;
    std::copy_if(all.begin(), all.end(), std::back_inserter(ended),
                 [](const auto& pod) { return pod->is_terminating() || is_finished_pod(*pod); });
    return ended;
}

void reconcile_pods(Pass& pass) {
    if (pass.workload == nullptr) {
        const bool any_started =
            std::any_of(pass.all.begin(), pass.all.end(),
                        [](const kube::ObjectPtr& pod) { return is_started_pod(*pod); });
        const auto end = end_of_pods(pass);
        if (end) {
            pass.finalize(pass.all);
        } else if (any_started) {
            stop(pass, "NoMatchingWorkload", "No matching Workload");
        } else if (!pass.is_prebuilt()) {
            create_workload(pass);
        }
        // Nobody counts them any more, and what would have ended them with it may be gone already.
        if (pass.is_prebuilt()) pass.finalize(ended_of(pass.all));
    } else if (pass.workload->is_terminating()) {
        // Who deletes the Workload of what runs or waits gives its pods up.
        if (!is_finished(pass.workload->value))
            stop(pass, "WorkloadDeleted", "Workload is deleted", Stopped::all);
        pass.finalize(pass.all);
    } else if (pass.is_prebuilt() && !(pass.is_group() && pass.is_serving()) && !is_in_sync(pass)) {
        end_out_of_sync(pass);
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

/// Whether what made the pod makes it again under its name, which is free when it is gone.
bool comes_back(const kube::Object& pod) {
    const std::string_view parent = pod.annotation(suspending_parent_annotation);
    return parent == "statefulset" || parent == leader_worker_framework;
}

bool goes(const kube::Cache& seen, const std::string& ns) {
    const kube::ObjectPtr found = seen.find({namespaces, "", ns});
    return found != nullptr && found->is_terminating();
}

Reconciled reconcile_one(const Settings& settings, const kube::Cache& seen, const api::Key& key,
                         Time now) {
    const kube::ObjectPtr pod = seen.find(key);
    if (pod == nullptr || !is_queued(*pod) || !group_of(*pod).empty()) return {};
    Pass pass{seen, settings, now, key, Pass::Members::one, {pod}};
    if (pod->is_terminating()) {
        pass.finalize(pass.all);
        return std::move(pass.result);
    }
    // Of which group it is may be said after it was made; it never waits by itself.
    if (pod->annotation(suspending_parent_annotation) == leader_worker_framework) return {};
    const std::string prebuilt(prebuilt_of(*pod));
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

Reconciled reconcile_group(const Settings& settings, const kube::Cache& seen, const api::Key& key,
                           Time now) {
    Pass pass{seen, settings, now, key, Pass::Members::group};
    for (const kube::ObjectPtr& pod : seen.by_index(pods, key.ns, group_of, key.name)) {
        if (is_queued(*pod)) pass.all.push_back(pod);
    }
    pass.workload = seen.find(key);
    if (pass.all.empty()) {
        end_group(pass);
        return std::move(pass.result);
    }
    // Some come back under their names, and in a namespace that goes nothing can stand in for them.
    Pods gone = ended_of(pass.all);
    if (!goes(seen, key.ns))
        std::erase_if(gone, [](const kube::ObjectPtr& pod) { return !comes_back(*pod); });
    pass.finalize(gone);
    reconcile_pods(pass);
    return std::move(pass.result);
}

std::vector<api::Key> key_of_pod(const kube::Object* before, const kube::Object* after) {
    const kube::Object& pod = after != nullptr ? *after : *before;
    if (!is_queued(pod)) return {};
    const std::string_view group = group_of(pod);
    if (!group.empty()) return {{workloads, pod.key.ns, std::string(group)}};
    return {pod.key};
}

/// All that queue by their pods in a namespace that goes.
std::vector<api::Key> keys_of_namespace(const kube::Cache& seen, const kube::Object* after) {
    std::vector<api::Key> keys;
    if (after == nullptr || !after->is_terminating()) return keys;
    for (const kube::ObjectPtr& pod : seen.list(pods, after->key.name)) {
        for (api::Key& key : key_of_pod(nullptr, pod.get()))
            keys.push_back(std::move(key));
    }
    return keys;
}

std::vector<api::Key> key_of_workload(const kube::Cache& seen, const kube::Object* before,
                                      const kube::Object* after) {
    const kube::Object& workload = after != nullptr ? *after : *before;
    const Value& owner = controller_of(workload.value);
    const std::string_view kind = owner["kind"].text_or("");
    if (kind == "Pod") return {{pods, workload.key.ns, owner["name"].text()}};
    if (kind == "StatefulSet" || kind == "LeaderWorkerSet" ||
        workload.annotation(group_workload_annotation) == "true")
        return {workload.key};
    if (!owner.is_null()) return {};
    std::vector<api::Key> keys;  // Made beforehand, for whoever names it.
    for (const kube::ObjectPtr& pod :
         seen.by_index(pods, workload.key.ns, prebuilt_of, workload.key.name)) {
        for (api::Key& key : key_of_pod(nullptr, pod.get()))
            keys.push_back(std::move(key));
    }
    return keys;
}

}  // namespace

Controller pod_controller(const Settings& settings) {
    Controller controller;
    controller.name = "v1/pod-kueue-controller";
    controller.watches = {
        Watch{pods, "v1",
              [](const kube::Cache&, const kube::Object* before, const kube::Object* after) {
                  return key_of_pod(before, after);
              }},
        Watch{workloads, std::string(kueue_version), key_of_workload},
        Watch{namespaces, "v1",
              [](const kube::Cache& seen, const kube::Object*, const kube::Object* after) {
                  return keys_of_namespace(seen, after);
              }}};
    controller.indexes = {{pods, group_of}, {pods, prebuilt_of}};
    controller.reconcile = [settings](const kube::Cache& seen, const api::Key& key, Time now) {
        return key.resource == pods ? reconcile_one(settings, seen, key, now)
                                    : reconcile_group(settings, seen, key, now);
    };
    return controller;
}

}  // namespace muster::control::queue

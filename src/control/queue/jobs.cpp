// control/queue/jobs.cpp - reconciling a queued job with its Workload.
#include "control/queue/jobs.h"

#include <optional>
#include <string>
#include <utility>

#include "api/guest_kinds.h"
#include "base/text.h"
#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/owner.h"
#include "control/queue/identifiers.h"
#include "control/queue/integration.h"
#include "control/queue/job_pass.h"
#include "control/queue/job_watches.h"
#include "control/queue/leader_worker_set.h"
#include "control/queue/life.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/orphans.h"
#include "control/queue/pod_groups.h"
#include "control/queue/serving.h"
#include "control/queue/slices.h"
#include "control/queue/start.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

using Pass = JobPass;

/// The workload that belongs to the job; a terminating one is only waited for.
struct Owned {
    kube::ObjectPtr workload;
    std::vector<kube::ObjectPtr> surplus;
    bool any_terminating = false;
};

Owned owned_workloads(const kube::Cache& seen, const JobKind& kind, const kube::Object& job) {
    Owned owned;
    const std::string name = workload_name(kind.kind, kind.resource.group, job.key.name, job.uid);
    for (kube::ObjectPtr& candidate : seen.owned_by(workloads, job.uid)) {
        if (candidate->is_terminating()) {
            owned.any_terminating = true;
        } else if (candidate->key.name == name || owned.workload == nullptr) {
            std::swap(owned.workload, candidate);
            if (candidate != nullptr) owned.surplus.push_back(std::move(candidate));
        } else {
            owned.surplus.push_back(std::move(candidate));
        }
    }
    return owned;
}

void stop_job(Pass& pass, std::string message) {
    if (pass.kind.suspend.empty() || pass.suspended()) return;
    Value wanted = pass.job.value;
    at_path(wanted, pass.kind.suspend) = true;
    pass.change_job(wanted);
    pass.tell("Stopped", std::move(message));
}

/// With a slice to replace only of an elastic job.
void create_workload(Pass& pass, const kube::Object* replaces = nullptr) {
    const auto priority = priority_or_tell(pass.seen, pass.job, pass.pod_sets, pass.result);
    if (!priority) return;
    if (pass.pod_sets.empty()) {
        pass.result.events.push_back({pass.job.key, "Warning", "ErrWorkloadCompose",
                                      "the job has no pods to queue for: nothing says how many "
                                      "pods it starts and what they need",
                                      ""});
        return;
    }
    Value made = new_workload(pass.kind, pass.job, pass.pod_sets, *priority);
    copy_labels(pass.settings.jobs.labels_to_copy, pass.job.value, made);
    if (is_elastic(pass.kind, pass.job.value)) make_slice(pass.kind, pass.job, replaces, made);
    const api::Key key{workloads, pass.job.key.ns, made["metadata"]["name"].text()};
    pass.tell("CreatedWorkload", "Created Workload: " + key.ns + "/" + key.name);
    pass.result.writes.push_back(creation_of_workload(key.ns, std::move(made)));
}

void end_workload(Pass& pass, const char* reason, const std::string& message) {
    Value status = pass.workload->value["status"];
    if (!set_condition(status.at("conditions"), {"Finished", "True", reason, message}, pass.now))
        return;
    pass.change_status(status);
    pass.tell("FinishedWorkload", "Workload '" + pass.workload_text() + "' is declared finished");
}

void finish_workload(Pass& pass, const JobEnd& end) {
    const bool succeeded = end.success == EndRule::Success::yes;
    const char* text = succeeded ? "Job finished successfully" : "Job failed";
    end_workload(pass, succeeded ? "Succeeded" : "Failed",
                 end.message.empty() ? text : end.message);
}

/// A waiting workload follows its job's templates, queue and priority.
void follow_job(Pass& pass) {
    Value wanted = pass.workload->value;
    Value& spec = wanted.at("spec");
    if (!agree(wanted, pass.pod_sets, Compare::everything)) {
        spec.set("podSets", to_pod_sets(pass.pod_sets));
        pass.tell("UpdatedWorkload",
                  "Updated not matching Workload for suspended job: " + pass.workload_text());
    }
    follow_metadata(pass.seen, pass.job.value, pass.pod_sets, wanted);
    pass.change_workload(wanted);
}

enum class Restored { in_this_pass, later };

/// Puts the templates back as the workload has them. A Job's may change only before its start: that
/// is taken back first, and the rest is decided when it is seen.
Restored restore_templates(Pass& pass) {
    const Value wanted = restored(pass.kind, pass.job.value, pass.workload->value);
    if (merge_patch_between(pass.job.value, wanted).empty()) return Restored::in_this_pass;
    if (pass.kind.resource == jobs && pass.job.value["status"].has("startTime")) {
        pass.result.writes.push_back(
            {.verb = Write::Verb::merge_patch,
             .key = pass.job.key,
             .api_version = "batch/v1",
             .subresource = "status",
             .body = Value::object({{"status", Value::object({{"startTime", nullptr}})}}),
             .version = pass.job.version,
             .uid = "",
             .propagation = ""});
        return Restored::later;
    }
    pass.change_job(wanted);
    return Restored::in_this_pass;
}

bool is_quiet(const Pass& pass) {
    const bool counts_none =
        pass.kind.active.empty() || pass.job.value.path(pass.kind.active).integer_or(0) == 0;
    if (!counts_none || !living_pods(pass.seen, pass.job.uid).empty()) return false;
    if (is_named_by_living_pods(pass.seen, *pass.workload)) return false;
    // What starts without a field to suspend it is stopped by removing what it made.
    return !pass.kind.suspend.empty() || !owns_jobs(pass.seen, pass.job.uid);
}

/// The quota goes back when the last process is gone.
void end_eviction(Pass& pass) {
    if (!pass.suspended()) {
        stop_job(pass, condition_of(pass.workload->value["status"], "Evicted")["message"].text());
        return;
    }
    if (!is_quiet(pass)) return;
    if (restore_templates(pass) == Restored::later) return;
    Value status = pass.workload->value["status"];
    clear_admission(status, pass.now);
    pass.change_status(status);
}

void start_job(Pass& pass) {
    if (pass.kind.suspend.empty()) return;
    const Started start = started(pass.seen, pass.kind, pass.job, *pass.workload);
    if (!start.conflict.empty()) {
        end_workload(pass, "FailedToStart", start.conflict);
        return;
    }
    if (!start.job) {
        pass.result.look_again = seconds(1);
        return;
    }
    pass.change_job(*start.job);
    pass.tell("Started", "Admitted by clusterQueue " +
                             pass.workload->value.path("status.admission.clusterQueue").text());
}

void report_progress(Pass& pass) {
    Value status = pass.workload->value["status"];
    set_pods_ready(status, are_pods_ready(pass.kind, pass.job.value), pass.now);
    Value done = Value::array();
    if (pass.kind.find_reclaimable != nullptr) {
        for (const ReclaimablePods& pods :
             pass.kind.find_reclaimable(pass.job.value, pass.pod_sets))
            done.push(Value::object({{"name", pods.pod_set}, {"count", pods.count}}));
    }
    if (!done.empty()) status.set("reclaimablePods", std::move(done));
    pass.change_status(status);
}

/// The job was changed under a workload that holds quota: it starts over with a new one.
void start_over(Pass& pass) {
    stop_job(pass, "No matching Workload; restoring pod templates according to existent Workload");
    pass.tell("DeletedWorkload", "Deleted not matching Workload: " + pass.workload_text());
    pass.remove(*pass.workload);
}

/// What the admission checks say while they are pending.
void tell_checks(Pass& pass) {
    std::vector<std::string> parts;
    for (const Value& check : pass.workload->value["status"]["admissionChecks"].items()) {
        const std::string message = check["message"].text();
        if (check["state"].text_or("") == "Pending" && !message.empty())
            parts.push_back(check["name"].text() + ": " + message);
    }
    if (!parts.empty()) pass.tell("UpdatedAdmissionCheck", join(parts, "; "));
}

/// Then nothing is known of its pods: they stay as they are.
bool runs_by_what_is_not_seen(const Pass& pass) {
    return pass.kind.find_pod_sets_by != nullptr && pass.pod_sets.empty();
}

void reconcile_with_workload(Pass& pass) {
    const Value& workload = pass.workload->value;
    const bool holds = has_admission(workload);
    if (is_finished(workload)) {
        stop_job(pass, "The workload is finished");
    } else if (holds && is_evicted(workload)) {
        end_eviction(pass);
    } else if (runs_by_what_is_not_seen(pass)) {
        return;
    } else if (holds && !agree(workload, pass.pod_sets, Compare::counts_and_requests)) {
        start_over(pass);
    } else if (is_admitted(workload)) {
        if (pass.suspended()) {
            start_job(pass);
        } else {
            report_progress(pass);
        }
    } else if (!pass.suspended()) {
        stop_job(pass, "Not admitted by cluster queue");
    } else if (holds) {
        tell_checks(pass);
    } else {
        follow_job(pass);
    }
}

/// A job that was deactivated, and not by a person, may be kept for a while only.
bool outlives_retention(Pass& pass) {
    const auto until = removed_at(pass.workload->value, pass.settings.life.retention);
    if (!until || is_finished(pass.workload->value)) return false;
    if (*until > pass.now) {
        pass.result.look_again = *until - pass.now;
        return false;
    }
    pass.tell("Deleted", "Deleted job: deactivation retention period expired");
    pass.remove(pass.job, "Background");
    return true;
}

void finish_as_out_of_sync(Pass& pass) {
    Value status = pass.workload->value["status"];
    set_condition(status.at("conditions"),
                  {"Finished", "True", "OutOfSync", std::string(out_of_sync_text)}, pass.now);
    pass.change_status(status);
}

/// The Workload that somebody else made for the job becomes its own. Null when there is none, when
/// another job has it, or when it asks for something else.
kube::ObjectPtr adopt_prebuilt(Pass& pass, const std::string& name) {
    pass.workload = pass.seen.find({workloads, pass.job.key.ns, name});
    if (pass.workload == nullptr || pass.workload->is_terminating()) return nullptr;
    const Value& owner = controller_of(pass.workload->value);
    if (owner.is_null()) {
        Value wanted = pass.workload->value;
        Value& metadata = wanted.at("metadata");
        metadata.at("ownerReferences").push(owner_reference(pass.job));
        metadata.at("labels").set(job_uid_label, pass.job.uid);
        pass.change_workload(wanted);
        return nullptr;  // It is looked at again when it is seen as the job's own.
    }
    if (owner["uid"].text_or("") != pass.job.uid) return nullptr;
    const Compare how = pass.suspended() ? Compare::everything : Compare::counts_and_requests;
    if (!is_finished(pass.workload->value) && !agree(pass.workload->value, pass.pod_sets, how)) {
        finish_as_out_of_sync(pass);
        return nullptr;
    }
    return pass.workload;
}

void reconcile_prebuilt(Pass& pass, const std::string& name) {
    pass.workload = adopt_prebuilt(pass, name);
    if (pass.workload == nullptr) {
        stop_job(pass, "missing workload");
        return;
    }
    if (const auto end = end_of(pass.kind, pass.job.value)) {
        if (!is_finished(pass.workload->value)) finish_workload(pass, *end);
        return;
    }
    reconcile_with_workload(pass);
}

/// What a queued job has made runs only while that has its quota.
void stop_part(Pass& pass, const Above& above) {
    if (pass.kind.suspend.empty() || pass.suspended() || queue_name_of(above.object).empty())
        return;
    const JobKind* whole = find_job_kind(above.managed.resource);
    if (end_of(pass.kind, pass.job.value) || (whole != nullptr && end_of(*whole, above.object)))
        return;
    const std::string uid = above.object["metadata"]["uid"].text();
    for (const kube::ObjectPtr& workload : pass.seen.owned_by(workloads, uid)) {
        if (is_admitted(workload->value)) return;
    }
    Value wanted = pass.job.value;
    at_path(wanted, pass.kind.suspend) = true;
    pass.change_job(wanted);
    pass.tell("Suspended", "Kueue managed child job suspended");
}

void tell_too_deep(Pass& pass) {
    pass.result.events.push_back(
        {pass.job.key, "Warning", "JobNestingTooDeep",
         "Terminated search for Kueue-managed Job because ancestor depth exceeded limit of " +
             std::to_string(owners_max),
         ""});
}

/// What was told of pods that are done is too much once the job has shrunk. One that waits says so
/// before it asks for fewer: it would be admitted for less than it needs.
bool lower_reclaimable(Pass& pass) {
    if (pass.kind.find_reclaimable == nullptr) return false;
    const auto done = pass.kind.find_reclaimable(pass.job.value, pass.pod_sets);
    for (const kube::ObjectPtr& slice : slices_of(pass.seen, pass.job.uid)) {
        auto lowered = lowered_reclaimable(*slice, done);
        if (!lowered) continue;
        pass.workload = slice;
        Value status = slice->value["status"];
        status.set("reclaimablePods", std::move(*lowered));
        pass.change_status(status);
        return true;
    }
    return false;
}

/// A job that may be scaled while it runs has a slice for each time that it grew.
void reconcile_slices(Pass& pass) {
    if (const auto end = end_of(pass.kind, pass.job.value)) {
        for (const kube::ObjectPtr& slice : slices_of(pass.seen, pass.job.uid)) {
            pass.workload = slice;
            finish_workload(pass, *end);
        }
        return;
    }
    if (lower_reclaimable(pass)) return;
    SliceStep step = next_step(pass.seen, pass.job, pass.pod_sets, pass.now);
    for (Write& write : step.writes)
        pass.result.writes.push_back(std::move(write));
    for (Event& event : step.events)
        pass.result.events.push_back(std::move(event));
    pass.workload = step.current;
    if (step.then == SliceStep::Then::create) {
        if (step.replaces == nullptr)
            stop_job(pass, "Missing Workload; unable to restore pod templates");
        create_workload(pass, step.replaces.get());
    } else if (step.then == SliceStep::Then::wait && slices_of(pass.seen, pass.job.uid).empty()) {
        stop_job(pass, "Missing Workload; unable to restore pod templates");
    } else if (step.then == SliceStep::Then::go_on) {
        reconcile_with_workload(pass);
        if (!is_admitted(pass.workload->value) || is_evicted(pass.workload->value)) return;
        for (Write& write : open_gates(pass.seen, pass.job, *pass.workload))
            pass.result.writes.push_back(std::move(write));
    }
}

void reconcile_own(Pass& pass) {
    if (is_elastic(pass.kind, pass.job.value)) {
        reconcile_slices(pass);
        return;
    }
    Owned owned = owned_workloads(pass.seen, pass.kind, pass.job);
    pass.workload = owned.workload;
    if (const auto end = end_of(pass.kind, pass.job.value)) {
        if (pass.workload != nullptr && !is_finished(pass.workload->value))
            finish_workload(pass, *end);
        return;
    }
    for (const kube::ObjectPtr& surplus : owned.surplus) {
        pass.tell("DeletedWorkload",
                  "Deleted not matching Workload: " + pass.job.key.ns + "/" + surplus->key.name);
        pass.remove(*surplus);
    }
    if (pass.workload != nullptr) {
        if (outlives_retention(pass)) return;
        reconcile_with_workload(pass);
    } else {
        stop_job(pass, "Missing Workload; unable to restore pod templates");
        if (!owned.any_terminating) create_workload(pass);
    }
}

Reconciled reconcile(const JobKind& kind, const Settings& settings, const kube::Cache& seen,
                     const api::Key& key, Time now) {
    const kube::ObjectPtr job = seen.find(key);
    const FindObject find = find_in(seen);
    const JobRules& rules = settings.jobs;
    if (job == nullptr || job->is_terminating() || is_left_alone(kind, job->value) ||
        !manages_namespace(rules, key.ns, find)) {
        return {};
    }
    const Above above = find_above(job->value, key.ns, find);
    Pass pass{kind, seen, *job, settings, now, pod_sets_now(seen, kind, *job)};
    const std::string prebuilt(prebuilt_of(*job));
    if (above.end == Above::End::too_deep) {
        tell_too_deep(pass);
    } else if (!above.managed.name.empty()) {
        stop_part(pass, above);
    } else if (queue_name_of(job->value).empty() &&
               !must_find_queue(rules, kind, job->value, key.ns, find)) {
        return {};
    } else if (!prebuilt.empty()) {
        reconcile_prebuilt(pass, prebuilt);
    } else {
        reconcile_own(pass);
    }
    return std::move(pass.result);
}

Controller job_controller(const JobKind& kind, const Settings& settings) {
    Controller controller;
    controller.name = kind.resource.group + "/" + std::string(kind.kind);
    for (char& c : controller.name)
        c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    controller.name += "-kueue-controller";
    const JobKind* table = &kind;
    controller.watches = {
        watch_self(kind.resource, std::string(kind.version)),
        watch_owned(workloads, std::string(kueue_version), kind.resource),
        {workloads, std::string(kueue_version),
         [table](const kube::Cache& seen, const kube::Object*, const kube::Object* after) {
             return jobs_of_prebuilt(*table, seen, after);
         }}};
    controller.indexes = {
        {kind.resource, prebuilt_of}, {pods, workload_named_by}, {workloads, first_slice_of}};
    controller.watches.push_back(
        {pods, "v1",
         [table](const kube::Cache& seen, const kube::Object* before, const kube::Object* after) {
             return jobs_above(*table, seen, before, after);
         }});
    controller.watches.push_back(
        {workload_priority_classes, std::string(kueue_version),
         [table](const kube::Cache& seen, const kube::Object* before, const kube::Object* after) {
             return jobs_of_class(*table, seen, before, after);
         }});
    controller.watches.push_back(
        {priority_classes, "v1", [](const kube::Cache&, const kube::Object*, const kube::Object*) {
             return std::vector<api::Key>();  // A job that misses one looks again by itself.
         }});
    controller.watches.push_back(
        {namespaces, "v1",
         [table, rules = settings.jobs](const kube::Cache& seen, const kube::Object* before,
                                        const kube::Object* after) {
             return jobs_in_namespace(table->resource, rules, seen, before, after);
         }});
    for (const api::GroupResource& other : kind.runs_by) {
        controller.watches.push_back(
            {other, api::find_known_kind(other.group, other.plural)->storage,
             [table](const kube::Cache& seen, const kube::Object* before,
                     const kube::Object* after) {
                 return jobs_run_by(*table, seen, after != nullptr ? *after : *before);
             }});
    }
    for (const JobKind& child : job_kinds()) {
        const bool runs_always = child.resource == jobs || child.resource == ray_clusters;
        // What has no field to suspend it is quiet when it has none of these any more.
        const bool counts = child.start == JobKind::Start::unsuspended && kind.suspend.empty() &&
                            manages(settings.jobs, child);
        if (child.resource != kind.resource && (runs_always || counts))
            controller.watches.push_back(
                watch_owned(child.resource, std::string(child.version), kind.resource));
    }
    controller.reconcile = [table, settings](const kube::Cache& seen, const api::Key& key,
                                             Time now) {
        return reconcile(*table, settings, seen, key, now);
    };
    return controller;
}

}  // namespace

std::vector<Controller> job_controllers(const Settings& settings) {
    const JobRules& rules = settings.jobs;
    std::vector<Controller> controllers;
    for (const JobKind& kind : job_kinds()) {
        using Start = JobKind::Start;
        if (!manages(rules, kind)) continue;
        if (kind.start == Start::unsuspended || kind.start == Start::told)
            controllers.push_back(job_controller(kind, settings));
    }
    if (!rules.frameworks || rules.frameworks->contains("pod"))
        controllers.push_back(pod_controller(settings));
    if (!rules.frameworks || rules.frameworks->contains("statefulset"))
        controllers.push_back(stateful_set_controller(settings));
    if (!rules.frameworks || rules.frameworks->contains(std::string(leader_worker_framework)))
        controllers.push_back(leader_worker_set_controller(settings));
    controllers.push_back(orphan_controller(settings.life));
    return controllers;
}

}  // namespace muster::control::queue

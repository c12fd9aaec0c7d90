// control/cluster/job.cpp - the Job controllers: one pass over a Job, put into writes.
#include "control/cluster/job.h"

#include <optional>
#include <utility>

#include "api/owner.h"
#include "control/cluster/job_pass.h"
#include "control/cluster/job_pods.h"
#include "control/cluster/resources.h"
#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/refusal.h"

namespace muster::control::cluster {
namespace {

constexpr std::string_view own_manager = "kubernetes.io/job-controller";

bool is_ours(const kube::Object& job) {
    return job.value["spec"]["managedBy"].text_or(own_manager) == own_manager;
}

/// A member of the owner reference of the controlling Job; empty when the pod has none.
std::string_view job_of(const kube::Object& pod, std::string_view member) {
    const api::Value& owner = api::controller_of(pod.value);
    return owner["kind"].text_or("") == "Job" ? owner[member].text_or("") : std::string_view();
}

Write release(const kube::Object& pod) {
    Write write;
    write.verb = Write::Verb::merge_patch;
    write.key = pod.key;
    write.api_version = "v1";
    write.version = pod.version;
    write.body.at("metadata").set("finalizers", without_tracking(pod));
    return write;
}

/// Absent when there is nothing to change.
std::optional<Write> status_write(const kube::Object& job, const api::Value& before,
                                  const api::Value& after) {
    api::Value patch = merge_patch_between(before, after);
    if (patch.empty()) return std::nullopt;
    Write write;
    write.verb = Write::Verb::merge_patch;
    write.key = job.key;
    write.api_version = "batch/v1";
    write.subresource = "status";
    write.body.set("status", std::move(patch));
    return write;
}

Reconciled reconcile_finished(const kube::Cache& seen, const kube::Object& job) {
    Reconciled result;
    for (const kube::ObjectPtr& pod : seen.owned_by(pods, job.uid)) {
        if (is_tracked(*pod)) result.writes.push_back(release(*pod));
    }
    return result;
}

/// The pass's writes, in an order in which a crash between any two of them does no harm.
Reconciled in_order(JobPass& pass) {
    Reconciled result;
    const api::Value& before = pass.job.value["status"];
    const api::Value* known = &before;
    if (!pass.to_release.empty()) {
        if (auto write = status_write(pass.job, before, pass.noted)) {
            result.writes.push_back(std::move(*write));
            known = &pass.noted;
        }
        for (const kube::ObjectPtr& pod : pass.to_release)
            result.writes.push_back(release(*pod));
    }
    if (pass.refused_before) {
        // Creating pods may fail again and end the run: what is known is told first.
        const std::int64_t active = pass.status["active"].integer_or(0) - pass.created;
        pass.status.set("active", active);
    }
    auto last = status_write(pass.job, *known, pass.status);
    if (last && pass.refused_before) {
        result.writes.push_back(std::move(*last));
        last.reset();
    }
    for (Write& write : pass.writes)
        result.writes.push_back(std::move(write));
    if (last) result.writes.push_back(std::move(*last));
    for (Write& write : result.writes) {
        // The first status write demands the version that was seen; those after it follow from it.
        if (write.key != pass.job.key) continue;
        write.version = pass.job.version;
        break;
    }
    result.events = std::move(pass.events);
    result.look_again = pass.look_again;
    return result;
}

Reconciled reconcile_job(const kube::Cache& seen, const api::Key& key, Time now,
                         const ClusterOptions& options) {
    const kube::ObjectPtr job = seen.find(key);
    if (!seen.synced() || job == nullptr || !is_ours(*job)) return {};
    if (is_finished_job(*job)) return reconcile_finished(seen, *job);
    JobPass pass(seen, *job, options, now);
    count_pods(pass);
    begin(pass);
    judge(pass);
    manage_pods(pass);
    conclude(pass);
    return in_order(pass);
}

Reconciled release_pod(const kube::Cache& seen, const api::Key& key, Time) {
    const kube::ObjectPtr pod = seen.find(key);
    if (!seen.synced() || pod == nullptr || !is_tracked(*pod)) return {};
    const std::string_view uid = job_of(*pod, "uid");
    if (!uid.empty()) {
        const kube::ObjectPtr job = seen.find({jobs, key.ns, std::string(job_of(*pod, "name"))});
        const bool has_job = job != nullptr && job->uid == uid;
        // Of a Job that is gone the garbage collector makes sure, and deletes its pods.
        if (has_job || !pod->is_terminating()) return {};
    }
    Reconciled result;
    result.writes.push_back(release(*pod));
    return result;
}

Reconciled reconcile_ttl(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr job = seen.find(key);
    if (job == nullptr || job->is_terminating() || !is_finished_job(*job)) return {};
    const api::Value& ttl = job->value["spec"]["ttlSecondsAfterFinished"];
    if (!ttl.is_integer()) return {};
    const api::Value& status = job->value["status"];
    const api::Value& complete = condition_of(status, "Complete");
    const bool completed = complete["status"].text_or("") == "True";
    const api::Value& ending = completed ? complete : condition_of(status, "Failed");
    const Time finished = fold_time(ending["lastTransitionTime"]);
    Reconciled result;
    const Duration left = finished + seconds(ttl.as_integer()) - now;
    if (left > Duration{}) {
        result.look_again = left;
        return result;
    }
    Write write;
    write.verb = Write::Verb::remove;
    write.key = key;
    write.api_version = "batch/v1";
    write.uid = job->uid;
    write.propagation = "Foreground";
    result.writes.push_back(std::move(write));
    return result;
}

api::Admission refuse_unserved(const api::AdmissionRequest& request) {
    if (request.kind->resource() != jobs || !request.subresource.empty()) return {};
    if (request.operation == api::AdmissionRequest::Operation::remove) return {};
    const api::Value& spec = request.object["spec"];
    for (const char* field : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
        if (!spec.has(field) || spec[field].is_null()) continue;
        return refuse_field(std::string("spec.") + field,
                            ": leave it out and use spec.backoffLimit, which counts the failures "
                            "of all indexes together");
    }
    return {};
}

}  // namespace

bool is_finished_job(const kube::Object& job) {
    const api::Value& status = job.value["status"];
    return condition_of(status, "Complete")["status"].text_or("") == "True" ||
           condition_of(status, "Failed")["status"].text_or("") == "True";
}

Controller job_controller(const ClusterOptions& options) {
    Controller controller;
    controller.name = job_controller_name;
    controller.watches = {watch_self(jobs, "v1"), watch_owned(pods, "v1", jobs)};
    controller.reconcile = [options](const kube::Cache& seen, const api::Key& key, Time now) {
        return reconcile_job(seen, key, now, options);
    };
    return controller;
}

Controller job_pod_release_controller() {
    Controller controller;
    controller.name = "job-pod-release";
    Watch when_job_goes{jobs, "v1", {}};
    when_job_goes.wakes = [](const kube::Cache& seen, const kube::Object* before,
                             const kube::Object* after) {
        std::vector<api::Key> keys;
        if (after != nullptr) return keys;
        for (const kube::ObjectPtr& pod : seen.owned_by(pods, before->uid))
            keys.push_back(pod->key);
        return keys;
    };
    Watch tracked_pods{pods, "v1", {}};
    tracked_pods.wakes = [](const kube::Cache&, const kube::Object*, const kube::Object* after) {
        if (after == nullptr || !is_tracked(*after)) return std::vector<api::Key>{};
        return std::vector<api::Key>{after->key};
    };
    controller.watches = {std::move(when_job_goes), std::move(tracked_pods)};
    controller.reconcile = release_pod;
    return controller;
}

Controller job_ttl_controller() {
    Controller controller;
    controller.name = "ttl-after-finished-controller";
    controller.watches = {watch_self(jobs, "v1")};
    controller.reconcile = reconcile_ttl;
    return controller;
}

api::AdmissionHook job_admission() {
    return refuse_unserved;
}

}  // namespace muster::control::cluster

// control/ray/job.cpp - the life of a RayJob, one deployment status a function.
#include "control/ray/job.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "api/json.h"
#include "control/owner.h"
#include "control/ray/job_pass.h"
#include "control/ray/names.h"
#include "control/ray/submitter.h"
#include "control/ray/validate.h"

namespace muster::control::ray {
namespace {

using api::Value;

constexpr std::string_view finalizer = "ray.io/rayjob-finalizer";
/// How long the dashboard may be silent, and how long a submitter may be gone before its job is
/// given up.
constexpr Duration status_timeout = seconds(300);
constexpr Duration submitter_grace = seconds(30);

void start(JobPass& pass) {
    const Value& spec = pass.spec();
    const std::string attempt =
        "attempt/" + std::to_string(pass.status["failed"].integer_or(0)) + "/" +
        std::to_string(pass.job.value["metadata"]["generation"].integer_or(1));
    const std::string suffix = derived_suffix(pass.job.uid, attempt);
    const std::string given = spec["jobId"].text();
    pass.status.set("jobId", given.empty() ? pass.job.key.name + "-" + suffix : given);
    pass.status.set("rayClusterName", pass.has_own_cluster()
                                          ? pass.job.key.name + "-" + suffix
                                          : spec["clusterSelector"][cluster_label].text());
    pass.status.set("startTime", to_rfc3339(pass.now));
    pass.status.set("jobStatus", "");
    pass.status.erase("endTime");
    set_deployment(pass, "Initializing");
}

void create_cluster(JobPass& pass) {
    const api::Key key{clusters, pass.job.key.ns, pass.text("rayClusterName")};
    const Value labels = Value::object(
        {{"ray.io/originated-from-cr-name", pass.job.key.name},
         {"ray.io/originated-from-crd", "RayJob"},
         {"ray.io/job-submission-mode", pass.spec()["submissionMode"].text_or("K8sJobMode")}});
    const Value metadata =
        Value::object({{"name", key.name},
                       {"namespace", key.ns},
                       {"labels", labels},
                       {"ownerReferences", Value::array({owner_reference(pass.job)})}});
    Value body = Value::object({{"apiVersion", "ray.io/v1"},
                                {"kind", "RayCluster"},
                                {"metadata", metadata},
                                {"spec", pass.spec()["rayClusterSpec"]}});
    pass.event("Normal", "CreatedRayCluster", "Created RayCluster " + key.ns + "/" + key.name,
               "Create");
    pass.result.writes.push_back(
        {Write::Verb::create, key, "ray.io/v1", "", std::move(body), 0, "", ""});
}

void submit(JobPass& pass) {
    const std::string id = pass.text("jobId");
    if (!pass.uses_submitter()) {
        const std::string call_id = "rayjob-submit/" + pass.job.uid + "/" + id;
        const kube::Object* answer = find_answer(pass.seen, call_id);
        if (answer == nullptr) {
            pass.result.calls.push_back({call_id, "POST", pass.url("/api/jobs/"),
                                         api::to_json(submission(pass.job, id)), pass.job.key});
            return;
        }
        const std::int64_t code = answer->value["status"].integer_or(0);
        const std::string body = answer->value["body"].text();
        if (code == 200 || body.find("different submission_id") != std::string::npos) {
            set_deployment(pass, "Running");
        } else if (code == 0 || code >= 500) {
            // The dashboard is not there yet: ask again, but not at once.
            const auto at = time_of(answer->value["at"]);
            if (at && pass.now - *at < poll_period) {
                pass.look_again(poll_period - (pass.now - *at));
            } else {
                pass.result.calls.push_back({call_id, "POST", pass.url("/api/jobs/"),
                                             api::to_json(submission(pass.job, id)), pass.job.key});
            }
        } else {
            fail(pass, "SubmissionFailed", "The Ray dashboard refused the job: " + body);
        }
        return;
    }
    const kube::ObjectPtr present = pass.submitter();
    if (present != nullptr && !present->is_terminating()) {
        set_deployment(pass, "Running");
        return;
    }
    if (const kube::Object* refusal =
            find_refusal(pass.seen, rayjob_controller_name, pass.submitter_key())) {
        fail(pass, "SubmissionFailed",
             "The submitter Job was refused: " + refusal->value["message"].text());
        return;
    }
    pass.event("Normal", "CreatedRayJobSubmitter",
               "Created Kubernetes Job " + to_text(pass.submitter_key()), "Create");
    pass.result.writes.push_back({Write::Verb::create, pass.submitter_key(), "batch/v1", "",
                                  submitter_job(pass.job, id, pass.text("dashboardURL")), 0, "",
                                  ""});
}

void initialize(JobPass& pass) {
    if (missed_deadline(pass, Deadline::before_running)) return;
    const kube::ObjectPtr cluster = pass.cluster();
    if (cluster == nullptr) {
        if (pass.has_own_cluster()) {
            create_cluster(pass);
        } else {
            pass.event("Warning", "RayClusterNotFound",
                       "RayCluster " + pass.text("rayClusterName") + " not found", "Reconcile");
            pass.look_again(seconds(3));
        }
        return;
    }
    pass.status.set("rayClusterStatus", cluster->value["status"]);
    const std::string_view state = cluster->value["status"]["state"].text_or("");
    if (state == "failed") {
        set_deployment(pass, "Initializing", "", cluster->value["status"]["reason"].text());
        return;
    }
    if (state != "ready") return;
    const std::string service = cluster->value["status"]["head"]["serviceName"].text();
    const std::string host = service.empty()
                                 ? head_service_host(cluster->key.name, cluster->key.ns)
                                 : service + "." + cluster->key.ns + ".svc.cluster.local";
    pass.status.set("dashboardURL", host + ":8265");
    submit(pass);
}

bool has_condition(const kube::Object& job, std::string_view type) {
    const auto& conditions = job.value["status"]["conditions"].items();
    return std::any_of(conditions.begin(), conditions.end(), [&](const Value& condition) {
        return condition["type"].text_or("") == type && condition["status"].text_or("") == "True";
    });
}

/// The dashboard has been silent for too long.
bool timed_out(JobPass& pass, const RayState& ray) {
    constexpr std::string_view since = "jobStatusCheckFailureStartTime";
    if (ray.answered) {
        pass.status.erase(since);
        return false;
    }
    const auto start = time_of(pass.status[since]);
    if (!start) {
        pass.status.set(since, to_rfc3339(pass.now));
        return false;
    }
    if (pass.now - *start < status_timeout) return false;
    fail(pass, "JobStatusCheckTimeoutExceeded",
         "The Ray dashboard at " + pass.text("dashboardURL") + " has not answered for 300 seconds");
    return true;
}

void finish(JobPass& pass, const RayState& ray) {
    pass.status.set("endTime", to_rfc3339(pass.now));
    if (ray.status == "FAILED") {
        fail(pass, "AppFailed", ray.message);
        return;
    }
    pass.status.set("succeeded", pass.status["succeeded"].integer_or(0) + 1);
    set_deployment(pass, "Complete", "", ray.message);
}

/// The submitter is over although the job is not: its failure counts only when Ray does not know
/// the job.
void check_submitter(JobPass& pass, const RayState& ray, const kube::Object& submitter) {
    const bool failed = has_condition(submitter, "Failed");
    if (!failed && !has_condition(submitter, "Complete")) return;
    if (failed && ray.answered && !ray.known) {
        fail(pass, "SubmissionFailed",
             "The submitter Job failed before Ray knew the job; see its pod's log");
        return;
    }
    if (!ray.answered || ray.known) return;
    const auto ended = time_of(submitter.value["status"]["completionTime"]);
    if (ended && pass.now - *ended > submitter_grace) {
        fail(pass, "JobDeploymentStatusTransitionGracePeriodExceeded",
             "The submitter has finished, but the Ray cluster does not know the job: its head was "
             "replaced");
    }
}

void run(JobPass& pass) {
    if (missed_deadline(pass, Deadline::while_running)) return;
    const kube::ObjectPtr cluster = pass.cluster();
    if (cluster == nullptr) {
        fail(pass, "AppFailed", "RayCluster " + pass.text("rayClusterName") + " is gone");
        return;
    }
    pass.status.set("rayClusterStatus", cluster->value["status"]);
    const RayState ray = poll(pass);
    if (timed_out(pass, ray)) return;
    if (ray.known) pass.status.set("jobStatus", ray.status);
    const kube::ObjectPtr submitter = pass.uses_submitter() ? pass.submitter() : nullptr;
    const bool submitter_over = submitter == nullptr || has_condition(*submitter, "Complete") ||
                                has_condition(*submitter, "Failed");
    if (ray.known && ray.terminal()) {
        // The logs are complete only when the submitter that streams them has ended.
        if (submitter_over) finish(pass, ray);
        return;
    }
    if (submitter != nullptr) check_submitter(pass, ray, *submitter);
}

/// Deletes what this try made. True when all of it is gone.
bool clean(JobPass& pass) {
    bool gone = true;
    if (const kube::ObjectPtr cluster = pass.cluster();
        cluster != nullptr && pass.has_own_cluster()) {
        pass.remove(*cluster, "ray.io/v1", "DeletedRayCluster");
        gone = false;
    }
    if (const kube::ObjectPtr submitter = pass.submitter()) {
        pass.remove(*submitter, "batch/v1", "DeletedRayJobSubmitter");
        gone = false;
    }
    // Pods outlive their cluster's object while they end; two tries must never run side by side.
    for (const kube::ObjectPtr& pod : pass.seen.list(pods, pass.job.key.ns)) {
        if (pass.has_own_cluster() && pod->label(cluster_label) == pass.text("rayClusterName"))
            gone = false;
    }
    return gone;
}

void begin_again(JobPass& pass, std::string_view deployment) {
    for (const char* field : {"jobId", "rayClusterName", "dashboardURL", "rayClusterStatus",
                              "rayJobInfo", "jobStatus"}) {
        pass.status.erase(field);
    }
    pass.status.set("jobDeploymentStatus", deployment);
}

void retire(JobPass& pass) {
    if (!pass.spec()["shutdownAfterJobFinishes"].boolean_or(false) || !pass.has_own_cluster())
        return;
    const kube::ObjectPtr cluster = pass.cluster();
    if (cluster == nullptr) return;
    const auto ended = time_of(pass.status["endTime"]);
    const Time due =
        ended.value_or(pass.now) + seconds(pass.spec()["ttlSecondsAfterFinished"].integer_or(0));
    if (due > pass.now) {
        pass.look_again(due - pass.now);
    } else {
        pass.remove(*cluster, "ray.io/v1", "DeletedRayCluster");
    }
}

void step(JobPass& pass) {
    const std::string deployment = pass.text("jobDeploymentStatus");
    const bool suspend = pass.spec()["suspend"].boolean_or(false);
    if (deployment.empty() || deployment == "ValidationFailed") {
        if (suspend) {
            set_deployment(pass, "Suspended");
        } else {
            start(pass);
        }
    } else if (suspend && (deployment == "Initializing" || deployment == "Running")) {
        set_deployment(pass, "Suspending");
    } else if (deployment == "Initializing") {
        initialize(pass);
    } else if (deployment == "Running") {
        run(pass);
    } else if (deployment == "Retrying") {
        if (clean(pass)) begin_again(pass, "");
    } else if (deployment == "Suspending") {
        if (clean(pass)) begin_again(pass, "Suspended");
    } else if (deployment == "Suspended") {
        if (!suspend) begin_again(pass, "");
    } else {
        retire(pass);
    }
}

void write_status(JobPass& pass) {
    pass.status.set("observedGeneration", pass.job.value["metadata"]["generation"].integer_or(1));
    if (pass.status == pass.job.value["status"]) return;
    Value body = pass.job.value;
    body.set("status", pass.status);
    pass.result.writes.push_back({Write::Verb::update, pass.job.key, "ray.io/v1", "status",
                                  std::move(body), pass.job.version, "", ""});
}

/// A job on somebody else's cluster must be stopped there before its object goes.
void end(JobPass& pass) {
    const Value& finalizers = pass.job.value["metadata"]["finalizers"];
    Value others = Value::array();
    for (const Value& name : finalizers.items()) {
        if (name.text_or("") != finalizer) others.push(name);
    }
    if (others.size() == finalizers.size()) return;
    const std::string call_id = "rayjob-stop/" + pass.job.uid;
    const bool running = pass.text("jobDeploymentStatus") == "Running" && pass.cluster() != nullptr;
    if (running && find_answer(pass.seen, call_id) == nullptr) {
        pass.result.calls.push_back({call_id, "POST",
                                     pass.url("/api/jobs/" + pass.text("jobId") + "/stop"), "",
                                     pass.job.key});
        return;
    }
    Value patch;
    patch.at("metadata").set("finalizers", std::move(others));
    pass.result.writes.push_back({Write::Verb::merge_patch, pass.job.key, "ray.io/v1", "",
                                  std::move(patch), pass.job.version, "", ""});
}

bool needs_finalizer(const JobPass& pass) {
    if (pass.has_own_cluster()) return false;
    const auto& present = pass.job.value["metadata"]["finalizers"].items();
    return std::none_of(present.begin(), present.end(),
                        [](const Value& name) { return name.text_or("") == finalizer; });
}

Reconciled reconcile(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr job = seen.find(key);
    if (job == nullptr || !is_managed_here(job->value)) return {};
    JobPass pass{seen, *job, now, job->value["status"], {}};
    if (pass.status.is_null()) pass.status = Value::object();
    if (job->is_terminating()) {
        end(pass);
        return std::move(pass.result);
    }
    const std::string deployment = pass.text("jobDeploymentStatus");
    const bool over = deployment == "Complete" || deployment == "Failed";
    const auto problem = over ? std::nullopt : check_job(job->value);
    if (problem && (deployment.empty() || deployment == "ValidationFailed")) {
        if (pass.text("message") != problem->message)
            pass.event("Warning", problem->reason, problem->message, "Validate");
        set_deployment(pass, "ValidationFailed", "ValidationFailed", problem->message);
    } else if (needs_finalizer(pass)) {
        Value finalizers = job->value["metadata"]["finalizers"];
        finalizers.push(finalizer);
        Value patch;
        patch.at("metadata").set("finalizers", std::move(finalizers));
        pass.result.writes.push_back({Write::Verb::merge_patch, key, "ray.io/v1", "",
                                      std::move(patch), job->version, "", ""});
        return std::move(pass.result);
    } else {
        step(pass);
    }
    write_status(pass);
    return std::move(pass.result);
}

std::vector<api::Key> job_of_pod(const kube::Cache& seen, const kube::Object* before,
                                 const kube::Object* after) {
    // Only a pod's end matters here: a retry waits for it.
    if (after != nullptr || before->label(cluster_label).empty()) return {};
    std::vector<api::Key> keys;
    for (const kube::ObjectPtr& job : seen.list(rayjobs, before->key.ns)) {
        if (job->value["status"]["rayClusterName"].text_or("") == before->label(cluster_label))
            keys.push_back(job->key);
    }
    return keys;
}

std::vector<api::Key> jobs_of_cluster(const kube::Cache& seen, const kube::Object* before,
                                      const kube::Object* after) {
    const kube::Object& cluster = after != nullptr ? *after : *before;
    std::vector<api::Key> keys;
    for (const kube::ObjectPtr& job : seen.list(rayjobs, cluster.key.ns)) {
        if (job->value["status"]["rayClusterName"].text_or("") == cluster.key.name)
            keys.push_back(job->key);
    }
    return keys;
}

}  // namespace

Controller job_controller() {
    Controller controller;
    controller.name = rayjob_controller_name;
    controller.watches = {watch_self(rayjobs, "v1"), Watch{clusters, "v1", jobs_of_cluster},
                          watch_owned(batch_jobs, "v1", rayjobs), Watch{pods, "v1", job_of_pod}};
    controller.reconcile = reconcile;
    return controller;
}

}  // namespace muster::control::ray

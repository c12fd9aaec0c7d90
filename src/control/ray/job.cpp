// control/ray/job.cpp - the life of a RayJob, one deployment status a function.
#include "control/ray/job.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "control/owner.h"
#include "control/ray/deletion.h"
#include "control/ray/job_pass.h"
#include "control/ray/job_submission.h"
#include "control/ray/names.h"
#include "control/ray/pod_state.h"
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
/// How long a submitter may live on after Ray is done with its job.
constexpr Duration transition_grace = seconds(300);

void start(JobPass& pass) {
    const Value& spec = pass.spec();
    const std::string attempt =
        "attempt/" + std::to_string(pass.status["failed"].integer_or(0)) + "/" +
        std::to_string(pass.job.value["metadata"]["generation"].integer_or(1));
    const std::string suffix = derived_suffix(pass.job.uid, attempt);
    const std::string given = spec["jobId"].text();
    if (pass.submission() != Submission::user)
        pass.status.set("jobId", given.empty() ? pass.job.key.name + "-" + suffix : given);
    pass.status.set("rayClusterName", pass.has_own_cluster()
                                          ? pass.job.key.name + "-" + suffix
                                          : spec["clusterSelector"][cluster_label].text());
    pass.status.set("startTime", to_rfc3339(pass.now));
    pass.status.set("jobStatus", "");
    pass.status.erase("endTime");
    set_deployment(pass, "Initializing");
}

/// The job's labels and annotations go on to its cluster, but for those that speak of the job
/// itself: its queue, and what a client keeps of its last apply.
Value inherited(const Value& from) {
    Value kept = Value::object();
    for (const auto& [name, value] : from.members()) {
        const bool of_job = name.starts_with("kueue.x-k8s.io/") ||
                            name == "kubectl.kubernetes.io/last-applied-configuration";
        if (!of_job) kept.set(name, value);
    }
    return kept;
}

void create_cluster(JobPass& pass) {
    const api::Key key{clusters, pass.job.key.ns, pass.text("rayClusterName")};
    if (const kube::Object* refusal = find_refusal(pass.seen, rayjob_controller_name, key)) {
        pass.status.set("message",
                        "The RayCluster was refused: " + refusal->value["message"].text());
    }
    Value labels = inherited(pass.job.value["metadata"]["labels"]);
    labels.set(originated_from_label, pass.job.key.name);
    labels.set("ray.io/originated-from-crd", "RayJob");
    labels.set(submission_mode_label, pass.spec()["submissionMode"].text_or("K8sJobMode"));
    Value annotations = inherited(pass.job.value["metadata"]["annotations"]);
    if (pass.submission() == Submission::sidecar)
        annotations.set(keep_lost_head_annotation, "true");
    Value metadata =
        Value::object({{"name", key.name},
                       {"namespace", key.ns},
                       {"labels", std::move(labels)},
                       {"ownerReferences", Value::array({owner_reference(pass.job)})}});
    if (!annotations.empty()) metadata.set("annotations", std::move(annotations));
    Value body =
        Value::object({{"apiVersion", "ray.io/v1"},
                       {"kind", "RayCluster"},
                       {"metadata", std::move(metadata)},
                       {"spec", cluster_spec_of(pass.spec(), key.name, pass.text("jobId"))}});
    pass.event("Normal", "CreatedRayCluster", "Created RayCluster " + key.ns + "/" + key.name,
               "Create");
    pass.result.writes.push_back(
        {Write::Verb::create, key, "ray.io/v1", "", std::move(body), 0, "", ""});
}

/// Its pods are all ready; the submitter beside the head does not wait for the workers, and may be
/// done before them.
bool may_go_on(const JobPass& pass, const kube::Object& cluster) {
    if (cluster.value["status"]["state"].text_or("") == "ready") return true;
    if (pass.submission() != Submission::sidecar) return false;
    return pass.head() != nullptr && submitter_state(pass).over;
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
    if (cluster->value["status"]["state"].text_or("") == "failed") {
        set_deployment(pass, "Initializing", "", cluster->value["status"]["reason"].text());
        return;
    }
    if (!may_go_on(pass, *cluster)) return;
    pass.status.set("dashboardURL", head_service_host(cluster->value) + ":" +
                                        std::to_string(dashboard_port(cluster->value["spec"])));
    if (pass.submission() == Submission::user) {
        set_deployment(pass, "Waiting");
    } else if (pass.submission() == Submission::sidecar) {
        set_deployment(pass, "Running");
    } else {
        submit(pass, *cluster);
    }
}

/// InteractiveMode: the user submits and then says under which id.
void wait_for_user(JobPass& pass) {
    if (missed_deadline(pass, Deadline::before_running)) return;
    const std::string id = pass.spec()["jobId"].text();
    if (const kube::ObjectPtr cluster = pass.cluster()) {
        pass.status.set("rayClusterStatus", cluster->value["status"]);
    } else {
        fail(pass, "AppFailed", "RayCluster " + pass.text("rayClusterName") + " is gone");
        return;
    }
    if (id.empty()) return;
    pass.status.set("jobId", id);
    set_deployment(pass, "Running");
}

/// The dashboard has been silent for too long, or has never heard of the job that the user named.
bool timed_out(JobPass& pass, const RayState& ray) {
    constexpr std::string_view since = "jobStatusCheckFailureStartTime";
    if (ray.known || (ray.answered && pass.submission() != Submission::user)) {
        pass.status.erase(since);
        return false;
    }
    const auto start = time_of(pass.status[since]);
    if (!start) {
        pass.status.set(since, to_rfc3339(pass.now));
        return false;
    }
    if (pass.now - *start < status_timeout) return false;
    const std::string dashboard = "The Ray dashboard at " + pass.text("dashboardURL");
    fail(pass, "JobStatusCheckTimeoutExceeded",
         ray.answered
             ? dashboard + " has not known a job " + pass.text("jobId") + " for 300 seconds"
             : dashboard + " has not answered for 300 seconds");
    return true;
}

void finish(JobPass& pass, const RayState& ray, std::string_view reason) {
    pass.status.set("endTime", to_rfc3339(pass.now));
    if (ray.status == "FAILED") {
        fail(pass, "AppFailed", ray.message);
        return;
    }
    pass.status.set("succeeded", pass.status["succeeded"].integer_or(0) + 1);
    set_deployment(pass, "Complete", reason, ray.message);
}

/// Ray is done with the job. Its logs are complete only when the submitter that streams them has
/// ended; one that hangs is not waited for for ever.
void wait_for_logs(JobPass& pass, const RayState& ray, const SubmitterState& submitter) {
    if (submitter.over) {
        finish(pass, ray, "");
        return;
    }
    const Time ended = time_of(pass.status["rayJobInfo"]["endTime"]).value_or(pass.now);
    if (ended + transition_grace > pass.now) {
        pass.look_again(ended + transition_grace - pass.now);
    } else {
        finish(pass, ray, "JobDeploymentStatusTransitionGracePeriodExceeded");
    }
}

/// The submitter is over although the job is not: its failure counts only when Ray does not know
/// the job.
void check_submitter(JobPass& pass, const RayState& ray, const SubmitterState& submitter) {
    if (pass.submission() == Submission::sidecar) {
        const kube::ObjectPtr head = pass.head();
        if (head == nullptr || is_lost(*head)) {
            fail(pass, "AppFailed",
                 "The head pod has ended before the job; in SidecarMode its job ends with it");
            return;
        }
    }
    if (!submitter.over || !ray.answered || ray.known) return;
    if (submitter.failed) {
        fail(pass, "SubmissionFailed",
             "The submitter failed before Ray knew the job; see its pod's log");
        return;
    }
    if (!submitter.ended) return;
    if (*submitter.ended + submitter_grace > pass.now) {
        pass.look_again(*submitter.ended + submitter_grace - pass.now);
    } else {
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
    const SubmitterState submitter = submitter_state(pass);
    if (ray.known && ray.terminal()) {
        wait_for_logs(pass, ray, submitter);
        return;
    }
    submit_again_if_lost(pass, ray);
    const bool has_submitter =
        pass.submission() == Submission::sidecar ||
        (pass.submission() == Submission::submitter_job && pass.submitter() != nullptr);
    if (has_submitter) check_submitter(pass, ray, submitter);
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

/// How much of what the job made is gone.
Deletion deleted_so_far(const JobPass& pass) {
    const kube::ObjectPtr cluster = pass.cluster();
    if (cluster == nullptr || cluster->is_terminating()) return Deletion::cluster;
    const auto& groups = cluster->value["spec"]["workerGroupSpecs"].items();
    const bool suspended = std::all_of(groups.begin(), groups.end(), [](const Value& group) {
        return group["suspend"].boolean_or(false);
    });
    return suspended ? Deletion::workers : Deletion::none;
}

void suspend_workers(JobPass& pass, const kube::Object& cluster) {
    Value body = cluster.value;
    for (Value& group : body.at("spec").at("workerGroupSpecs").mutable_items())
        group.set("suspend", true);
    pass.event("Normal", "UpdatedRayCluster", "Suspended the workers of " + to_text(cluster.key),
               "Update");
    pass.result.writes.push_back({Write::Verb::update, cluster.key, "ray.io/v1", "",
                                  std::move(body), cluster.version, "", ""});
}

/// The job is over: what it made goes as its deletion rules say.
void retire(JobPass& pass) {
    if (const auto wrong = check_deletion(pass.spec())) {
        pass.event("Warning", "InvalidRayJobSpec", *wrong + "; nothing is deleted", "Validate");
        return;
    }
    // Somebody else's cluster is not ours to take down.
    const Deletion done = pass.has_own_cluster() ? deleted_so_far(pass) : Deletion::cluster;
    const Deletions deletions = deletions_of(pass.job.value, done, pass.now);
    const kube::ObjectPtr cluster = pass.cluster();
    if (deletions.now == Deletion::self) {
        pass.remove(pass.job, "ray.io/v1", "DeletedRayJob");
    } else if (deletions.now == Deletion::cluster && cluster != nullptr) {
        pass.remove(*cluster, "ray.io/v1", "DeletedRayCluster");
    } else if (deletions.now == Deletion::workers && cluster != nullptr) {
        suspend_workers(pass, *cluster);
    }
    if (deletions.next) pass.look_again(*deletions.next - pass.now);
}

/// Whether the job may be suspended: a wish that its spec forbids is none.
enum class Suspension { wanted, not_wanted };

void step(JobPass& pass, Suspension wish) {
    const std::string deployment = pass.text("jobDeploymentStatus");
    const bool suspend = wish == Suspension::wanted;
    if (deployment.empty() || deployment == "ValidationFailed") {
        if (suspend) {
            set_deployment(pass, "Suspended");
        } else {
            start(pass);
        }
    } else if (suspend && (deployment == "Initializing" || deployment == "Waiting" ||
                           deployment == "Running")) {
        set_deployment(pass, "Suspending");
    } else if (deployment == "Initializing") {
        initialize(pass);
    } else if (deployment == "Waiting") {
        wait_for_user(pass);
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
    // First: what hinders the other writes must show.
    pass.result.writes.insert(pass.result.writes.begin(),
                              {Write::Verb::update, pass.job.key, "ray.io/v1", "status",
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
        pass.ask(call_id, "POST", "/api/jobs/" + pass.text("jobId") + "/stop", "");
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

/// A job that runs goes on while its spec is wrong, and says what is wrong until it is corrected.
void tell_problem(JobPass& pass, std::string_view before, const std::optional<Problem>& problem) {
    constexpr std::string_view reason = "ValidationFailed";
    if (problem && pass.text("jobDeploymentStatus") == before) {
        set_deployment(pass, before, reason, problem->message);
    } else if (!problem && pass.text("reason") == reason) {
        set_deployment(pass, pass.text("jobDeploymentStatus"));
    }
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
    if (problem && pass.text("message") != problem->message)
        pass.event("Warning", problem->reason, problem->message, "Validate");
    if (problem && (deployment.empty() || deployment == "ValidationFailed")) {
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
        const bool suspend = !problem && pass.spec()["suspend"].boolean_or(false);
        step(pass, suspend ? Suspension::wanted : Suspension::not_wanted);
        tell_problem(pass, deployment, problem);
    }
    write_status(pass);
    return std::move(pass.result);
}

bool has_submitter_beside(const kube::Object& pod) {
    const auto& containers = pod.value["spec"]["containers"].items();
    return std::any_of(containers.begin(), containers.end(), [](const Value& container) {
        return container["name"].text_or("") == submitter_container;
    });
}

std::vector<api::Key> job_of_pod(const kube::Cache& seen, const kube::Object* before,
                                 const kube::Object* after) {
    // A pod's end matters, for a retry waits for it; and each step of a head that submits.
    const kube::Object& pod = after != nullptr ? *after : *before;
    if (pod.label(cluster_label).empty()) return {};
    if (after != nullptr && !has_submitter_beside(*after)) return {};
    std::vector<api::Key> keys;
    for (const kube::ObjectPtr& job : seen.list(rayjobs, pod.key.ns)) {
        if (job->value["status"]["rayClusterName"].text_or("") == pod.label(cluster_label))
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
    controller.watches = {
        watch_self(rayjobs, "v1"), Watch{clusters, "v1", jobs_of_cluster},
        watch_owned(batch_jobs, "v1", rayjobs), Watch{pods, "v1", job_of_pod},
        Watch{secrets, "v1", [](const kube::Cache&, const kube::Object*, const kube::Object*) {
                  return std::vector<api::Key>{};  // Read when something is asked.
              }}};
    controller.reconcile = reconcile;
    return controller;
}

}  // namespace muster::control::ray

// control/queue/job_kinds.cpp - the tables of the kinds that queues manage: Job, RayCluster,
// RayJob, AppWrapper; pods and what makes them to serve are in pod_kinds.cpp, those of other
// projects in guest_job_kinds.cpp.
#include <algorithm>
#include <utility>

#include "api/field_error.h"
#include "base/text.h"
#include "control/appwrapper/demand.h"
#include "control/cluster/index_set.h"
#include "control/queue/guest_job_kinds.h"
#include "control/queue/integration.h"
#include "control/queue/job_rules.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_kinds.h"
#include "control/queue/pod_shape.h"
#include "control/ray/submitter.h"

namespace muster::control::queue {
namespace {

using api::Value;
using Sign = EndRule::Sign;
using Success = EndRule::Success;

const std::vector<EndRule> job_ends = {
    {Sign::condition, "Complete", "", Success::yes, ""},
    {Sign::condition, "Failed", "", Success::no, ""},
};

const std::vector<EndRule> ray_job_ends = {
    {Sign::field, "status.jobDeploymentStatus", "Complete", Success::yes, "status.message"},
    {Sign::field, "status.jobDeploymentStatus", "Failed", Success::no, "status.message"},
};

const std::vector<EndRule> app_wrapper_ends = {
    {Sign::field, "status.state", "Completed", Success::yes, "status.message"},
    {Sign::field, "status.state", "Failed", Success::no, "status.message"},
    {Sign::field, "status.state", "Deleted", Success::no, "status.message"},
};

/// Pods that never run again. Of an indexed Job also those that failed for good, and none beyond
/// its completions, which may have become fewer.
std::int64_t over_of_job(const Value& job, std::int64_t completions) {
    const Value& status = job["status"];
    if (job["spec"]["completionMode"].text_or("") != "Indexed")
        return status["succeeded"].integer_or(0);
    const std::string both =
        status["completedIndexes"].text() + "," + status["failedIndexes"].text();
    return cluster::IndexSet::parse(both, completions).size();
}

std::vector<ReclaimablePods> done_of_job(const Value& job, const std::vector<PodSet>&) {
    const std::int64_t parallelism = job["spec"]["parallelism"].integer_or(1);
    const std::int64_t completions = job["spec"]["completions"].integer_or(parallelism);
    const std::int64_t over = over_of_job(job, completions);
    if (parallelism == 1 || over == 0) return {};
    const std::int64_t wanted = std::min(parallelism, completions);
    const std::int64_t left = std::max<std::int64_t>(completions - over, 0);
    if (left >= wanted) return {};
    return {{"main", wanted - left}};
}

bool has_submitter(const Value& job) {
    const std::string_view mode = job["spec"]["submissionMode"].text_or("");
    return mode.empty() || mode == "K8sJobMode";
}

Value submitter_template(const Value& job) {
    return ray::submitter_template(job["spec"], job["spec"]["rayClusterSpec"]);
}

Value head_template(const Value& job) {
    return ray::head_template(job["spec"]);
}

/// Who grows by himself does so in slices.
void check_autoscaling(const Value& object, const Value& spec, const std::string& path,
                       std::string_view refusal, FieldErrors& errors) {
    const Value& autoscaling = spec["enableInTreeAutoscaling"];
    if (autoscaling.boolean_or(false) && !asks_to_be_elastic(object))
        errors.push_back(invalid_at(path + ".enableInTreeAutoscaling", autoscaling, refusal));
}

/// Pods of an elastic cluster come before they are admitted, and then wait at the gate that it got
/// when it was made; parts of something that is admitted as a whole have none.
void check_elastic_gate(const Value& pod_template, const std::string& path, FieldErrors& errors) {
    if (has_gate(pod_template, elastic_annotation)) return;
    errors.push_back(invalid_at(path + ".template.spec.schedulingGates",
                                pod_template["spec"]["schedulingGates"],
                                "an elastic job must have the ElasticJobSchedulingGate"));
}

/// `spec` is a RayCluster's, and stands at `path` in the object.
void check_groups(const Value& spec, const std::string& path, FieldErrors& errors) {
    constexpr std::int64_t pod_sets_max = 18;  // Of a Workload.
    const Value& groups = spec["workerGroupSpecs"];
    const std::string at = path + ".workerGroupSpecs";
    const std::size_t pod_sets = groups.size() + 1;
    if (pod_sets > static_cast<std::size_t>(pod_sets_max)) {
        errors.push_back(api::too_many(api::Path(), pod_sets, pod_sets_max));
        errors.back().field = at;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i]["groupName"].text_or("") != "head") continue;
        errors.push_back(forbidden_at(at + "[" + std::to_string(i) + "].groupName",
                                      "\"head\" is reserved for the head group"));
    }
}

FieldErrors check_ray_cluster(const Value& cluster) {
    FieldErrors errors;
    const Value& spec = cluster["spec"];
    check_autoscaling(cluster, spec, "spec",
                      "a kueue-managed RayCluster can use autoscaling only as an elastic job: "
                      "enable the ElasticJobsViaWorkloadSlices feature gate and set the " +
                          quoted(elastic_annotation) + ": \"true\" annotation",
                      errors);
    check_groups(spec, "spec", errors);
    return errors;
}

FieldErrors check_ray_cluster_change(const Value& before, const Value& cluster) {
    FieldErrors errors = check_ray_cluster(cluster);
    const bool was_gated =
        has_gate(before["spec"]["headGroupSpec"]["template"], elastic_annotation);
    if (!asks_to_be_elastic(cluster) || (asks_to_be_elastic(before) && !was_gated)) return errors;
    const Value& groups = cluster["spec"]["workerGroupSpecs"];
    for (std::size_t i = 0; i < groups.size(); ++i) {
        check_elastic_gate(groups[i]["template"],
                           "spec.workerGroupSpecs[" + std::to_string(i) + "]", errors);
    }
    check_elastic_gate(cluster["spec"]["headGroupSpec"]["template"], "spec.headGroupSpec", errors);
    return errors;
}

/// It runs on a cluster that is there already, for which somebody else has quota.
bool runs_elsewhere(const Value& job) {
    return !job["spec"]["clusterSelector"].empty();
}

FieldErrors check_ray_job(const Value& job) {
    FieldErrors errors;
    const Value& spec = job["spec"];
    const bool has_cluster = !spec["rayClusterSpec"].is_null();
    if (runs_elsewhere(job)) {
        if (has_cluster) {
            errors.push_back(invalid_at("spec.clusterSelector", spec["clusterSelector"],
                                        "a kueue managed job should not use an existing cluster"));
        }
        return errors;
    }
    if (!has_cluster) {
        errors.push_back(required_at("spec.rayClusterSpec",
                                     "rayClusterSpec is required for Kueue-managed jobs that "
                                     "don't use clusterSelector"));
        return errors;
    }
    if (!spec["shutdownAfterJobFinishes"].boolean_or(false)) {
        errors.push_back(
            invalid_at("spec.shutdownAfterJobFinishes", false,
                       "a kueue managed job should delete the cluster after finishing"));
    }
    check_autoscaling(job, spec["rayClusterSpec"], "spec.rayClusterSpec",
                      "a kueue managed job should only use autoscaling when workload slicing is "
                      "enabled",
                      errors);
    check_groups(spec["rayClusterSpec"], "spec.rayClusterSpec", errors);
    return errors;
}

bool cannot_run(const Value& wrapper) {
    return !wrapper["status"]["canrun"].boolean_or(false);
}

std::vector<PodSet> app_wrapper_pod_sets(const Value& wrapper) {
    std::vector<PodSet> sets;
    for (appwrapper::PodDemand& demand : appwrapper::demand_of(wrapper)) {
        if (demand.count <= 0) continue;
        sets.push_back(
            {std::move(demand.name), demand.count, std::move(demand.pod_template), "", 0, ""});
    }
    return sets;
}

PodSetRule one(std::string_view name, std::string_view pod_template,
               std::vector<std::string_view> counts = {}) {
    return {name, "", pod_template, std::move(counts), "", nullptr, nullptr};
}

PodSetRule worker_groups(std::string_view list) {
    return {"groupName", list, "template", {"replicas"}, "numOfHosts", nullptr, nullptr};
}

JobKind batch_job() {
    JobKind kind{jobs, "v1", "Job", "job"};
    kind.suspend = "spec.suspend";
    PodSetRule main = one("main", "spec.template", {"spec.parallelism", "spec.completions"});
    main.min_annotation = min_parallelism_annotation;
    main.equal_annotation = equal_completions_annotation;
    kind.pod_sets = {main};
    kind.ends = job_ends;
    kind.ready_counts = {"status.ready", "status.succeeded"};
    kind.active = "status.active";
    kind.find_reclaimable = done_of_job;
    kind.prebuilt = JobKind::Support::yes;
    kind.elastic = JobKind::Support::yes;
    kind.check = check_job;
    kind.check_change = check_job_change;
    return kind;
}

JobKind ray_cluster() {
    JobKind kind{ray_clusters, "v1", "RayCluster", "raycluster"};
    kind.suspend = "spec.suspend";
    kind.pod_sets = {one("head", "spec.headGroupSpec.template"),
                     worker_groups("spec.workerGroupSpecs")};
    kind.ready_field = "status.state";
    kind.ready_value = "ready";
    kind.prebuilt = JobKind::Support::yes;
    kind.elastic = JobKind::Support::yes;
    kind.unqueued = JobKind::Unqueued::free;
    kind.check = check_ray_cluster;
    kind.check_change = check_ray_cluster_change;
    return kind;
}

JobKind ray_job() {
    JobKind kind{ray_jobs, "v1", "RayJob", "rayjob"};
    kind.suspend = "spec.suspend";
    PodSetRule submitter = one("submitter", "");
    submitter.applies = has_submitter;
    submitter.made = submitter_template;
    PodSetRule head = one("head", "spec.rayClusterSpec.headGroupSpec.template");
    head.made = head_template;
    kind.pod_sets = {head, worker_groups("spec.rayClusterSpec.workerGroupSpecs"), submitter};
    kind.ends = ray_job_ends;
    kind.ready_field = "status.rayClusterStatus.state";
    kind.ready_value = "ready";
    kind.prebuilt = JobKind::Support::yes;
    kind.elastic = JobKind::Support::yes;
    kind.is_left_alone = runs_elsewhere;
    kind.unqueued = JobKind::Unqueued::free;
    kind.check = check_ray_job;
    return kind;
}

JobKind app_wrapper(const api::GroupResource& resource) {
    JobKind kind{resource, "v1beta1", "AppWrapper", "appwrapper"};
    kind.start = JobKind::Start::told;
    kind.is_waiting = cannot_run;
    kind.find_pod_sets = app_wrapper_pod_sets;
    kind.ends = app_wrapper_ends;
    kind.ready_field = "status.queuejobstate";
    kind.ready_value = "Running";
    kind.prebuilt = JobKind::Support::yes;
    return kind;
}

}  // namespace

const std::vector<JobKind>& job_kinds() {
    static const std::vector<JobKind> kinds = [] {
        std::vector<JobKind> all = {batch_job(),
                                    ray_cluster(),
                                    ray_job(),
                                    app_wrapper(app_wrappers),
                                    app_wrapper(old_app_wrappers),
                                    pod_kind(),
                                    deployment_kind(),
                                    stateful_set_kind()};
        for (JobKind& kind : guest_job_kinds())
            all.push_back(std::move(kind));
        return all;
    }();
    return kinds;
}

}  // namespace muster::control::queue

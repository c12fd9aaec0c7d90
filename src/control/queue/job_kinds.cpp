// control/queue/job_kinds.cpp - the tables of the kinds that queues manage: Job, RayCluster,
// RayJob, AppWrapper.
#include <utility>

#include "api/field_error.h"
#include "control/appwrapper/demand.h"
#include "control/queue/integration.h"
#include "control/queue/names.h"
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

bool completions_are_counted(const Value& job) {
    return job["spec"]["completions"].is_integer();
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

void check_autoscaling(const Value& cluster, const api::Path& spec,
                       std::vector<api::FieldError>& errors) {
    const Value& autoscaling = cluster["enableInTreeAutoscaling"];
    if (!autoscaling.boolean_or(false)) return;
    errors.push_back(api::invalid(spec.child("enableInTreeAutoscaling"), autoscaling,
                                  "a kueue managed job should not use autoscaling"));
}

std::vector<api::FieldError> check_ray_cluster(const Value& cluster) {
    std::vector<api::FieldError> errors;
    const api::Path root;
    check_autoscaling(cluster["spec"], root.child("spec"), errors);
    return errors;
}

std::vector<api::FieldError> check_ray_job(const Value& job) {
    std::vector<api::FieldError> errors;
    const api::Path root;
    const api::Path spec = root.child("spec");
    const Value& shutdown = job["spec"]["shutdownAfterJobFinishes"];
    if (!shutdown.boolean_or(false)) {
        errors.push_back(api::invalid(spec.child("shutdownAfterJobFinishes"), false,
                                      "a kueue managed job should delete the cluster after "
                                      "finishing: set it to true"));
    }
    if (!job["spec"]["clusterSelector"].empty()) {
        errors.push_back(api::invalid(spec.child("clusterSelector"), job["spec"]["clusterSelector"],
                                      "a kueue managed job should not use an existing cluster"));
    }
    check_autoscaling(job["spec"]["rayClusterSpec"], spec.child("rayClusterSpec"), errors);
    return errors;
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
    JobKind kind{jobs, "v1", "Job", "spec.suspend", {},     nullptr, job_ends, "",
                 "",   {},   "",    nullptr,        nullptr};
    kind.pod_sets = {one("main", "spec.template", {"spec.parallelism", "spec.completions"})};
    kind.ready_counts = {"status.ready", "status.succeeded"};
    kind.active = "status.active";
    kind.has_reclaimable = completions_are_counted;
    return kind;
}

JobKind ray_cluster() {
    JobKind kind{ray_clusters, "v1", "RayCluster", "spec.suspend",   {}, nullptr, {}, "", "",
                 {},           "",   nullptr,      check_ray_cluster};
    kind.pod_sets = {one("head", "spec.headGroupSpec.template"),
                     worker_groups("spec.workerGroupSpecs")};
    kind.ready_field = "status.state";
    kind.ready_value = "ready";
    return kind;
}

JobKind ray_job() {
    JobKind kind{ray_jobs, "v1", "RayJob", "spec.suspend", {},           nullptr, ray_job_ends, "",
                 "",       {},   "",       nullptr,        check_ray_job};
    PodSetRule submitter = one("submitter", "");
    submitter.applies = has_submitter;
    submitter.made = submitter_template;
    PodSetRule head = one("head", "spec.rayClusterSpec.headGroupSpec.template");
    head.made = head_template;
    kind.pod_sets = {head, worker_groups("spec.rayClusterSpec.workerGroupSpecs"), submitter};
    kind.ready_field = "status.rayClusterStatus.state";
    kind.ready_value = "ready";
    return kind;
}

JobKind app_wrapper(const api::GroupResource& resource) {
    JobKind kind{resource,         "v1beta1", "AppWrapper", "", {}, app_wrapper_pod_sets,
                 app_wrapper_ends, "",        "",           {}, "", nullptr,
                 nullptr};
    kind.ready_field = "status.queuejobstate";
    kind.ready_value = "Running";
    return kind;
}

}  // namespace

const std::vector<JobKind>& job_kinds() {
    static const std::vector<JobKind> kinds = {batch_job(), ray_cluster(), ray_job(),
                                               app_wrapper(app_wrappers),
                                               app_wrapper(old_app_wrappers)};
    return kinds;
}

}  // namespace muster::control::queue

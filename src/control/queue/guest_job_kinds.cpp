// control/queue/guest_job_kinds.cpp - where the kinds of other projects keep what queues must know.
#include "control/queue/guest_job_kinds.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "api/guest_kinds.h"
#include "base/text.h"
#include "base/verify.h"
#include "control/queue/leader_worker_set.h"
#include "control/queue/spark_application.h"
#include "control/queue/train_job.h"

namespace muster::control::queue {
namespace {

using api::Value;
using Sign = EndRule::Sign;
using Success = EndRule::Success;

const Value& status_of(const Value& job_set, std::string_view replicated_job) {
    static const Value none{};
    for (const Value& status : job_set["status"]["replicatedJobsStatus"].items()) {
        if (status["name"].text_or("") == replicated_job) return status;
    }
    return none;
}

/// Of one of the Jobs that a replicated job makes.
std::int64_t pods_of_each(const Value& replicated_job) {
    const Value& spec = replicated_job["template"]["spec"];
    const std::int64_t parallelism = spec["parallelism"].integer_or(1);
    return std::min(parallelism, spec["completions"].integer_or(parallelism));
}

bool is_job_set_ready(const Value& job_set) {
    std::int64_t wanted = 0;
    std::int64_t ready = 0;
    for (const Value& each : job_set["spec"]["replicatedJobs"].items())
        wanted += each["replicas"].integer_or(1);
    for (const Value& each : job_set["status"]["replicatedJobsStatus"].items())
        ready += each["ready"].integer_or(0) + each["succeeded"].integer_or(0);
    return ready == wanted;
}

std::vector<ReclaimablePods> done_of_job_set(const Value& job_set, const std::vector<PodSet>&) {
    std::vector<ReclaimablePods> done;
    for (const Value& each : job_set["spec"]["replicatedJobs"].items()) {
        const std::string name = each["name"].text();
        const std::int64_t succeeded = status_of(job_set, name)["succeeded"].integer_or(0);
        if (succeeded > 0 && succeeded <= each["replicas"].integer_or(1))
            done.push_back({to_lower(name), succeeded * pods_of_each(each)});
    }
    return done;
}

JobKind job_set() {
    JobKind kind = named_guest("jobset.x-k8s.io", "JobSet", "spec.suspend");
    kind.pod_sets = {{"name",
                      "spec.replicatedJobs",
                      "template.spec.template",
                      {"template.spec.parallelism", "template.spec.completions"},
                      "replicas",
                      nullptr,
                      nullptr}};
    kind.ends = {{Sign::condition, "Completed", "", Success::yes, ""},
                 {Sign::condition, "Failed", "", Success::no, ""}};
    kind.are_ready = is_job_set_ready;
    kind.find_reclaimable = done_of_job_set;
    kind.prebuilt = JobKind::Support::yes;
    return kind;
}

/// Tables hold views: texts that are put together live here.
std::string_view keep(std::string text) {
    static std::deque<std::string> kept;
    return kept.emplace_back(std::move(text));
}

/// The pods of one role, of those jobs that have it.
PodSetRule pods_of_role(const std::string& replicas, std::string_view role) {
    const std::string at = "spec." + replicas + "." + std::string(role);
    PodSetRule rule{keep(to_lower(role)), "", keep(at + ".template"), {keep(at + ".replicas")}};
    rule.present_at = keep(at);
    return rule;
}

/// A kind of Kubeflow: `replicas` is the member of its spec that has the roles, which are given in
/// the order of their pod sets.
JobKind training(std::string_view name, const std::string& replicas,
                 const std::vector<std::string_view>& roles) {
    JobKind kind = named_guest("kubeflow.org", name, "spec.runPolicy.suspend");
    for (const std::string_view role : roles)
        kind.pod_sets.push_back(pods_of_role(replicas, role));
    kind.ends = {{Sign::condition, "Succeeded", "", Success::yes, ""},
                 {Sign::condition, "Failed", "", Success::no, ""}};
    kind.ready_condition = "Running";
    kind.priority_class = "spec.runPolicy.schedulingPolicy.priorityClass";
    kind.prebuilt = JobKind::Support::yes;
    return kind;
}

}  // namespace

JobKind named_guest(std::string_view group, std::string_view name, std::string_view suspend) {
    const api::Kind* known = api::find_known_kind_named(group, name);
    VERIFY(known != nullptr);
    JobKind kind{known->resource(), known->storage, known->kind, known->singular};
    kind.suspend = suspend;
    return kind;
}

std::vector<JobKind> guest_job_kinds() {
    JobKind jax_job = training("JAXJob", "jaxReplicaSpecs", {"Worker"});
    jax_job.prebuilt = JobKind::Support::no;
    return {job_set(),
            training("PyTorchJob", "pytorchReplicaSpecs", {"Master", "Worker"}),
            training("TFJob", "tfReplicaSpecs", {"Chief", "Master", "PS", "Worker", "Evaluator"}),
            training("XGBoostJob", "xgbReplicaSpecs", {"Master", "Worker"}),
            training("PaddleJob", "paddleReplicaSpecs", {"Master", "Worker"}),
            std::move(jax_job),
            training("MPIJob", "mpiReplicaSpecs", {"Launcher", "Worker"}),
            train_job_kind(),
            spark_application_kind(),
            leader_worker_set_kind()};
}

}  // namespace muster::control::queue

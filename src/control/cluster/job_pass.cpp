// control/cluster/job_pass.cpp - the counting and the verdict of a Job.
#include "control/cluster/job_pass.h"

#include <algorithm>
#include <set>
#include <utility>

#include "control/cluster/job_pods.h"
#include "control/cluster/job_policy.h"
#include "control/cluster/resources.h"
#include "control/conditions.h"
#include "control/fold_pod.h"

namespace muster::control::cluster {
namespace {

constexpr std::size_t noted_max = 500;  // Uids noted at once: bounds the size of the status.

using Uids = std::set<std::string>;

Uids uids_of(const api::Value& list) {
    Uids uids;
    for (const api::Value& uid : list.items())
        uids.insert(uid.text());
    return uids;
}

/// Moves noted pods whose finalizer is gone into a counter.
void settle(api::Value& status, const char* list, const Uids& still_tracked) {
    api::Value rest;
    std::int64_t settled = 0;
    for (const api::Value& uid : status["uncountedTerminatedPods"][list].items()) {
        if (still_tracked.contains(uid.text())) {
            rest.push(uid);
        } else {
            ++settled;
        }
    }
    if (settled == 0) return;
    status.set(list, status[list].integer_or(0) + settled);
    api::Value& noted = status.at("uncountedTerminatedPods");
    if (rest.is_null()) {
        noted.erase(list);
    } else {
        noted.set(list, std::move(rest));
    }
}

void note(api::Value& status, const char* list, const std::string& uid) {
    status.at("uncountedTerminatedPods").at(list).push(uid);
}

/// A pod that has ended without success, or never will have success.
bool has_failed(const JobPass& pass, const kube::Object& pod) {
    const std::string_view phase = pod.value["status"]["phase"].text_or("");
    if (phase == "Failed") return true;
    // With no time left to end, it never ran, or its node has let it go without a last word.
    const api::Value& grace = pod.value["metadata"]["deletionGracePeriodSeconds"];
    if (pod.is_terminating() && grace.integer_or(-1) == 0) return true;
    return !pass.replaces_only_failed && pod.is_terminating() && phase != "Succeeded";
}

void count_success(JobPass& pass, const kube::ObjectPtr& pod) {
    pass.to_release.push_back(pod);
    if (!pass.indexed) {
        note(pass.noted, "succeeded", pod->uid);
        return;
    }
    const auto index = completion_index(*pod);
    if (index && *index < pass.completions.value_or(0)) pass.succeeded_indexes.add(*index);
}

void count_failure(JobPass& pass, const kube::ObjectPtr& pod) {
    pass.to_release.push_back(pod);
    const auto index = completion_index(*pod);
    if (pass.indexed && !(index && *index < pass.completions.value_or(0))) return;
    const FailureVerdict verdict = judge_failure(pass.job.value["spec"]["podFailurePolicy"], *pod);
    if (verdict.action == FailureVerdict::Action::ignore) return;
    if (verdict.action == FailureVerdict::Action::fail_job && !pass.failure) {
        pass.failure = Ending{"PodFailurePolicy", verdict.message};
    }
    note(pass.noted, "failed", pod->uid);
}

void count_pod(JobPass& pass, const kube::ObjectPtr& pod) {
    if (pod->value["status"]["phase"].text_or("") == "Succeeded") {
        count_success(pass, pod);
    } else if (has_failed(pass, *pod)) {
        count_failure(pass, pod);
    } else if (pass.job.is_terminating()) {
        pass.to_release.push_back(pod);  // Nobody will count it.
    }
}

std::int64_t total(const api::Value& status, const char* list) {
    return status[list].integer_or(0) +
           static_cast<std::int64_t>(status["uncountedTerminatedPods"][list].size());
}

std::optional<Ending> ending_in(const api::Value& status, std::string_view type) {
    const api::Value& condition = condition_of(status, type);
    if (condition["status"].text_or("") != "True") return std::nullopt;
    return Ending{condition["reason"].text(), condition["message"].text()};
}

bool is_past_backoff_limit(const JobPass& pass) {
    if (pass.failed > pass.backoff_limit) return true;
    const auto policy = pass.job.value["spec"]["template"]["spec"]["restartPolicy"].text_or("");
    if (policy != "OnFailure") return false;
    const std::int64_t restarted = restarts(pass.pods);
    return pass.backoff_limit == 0 ? restarted > 0 : restarted >= pass.backoff_limit;
}

/// True when the deadline has passed; else looks again when it will.
bool is_past_deadline(JobPass& pass) {
    const api::Value& deadline = pass.job.value["spec"]["activeDeadlineSeconds"];
    const Time started = fold_time(pass.status["startTime"]);
    if (!deadline.is_integer() || pass.suspended || started == Time{}) return false;
    const Duration left = started + seconds(deadline.as_integer()) - pass.now;
    if (left <= Duration{}) return true;
    pass.look_in(left);
    return false;
}

}  // namespace

JobPass::JobPass(const kube::Cache& cache, const kube::Object& object, const ClusterOptions& how,
                 Time time)
    : seen(cache), job(object), options(how), now(time), status(object.value["status"]) {
    const api::Value& spec = job.value["spec"];
    indexed = spec["completionMode"].text_or("") == "Indexed";
    suspended = spec["suspend"].boolean_or(false);
    replaces_only_failed =
        spec["podReplacementPolicy"].text_or("") == "Failed" || spec.has("podFailurePolicy");
    parallelism = spec["parallelism"].integer_or(1);
    if (spec["completions"].is_integer()) completions = spec["completions"].as_integer();
    if (!completions && !spec["parallelism"].is_integer()) completions = 1;
    backoff_limit = spec["backoffLimit"].integer_or(6);
    if (status.is_null()) status = api::Value::object();
    pods = seen.owned_by(cluster::pods, job.uid);
}

void JobPass::tell(const char* type, const std::string& reason, const std::string& message) {
    events.push_back({job.key, type, reason, message, {}});
}

void JobPass::look_in(Duration delay) {
    if (!look_again || delay < *look_again) look_again = delay;
}

void count_pods(JobPass& pass) {
    Uids tracked;
    for (const kube::ObjectPtr& pod : pass.pods) {
        if (is_tracked(*pod)) tracked.insert(pod->uid);
        if (is_finished_pod(*pod)) continue;
        (pod->is_terminating() ? pass.terminating : pass.active).push_back(pod);
    }
    settle(pass.status, "succeeded", tracked);
    settle(pass.status, "failed", tracked);
    pass.noted = pass.status;
    if (pass.indexed) {
        pass.succeeded_indexes = IndexSet::parse(pass.status["completedIndexes"].text_or(""),
                                                 pass.completions.value_or(0));
    }
    Uids noted = uids_of(pass.status["uncountedTerminatedPods"]["succeeded"]);
    noted.merge(uids_of(pass.status["uncountedTerminatedPods"]["failed"]));
    // Those noted first: the final status takes every noted pod as released.
    for (const kube::ObjectPtr& pod : pass.pods) {
        if (noted.contains(pod->uid)) pass.to_release.push_back(pod);
    }
    for (const kube::ObjectPtr& pod : pass.pods) {
        if (!tracked.contains(pod->uid) || noted.contains(pod->uid)) continue;
        if (pass.to_release.size() >= noted_max) {
            pass.look_in(Duration{});
            break;
        }
        count_pod(pass, pod);
    }
    if (pass.indexed) {
        pass.succeeded = pass.succeeded_indexes.size();
        const std::string text = pass.succeeded_indexes.text();
        if (!text.empty() || pass.noted.has("completedIndexes"))
            pass.noted.set("completedIndexes", text);
    } else {
        pass.succeeded = total(pass.noted, "succeeded");
    }
    pass.failed = total(pass.noted, "failed");
}

void begin(JobPass& pass) {
    if (ending_in(pass.status, "FailureTarget") || ending_in(pass.status, "SuccessCriteriaMet"))
        return;
    api::Value& status = pass.status;
    const api::Value before = condition_of(status, "Suspended");
    api::Value conditions = status["conditions"];
    if (pass.suspended) {
        const ConditionText text{"Suspended", "True", "JobSuspended", "Job suspended"};
        if (set_condition(conditions, text, pass.now))
            pass.tell("Normal", "Suspended", "Job suspended");
    } else if (!before.is_null()) {
        const ConditionText text{"Suspended", "False", "JobResumed", "Job resumed"};
        if (set_condition(conditions, text, pass.now)) {
            pass.tell("Normal", "Resumed", "Job resumed");
            status.set("startTime", to_rfc3339(pass.now));
        }
    }
    if (!conditions.is_null()) status.set("conditions", std::move(conditions));
    if (!pass.suspended && !status.has("startTime")) status.set("startTime", to_rfc3339(pass.now));
}

void judge(JobPass& pass) {
    const std::optional<Ending> failing = ending_in(pass.status, "FailureTarget");
    if (failing) pass.failure = failing;
    pass.success = ending_in(pass.status, "SuccessCriteriaMet");
    if (pass.success) pass.failure.reset();
    if (pass.failure || pass.success || pass.job.is_terminating()) return;
    if (is_past_backoff_limit(pass)) {
        pass.failure =
            Ending{"BackoffLimitExceeded", "Job has reached the specified backoff limit"};
    } else if (is_past_deadline(pass)) {
        pass.failure = Ending{"DeadlineExceeded", "Job was active longer than specified deadline"};
    } else if (pass.indexed && pass.job.value["spec"].has("successPolicy")) {
        const auto rule = satisfied_rule(pass.job.value["spec"]["successPolicy"],
                                         pass.succeeded_indexes, pass.completions.value_or(0));
        if (rule) {
            pass.success =
                Ending{"SuccessPolicy", "Matched rules at index " + std::to_string(*rule)};
        }
    }
}

}  // namespace muster::control::cluster

// control/ray/job_submission.cpp - the submitter Job, the request to the dashboard, and their ends.
#include "control/ray/job_submission.h"

#include <string>
#include <utility>

#include "api/json.h"
#include "control/conditions.h"
#include "control/ray/names.h"
#include "control/ray/pod_state.h"
#include "control/ray/submitter.h"

namespace muster::control::ray {
namespace {

using api::Value;

void post(JobPass& pass) {
    pass.ask(submit_call_id(pass), "POST", "/api/jobs/",
             api::to_json(submission(pass.job, pass.text("jobId"))));
}

void submit_by_request(JobPass& pass) {
    const kube::Object* answer = find_answer(pass.seen, submit_call_id(pass));
    if (answer == nullptr) {
        post(pass);
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
            post(pass);
        }
    } else {
        fail(pass, "SubmissionFailed",
             "The Ray dashboard refused the job: " + message_of_dashboard(body));
    }
}

void submit_by_job(JobPass& pass, const kube::Object& cluster) {
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
    pass.result.writes.push_back(
        {Write::Verb::create, pass.submitter_key(), "batch/v1", "",
         submitter_job(pass.job, cluster, pass.text("jobId"), pass.text("dashboardURL")), 0, "",
         ""});
}

/// A head that is gone or has ended has taken its submitter with it.
SubmitterState sidecar_state(const JobPass& pass) {
    const kube::ObjectPtr head = pass.head();
    if (head == nullptr || is_lost(*head)) return {true, true, std::nullopt};
    for (const Value& container : head->value["status"]["containerStatuses"].items()) {
        if (container["name"].text_or("") != submitter_container) continue;
        const Value& ended = container["state"]["terminated"];
        if (!ended.is_object()) continue;
        return {true, ended["exitCode"].integer_or(0) != 0, time_of(ended["finishedAt"])};
    }
    return {false, false, std::nullopt};
}

SubmitterState job_state(const kube::Object& submitter) {
    const Value& status = submitter.value["status"];
    const Value& failed = condition_of(status, "Failed");
    const Value& complete = condition_of(status, "Complete");
    if (failed["status"].text_or("") == "True")
        return {true, true, time_of(failed["lastTransitionTime"])};
    if (complete["status"].text_or("") == "True")
        return {true, false, time_of(status["completionTime"])};
    return {false, false, std::nullopt};
}

}  // namespace

void submit(JobPass& pass, const kube::Object& cluster) {
    if (pass.submission() == Submission::request) {
        submit_by_request(pass);
    } else {
        submit_by_job(pass, cluster);
    }
}

void submit_again_if_lost(JobPass& pass, const RayState& ray) {
    if (pass.submission() != Submission::request || !ray.answered || ray.known) return;
    const kube::Object* asked = find_answer(pass.seen, status_call_id(pass));
    const kube::Object* posted = find_answer(pass.seen, submit_call_id(pass));
    if (asked == nullptr || asked->value["status"].integer_or(0) != 404) return;
    const auto when_asked = time_of(asked->value["at"]);
    const auto when_posted = posted != nullptr ? time_of(posted->value["at"]) : std::nullopt;
    // What was posted after that answer may be known by now: the next answer tells.
    if (when_posted && when_asked && *when_posted >= *when_asked) return;
    post(pass);
}

SubmitterState submitter_state(const JobPass& pass) {
    if (pass.submission() == Submission::sidecar) return sidecar_state(pass);
    if (pass.submission() != Submission::submitter_job) return {};
    const kube::ObjectPtr submitter = pass.submitter();
    return submitter == nullptr ? SubmitterState{} : job_state(*submitter);
}

}  // namespace muster::control::ray

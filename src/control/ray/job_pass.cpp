// control/ray/job_pass.cpp - the steps that several states of a RayJob share.
#include "control/ray/job_pass.h"

#include <utility>
#include <variant>

#include "api/json.h"
#include "api/owner.h"
#include "base/text.h"
#include "control/ray/auth.h"

namespace muster::control::ray {
namespace {

using api::Value;

bool past_deadline(JobPass& pass, std::string_view field, const std::optional<Time>& start) {
    if (!pass.spec().has(field) || !start) return false;
    const Time deadline = *start + seconds(pass.spec()[field].integer_or(0));
    if (deadline <= pass.now) return true;
    pass.look_again(deadline - pass.now);
    return false;
}

}  // namespace

kube::ObjectPtr JobPass::cluster() const {
    const std::string name = text("rayClusterName");
    return name.empty() ? nullptr : seen.find({clusters, job.key.ns, name});
}

Submission JobPass::submission() const {
    const std::string_view mode = spec()["submissionMode"].text_or("");
    if (mode == "HTTPMode") return Submission::request;
    if (mode == "SidecarMode") return Submission::sidecar;
    if (mode == "InteractiveMode") return Submission::user;
    return Submission::submitter_job;
}

kube::ObjectPtr JobPass::submitter() const {
    kube::ObjectPtr found = seen.find(submitter_key());
    return found != nullptr && api::is_owned_by(found->value, job.uid) ? found : nullptr;
}

kube::ObjectPtr JobPass::head() const {
    const kube::ObjectPtr owner = cluster();
    if (owner == nullptr) return nullptr;
    for (kube::ObjectPtr& pod : seen.owned_by(pods, owner->uid)) {
        if (pod->label(node_type_label) == "head" && !pod->is_terminating()) return std::move(pod);
    }
    return nullptr;
}

void JobPass::ask(std::string id, std::string method, std::string_view path, std::string body) {
    Call call{std::move(id), std::move(method),
              "http://" + text("dashboardURL") + std::string(path), std::move(body), job.key};
    const kube::ObjectPtr target = cluster();
    if (target != nullptr) {
        if (auto header = token_header(seen, *target)) call.headers.push_back(std::move(*header));
    }
    result.calls.push_back(std::move(call));
}

void JobPass::event(std::string_view type, std::string_view reason, std::string message,
                    std::string_view action) {
    result.events.push_back(
        {job.key, std::string(type), std::string(reason), std::move(message), std::string(action)});
}

void JobPass::remove(const kube::Object& object, std::string_view api_version,
                     std::string_view reason) {
    if (object.is_terminating()) return;
    event("Normal", reason, "Deleted " + to_text(object.key), "Delete");
    result.writes.push_back({Write::Verb::remove,
                             object.key,
                             std::string(api_version),
                             "",
                             {},
                             0,
                             object.uid,
                             "Background"});
}

void JobPass::look_again(Duration after) {
    if (!result.look_again || after < *result.look_again) result.look_again = after;
}

std::optional<Time> time_of(const Value& value) {
    return parse_rfc3339(value.text_or(""));
}

void set_deployment(JobPass& pass, std::string_view deployment, std::string_view reason,
                    const std::string& message) {
    pass.status.set("jobDeploymentStatus", deployment);
    if (reason.empty()) {
        pass.status.erase("reason");
    } else {
        pass.status.set("reason", reason);
    }
    if (message.empty()) {
        pass.status.erase("message");
    } else {
        pass.status.set("message", message);
    }
}

/// Ends the try: another one while the back-off limit allows, else Failed.
void fail(JobPass& pass, std::string_view reason, const std::string& message) {
    const std::int64_t failed = pass.status["failed"].integer_or(0) + 1;
    pass.status.set("failed", failed);
    pass.status.set("endTime", to_rfc3339(pass.now));
    const bool retryable =
        reason != "DeadlineExceeded" && reason != "JobStatusCheckTimeoutExceeded";
    const bool again = retryable && failed <= pass.spec()["backoffLimit"].integer_or(0);
    set_deployment(pass, again ? "Retrying" : "Failed", reason, message);
    if (!again) pass.event("Warning", "RayJobFailed", message, "Reconcile");
}

bool missed_deadline(JobPass& pass, Deadline which) {
    const auto start = time_of(pass.status["startTime"]);
    if (past_deadline(pass, "activeDeadlineSeconds", start)) {
        fail(pass, "DeadlineExceeded",
             "The RayJob has passed the activeDeadlineSeconds. StartTime: " +
                 pass.text("startTime"));
        return true;
    }
    if (which == Deadline::before_running &&
        past_deadline(pass, "preRunningDeadlineSeconds", start)) {
        fail(pass, "PreRunningDeadlineExceeded",
             "The RayJob has passed the preRunningDeadlineSeconds. StartTime: " +
                 pass.text("startTime"));
        return true;
    }
    return false;
}

std::string message_of_dashboard(std::string_view text) {
    constexpr std::size_t most = 32 << 10;  // As long as the message of a condition may be.
    const std::string_view kept = utf8_prefix(text, most);
    if (kept.size() == text.size()) return std::string(text);
    return std::string(kept) + "... (" + std::to_string(text.size()) + " bytes)";
}

std::string status_call_id(const JobPass& pass) {
    return "rayjob-status/" + pass.job.uid + "/" + pass.text("jobId");
}

std::string submit_call_id(const JobPass& pass) {
    return "rayjob-submit/" + pass.job.uid + "/" + pass.text("jobId");
}

RayState poll(JobPass& pass) {
    const std::string call_id = status_call_id(pass);
    const kube::Object* answer = find_answer(pass.seen, call_id);
    RayState state;
    const auto at = answer != nullptr ? time_of(answer->value["at"]) : std::nullopt;
    if (at) {
        state.answered = answer->value["status"].integer_or(0) != 0;
        auto parsed = api::parse_json(answer->value["body"].text_or(""));
        if (answer->value["status"].integer_or(0) == 200 &&
            std::holds_alternative<api::Parsed>(parsed)) {
            const Value& body = std::get<api::Parsed>(parsed).value;
            state.known = true;
            // One of five words; the dashboard is the user's own, and may say anything.
            state.status = utf8_prefix(body["status"].text(), 64);
            state.message = message_of_dashboard(body["message"].text());
            Value info = Value::object();
            for (const char* field : {"start_time", "end_time"}) {
                if (!body[field].is_number()) continue;
                const double milliseconds_since_epoch = body[field].as_real();
                // What the dashboard says is the user's own: any number may come.
                if (!(milliseconds_since_epoch >= 0 && milliseconds_since_epoch < 9e12)) continue;
                const Time time{static_cast<std::int64_t>(milliseconds_since_epoch) * 1'000'000};
                info.set(std::string_view(field) == "start_time" ? "startTime" : "endTime",
                         to_rfc3339(time));
            }
            if (!info.empty()) pass.status.set("rayJobInfo", std::move(info));
        }
    }
    if (state.known && state.terminal()) return state;
    if (!at || pass.now - *at >= poll_period) {
        pass.ask(call_id, "GET", "/api/jobs/" + pass.text("jobId"), "");
    } else {
        pass.look_again(poll_period - (pass.now - *at));
    }
    return state;
}

}  // namespace muster::control::ray

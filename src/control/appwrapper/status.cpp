// control/appwrapper/status.cpp - states, conditions, reasons and senders as MCAD writes them.
#include "control/appwrapper/status.h"

#include <algorithm>
#include <utility>

namespace muster::control::appwrapper {
namespace {

using api::Value;

/// What a step writes: the condition and the fields that go with it.
struct Step {
    std::string_view type;
    std::string_view reason;
    std::string_view message;
};

void set_condition(Value& status, const Step& step, Time now) {
    Value made = Value::object({{"type", step.type},
                                {"status", "True"},
                                {"lastUpdateMicroTime", to_rfc3339_micro(now)},
                                {"lastTransitionMicroTime", to_rfc3339_micro(now)}});
    if (!step.reason.empty()) made.set("reason", step.reason);
    if (!step.message.empty()) made.set("message", step.message);
    Value::Array& conditions = status.at("conditions").mutable_items();
    const auto found = std::find_if(conditions.begin(), conditions.end(), [&](const Value& c) {
        return c["type"].text_or("") == step.type;
    });
    if (found == conditions.end()) {
        conditions.push_back(std::move(made));
    } else {
        *found = std::move(made);
    }
}

/// What every AppWrapper has had once it was looked at: Init, then a place in the line.
Value begun(const Value& appwrapper, Time now) {
    Value status = appwrapper["status"];
    if (status.is_null()) status = Value::object();
    if (!status.has("controllerfirsttimestamp")) {
        status.set("controllerfirsttimestamp", to_rfc3339_micro(now));
        const std::int64_t priority = appwrapper["spec"]["priority"].integer_or(0);
        if (priority != 0) status.set("systempriority", priority);
        set_condition(status, {"Init", "", ""}, now);
        set_condition(status, {"Queueing", "AwaitingHeadOfLine", ""}, now);
    }
    const std::int64_t least = appwrapper["spec"]["schedulingSpec"]["minAvailable"].integer_or(0);
    if (least > 0) status.set("template", least);
    status.set("filterignore", true);
    return status;
}

void set_state(Value& status, std::string_view state, std::string_view queue_state,
               std::string_view sender) {
    status.set("state", state);
    status.set("queuejobstate", queue_state);
    status.set("sender", sender);
}

PodCounts counts_in(const Value& status) {
    return {status["pending"].integer_or(0),   status["running"].integer_or(0),
            status["Succeeded"].integer_or(0), status["failed"].integer_or(0),
            status["totalcpu"].integer_or(0),  status["totalmemory"].integer_or(0),
            status["totalgpu"].integer_or(0),  status["pendingpodconditions"]};
}

void set_counts(Value& status, const PodCounts& counts) {
    // Zero is left out, as Go's omitempty does.
    const auto set = [&status](std::string_view field, std::int64_t value) {
        if (value == 0) {
            status.erase(field);
        } else {
            status.set(field, value);
        }
    };
    set("pending", counts.pending);
    set("running", counts.running);
    set("Succeeded", counts.succeeded);
    set("failed", counts.failed);
    set("totalcpu", counts.total_cpu_milli);
    set("totalmemory", counts.total_memory);
    set("totalgpu", counts.total_gpu);
    if (counts.waiting.empty()) {
        status.erase("pendingpodconditions");
    } else {
        status.set("pendingpodconditions", counts.waiting);
    }
}

/// Its objects are cleared away, and their pods with them: so MCAD counts none from here on.
void let_go(Value& status) {
    status.erase("canrun");
    set_counts(status, {});
}

/// The waiting time before the next requeuing, after this one.
std::int64_t next_waiting_time(const Value& requeuing, std::int64_t present, std::int64_t times) {
    const std::int64_t base = requeuing["timeInSeconds"].integer_or(300);
    const std::int64_t initial = requeuing["initialTimeInSeconds"].integer_or(0);
    const std::int64_t most = requeuing["maxTimeInSeconds"].integer_or(0);
    const std::string_view growth = requeuing["growthType"].text_or("exponential");
    std::int64_t next = present > 0 ? present : base;
    if (growth == "exponential") {
        next = times == 0 ? base : std::min<std::int64_t>(next, INT32_MAX / 2) * 2;
    } else if (growth == "linear") {
        next = present + (initial > 0 ? initial : base);
    }
    return most > 0 ? std::min(next, most) : next;
}

}  // namespace

const Value& condition(const Value& status, std::string_view type) {
    static const Value absent{};
    for (const Value& found : status["conditions"].items()) {
        if (found["type"].text_or("") == type) return found;
    }
    return absent;
}

Time condition_time(const Value& status, std::string_view type) {
    return parse_rfc3339(condition(status, type)["lastTransitionMicroTime"].text_or(""))
        .value_or(Time{});
}

Value backed_off(const Value& appwrapper, std::string_view reason, std::string_view message,
                 Time now) {
    const Value& before = appwrapper["status"];
    const Value& present = condition(before, "Backoff");
    const bool said = before["queuejobstate"].text_or("") == "Backoff" &&
                      present["reason"].text_or("") == reason &&
                      present["message"].text_or("") == message;
    if (said) return before;
    Value status = begun(appwrapper, now);
    set_condition(status, {"HeadOfLine", "FrontOfQueue.", ""}, now);
    set_condition(status, {"Backoff", reason, message}, now);
    status.erase("canrun");
    set_state(status, "Pending", "Backoff", "before ScheduleNext - setHOL");
    return status;
}

Value can_run(const Value& appwrapper, Time now) {
    Value status = begun(appwrapper, now);
    set_condition(status, {"HeadOfLine", "FrontOfQueue.", ""}, now);
    status.set("canrun", true);
    set_state(status, "Pending", "HeadOfLine", "before ScheduleNext - setCanRun");
    return status;
}

Value evicted(const Value& appwrapper, Time now) {
    Value status = begun(appwrapper, now);
    let_go(status);
    set_state(status, "Pending", "Queueing", "before preemptAWJobs - CanRun: false");
    return status;
}

Value dispatched(const Value& appwrapper, Time now) {
    Value status = begun(appwrapper, now);
    set_condition(status, {"Dispatched", "AppWrapperRunnable", ""}, now);
    status.set("canrun", true);
    set_state(status, "Running", "Dispatched", "before manageQueueJob - afterEtcdDispatching");
    return status;
}

Value creation_failed(const Value& appwrapper, const std::string& message, Time now) {
    Value status = begun(appwrapper, now);
    const std::string text = appwrapper["metadata"]["namespace"].text() + "/" +
                             appwrapper["metadata"]["name"].text() +
                             " creation failure: " + message;
    set_condition(status, {"Failed", "ItemCreationFailure.", text}, now);
    let_go(status);
    set_state(status, "Failed", "Failed", "before manageQueueJob - afterEtcdDispatching");
    return status;
}

Value counted(const Value& appwrapper, const PodCounts& counts, Time now) {
    const Value& before = appwrapper["status"];
    if (counts_in(before) == counts) return before;
    Value status = before;
    set_counts(status, counts);
    if (before["running"].integer_or(0) == 0 && counts.running > 0) {
        set_condition(status, {"Running", "PodsRunning", ""}, now);
        status.set("queuejobstate", "Running");
    }
    status.set("sender", "before [syncQueueJob] Update pod counts");
    return status;
}

Value completed(const Value& appwrapper, const PodCounts& counts, Time now) {
    Value status = appwrapper["status"];
    set_counts(status, counts);
    set_condition(status, {"Completed", "PodsCompleted", ""}, now);
    status.erase("canrun");
    set_state(status, "Completed", "Completed", "before [UpdateQueueJobs] setCompleted");
    return status;
}

Value held_completion(const Value& appwrapper, Time now) {
    Value status = appwrapper["status"];
    set_condition(status, {"RunningHoldCompletion", "SomeItemsCompleted", ""}, now);
    // Two blanks: so it is written.
    set_state(status, "RunningHoldCompletion", "RunningHoldCompletion",
              "before [UpdateQueueJobs]  setRunningHoldCompletion");
    return status;
}

Value preempted(const Value& appwrapper, std::string_view reason, const std::string& message,
                Time now) {
    Value status = appwrapper["status"];
    const Value& requeuing = appwrapper["spec"]["schedulingSpec"]["requeuing"];
    const std::int64_t times = status["numberOfRequeueings"].integer_or(0);
    status.set(
        "requeueingTimeInSeconds",
        next_waiting_time(requeuing, status["requeueingTimeInSeconds"].integer_or(0), times));
    status.set("numberOfRequeueings", times + 1);
    set_condition(status, {"PreemptCandidate", reason, message}, now);
    set_condition(status, {"Backoff", "PreemptionTriggered", ""}, now);
    let_go(status);
    set_state(status, "Pending", "Backoff",
              "before PreemptQueueJobs - CanRun: false -- " + std::string(reason));
    return status;
}

Value deadline_exceeded(const Value& appwrapper, std::int64_t limit_seconds, Time now) {
    Value status = appwrapper["status"];
    const std::string message = "Dispatch deadline exceeded. allowed to run for " +
                                std::to_string(limit_seconds) + " seconds";
    set_condition(status, {"PreemptCandidate", "DispatchDeadlineExceeded", message}, now);
    let_go(status);
    set_state(status, "Failed", "Failed",
              "before PreemptQueueJobs - CanRun: false -- DispatchDeadlineExceeded");
    return status;
}

Value given_up(const Value& appwrapper, Time now) {
    Value status = appwrapper["status"];
    set_condition(status,
                  {"Deleted", "MaxNumRequeuings", "Requeued as often as maxNumRequeuings allows."},
                  now);
    let_go(status);
    set_state(status, "Deleted", "Deleted",
              "before PreemptQueueJobs - CanRun: false -- MaxNumRequeuings");
    return status;
}

}  // namespace muster::control::appwrapper

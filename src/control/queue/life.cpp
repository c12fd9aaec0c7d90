// control/queue/life.cpp - the Workload's life in Kueue's words and order.
#include "control/queue/life.h"

#include <algorithm>
#include <utility>

#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/queue/checks.h"
#include "control/queue/names.h"
#include "control/queue/workload.h"
#include "control/queue/workload_status.h"

namespace muster::control::queue {
namespace {

using api::Value;

/// One look at a Workload in the making: its steps run in the order in which they stand here.
struct Living {
    const kube::Object& workload;
    const QueuesOf& queues;
    const LifePolicy& policy;
    Time now;
    Lived lived;

    void sync_gates();
    void wait_for_retry();
    void follow_checks();
    bool lose_reservation();
    void become_admitted();
    bool fail_checks();
    void fail_early_checks();
    bool miss_pods();
    void run_out();

    Value& status() { return lived.status; }
    bool is(const char* condition) {
        return condition_of(status(), condition)["status"].text_or("") == "True";
    }
    Time since(const char* condition) {
        return fold_time(condition_of(status(), condition)["lastTransitionTime"]);
    }
    bool holds() { return status()["admission"].is_object(); }
    std::string retry_text() { return "Evicted due to " + check_message(status(), "Retry"); }
    void look_again(Duration wait) {
        if (!lived.look_again || wait < *lived.look_again) lived.look_again = wait;
    }
    void deactivate(const char* reason, std::string message) {
        set_condition(status().at("conditions"),
                      {"DeactivationTarget", "True", reason, std::move(message)}, now);
        lived.deactivate = Lived::Deactivate::yes;
    }
    void evict(Eviction eviction) {
        kube::Object changed = workload;
        changed.value.set("status", status());
        Told told = tell_evicted(changed, std::move(eviction), now);
        status() = std::move(told.status);
        lived.events.insert(lived.events.end(), told.events.begin(), told.events.end());
    }
    void withdraw(const char* reason, const std::string& message) {
        status().erase("admission");
        set_condition(status().at("conditions"), {"QuotaReserved", "False", reason, message}, now);
        sync_admitted(status(), now);
    }
};

// Every gate of the spec has its state in the status, closed until somebody opens it.
void Living::sync_gates() {
    Value wanted = Value::array();
    for (const Value& gate : workload.value["spec"]["preemptionGates"].items()) {
        Value state = Value::object({{"name", gate["name"]},
                                     {"position", "Closed"},
                                     {"lastTransitionTime", to_rfc3339(now)}});
        for (const Value& known : status()["preemptionGates"].items()) {
            if (known["name"] == gate["name"]) state = known;
        }
        wanted.push(std::move(state));
    }
    if (wanted.empty() && status()["preemptionGates"].empty()) return;
    status().set("preemptionGates", std::move(wanted));
}

// A check that says Retry may say for how long.
void Living::wait_for_retry() {
    const auto retry = retry_time(status());
    if (!retry || *retry <= now) return;
    if (fold_time(status()["requeueState"]["requeueAt"]) >= *retry) return;
    status().at("requeueState").set("requeueAt", to_rfc3339(*retry));
}

void Living::follow_checks() {
    if (queues.cluster_queue == nullptr || is("Admitted")) return;
    sync_checks(status(), checks_for(queues.cluster_queue->value, status()), now);
}

// Quota that is only reserved is given back when a queue stops.
bool Living::lose_reservation() {
    const auto lose = [&](const char* kind, const kube::Object* queue, const std::string& name) {
        const std::string which = std::string(kind) + " " + name;
        if (queue == nullptr || queue->is_terminating()) {
            withdraw("Misconfigured", which + " is terminating or missing");
        } else if (queue->value["spec"]["stopPolicy"].text_or("None") != "None") {
            withdraw("Suspended", which + " is stopped");
        } else {
            return false;
        }
        return true;
    };
    return lose("LocalQueue", queues.local_queue.get(),
                workload.value["spec"]["queueName"].text()) ||
           lose("ClusterQueue", queues.cluster_queue.get(),
                status()["admission"]["clusterQueue"].text());
}

void Living::become_admitted() {
    sync_admitted(status(), now);
    if (!is("Admitted")) return;
    lived.events.push_back(admitted_event(workload, status()["admission"]["clusterQueue"].text(),
                                          now - since("QuotaReserved")));
}

bool Living::fail_checks() {
    if (has_check_in(status(), "Rejected")) {
        const std::string message = check_message(status(), "Rejected");
        deactivate("AdmissionCheck", message);
        lived.events.push_back({workload.key, "Warning", "AdmissionCheckRejected",
                                "Deactivated due to " + message, ""});
        return true;
    }
    if (!has_check_in(status(), "Retry")) return false;
    evict({"AdmissionCheck", retry_text()});
    return true;
}

// A check may answer before there is quota, and again: nothing is given back then, but it waits.
void Living::fail_early_checks() {
    const std::string message = has_check_in(status(), "Retry") ? retry_text() : "";
    fail_checks();
    if (message.empty() || lived.deactivate == Lived::Deactivate::yes) return;
    reset_checks(status(), now);
    set_condition(status().at("conditions"), {"Requeued", "False", "AdmissionCheck", message}, now);
}

bool Living::miss_pods() {
    if (!policy.wait_for_pods_ready || is("PodsReady")) return false;
    const WaitForPodsReady& wait = *policy.wait_for_pods_ready;
    const bool recovers =
        condition_of(status(), "PodsReady")["reason"].text_or("") == "WaitForRecovery";
    if (recovers && !wait.recovery_timeout) return false;
    const Duration left = recovers ? *wait.recovery_timeout - (now - since("PodsReady"))
                                   : wait.timeout - (now - since("Admitted"));
    if (left > Duration{}) {
        look_again(left);
        return false;
    }
    const std::int64_t tries = status()["requeueState"]["count"].integer_or(0) + 1;
    if (wait.backoff_limit && tries > *wait.backoff_limit) {
        deactivate("RequeuingLimitExceeded", "exceeding the maximum number of re-queuing retries");
        return true;
    }
    Value& state = status().at("requeueState");
    state.set("count", tries);
    state.set("requeueAt", to_rfc3339(now + backoff(wait, tries)));
    evict({"PodsReadyTimeout",
           "Exceeded the PodsReady timeout " + workload.key.ns + "/" + workload.key.name,
           {},
           recovers ? "WaitForRecovery" : "WaitForStart"});
    return true;
}

void Living::run_out() {
    const Value& limit = workload.value["spec"]["maximumExecutionTimeSeconds"];
    if (!limit.is_integer()) return;
    const Duration spent = (now - since("Admitted")) +
                           seconds(status()["accumulatedPastExecutionTimeSeconds"].integer_or(0));
    const Duration left = seconds(limit.as_integer()) - spent;
    if (left > Duration{}) return look_again(left);
    deactivate("MaximumExecutionTimeExceeded", "exceeding the maximum execution time");
    status().erase("accumulatedPastExecutionTimeSeconds");
    lived.events.push_back(
        {workload.key, "Warning", "MaximumExecutionTimeExceeded",
         "The maximum execution time (" + std::to_string(limit.as_integer()) + "s) exceeded", ""});
}

}  // namespace

QueuesOf queues_of(const kube::Cache& seen, const kube::Object& workload) {
    QueuesOf queues;
    queues.local_queue =
        seen.find({local_queues, workload.key.ns, workload.value["spec"]["queueName"].text()});
    std::string behind = workload.value["status"]["admission"]["clusterQueue"].text();
    if (behind.empty() && queues.local_queue != nullptr)
        behind = queues.local_queue->value["spec"]["clusterQueue"].text();
    if (!behind.empty()) queues.cluster_queue = seen.find({cluster_queues, "", behind});
    return queues;
}

Lived live(const kube::Object& workload, const QueuesOf& queues, const LifePolicy& policy,
           Time now) {
    Living living{workload, queues, policy, now, {}};
    Value& status = living.status();
    status = workload.value["status"];
    if (status.is_null()) status = Value::object();
    const bool target = living.is("DeactivationTarget");
    if (!workload.value["spec"]["active"].boolean_or(true)) {
        // Its eviction is decided with all others; what is left of an earlier one goes.
        if (living.is("Evicted")) {
            if (target) remove_condition(status.at("conditions"), "DeactivationTarget");
            status.erase("requeueState");
        }
        return std::move(living.lived);
    }
    if (target) {
        living.lived.deactivate = Lived::Deactivate::yes;
        return std::move(living.lived);
    }
    living.sync_gates();
    if (living.is("Evicted") && living.holds()) return std::move(living.lived);
    living.wait_for_retry();
    living.follow_checks();
    if (!living.holds()) {
        living.fail_early_checks();
        return std::move(living.lived);
    }
    if (!living.is("Admitted")) {
        if (living.lose_reservation()) return std::move(living.lived);
        living.become_admitted();
    }
    if (living.fail_checks() || !living.is("Admitted")) return std::move(living.lived);
    if (!living.miss_pods()) living.run_out();
    return std::move(living.lived);
}

Duration backoff(const WaitForPodsReady& policy, std::int64_t n) {
    std::int64_t wait = policy.backoff_base_seconds;
    for (std::int64_t i = 1; i < n && wait < policy.backoff_max_seconds; ++i)
        wait *= 2;
    return seconds(std::min(wait, policy.backoff_max_seconds));
}

Time queued_at(const Value& workload, Time arrival, const std::optional<WaitForPodsReady>& policy) {
    const Value& evicted = condition_of(workload["status"], "Evicted");
    if (evicted["status"].text_or("") != "True") return arrival;
    const std::string_view reason = evicted["reason"].text_or("");
    const bool by_time = reason == "PodsReadyTimeout" && policy &&
                         policy->timestamp == WaitForPodsReady::Timestamp::eviction;
    if (!by_time && reason != "AdmissionCheck") return arrival;
    return fold_time(evicted["lastTransitionTime"]);
}

std::optional<Time> removed_at(const Value& workload, const Retention& retention) {
    const Value& status = workload["status"];
    const Value& finished = condition_of(status, "Finished");
    if (finished["status"].text_or("") == "True") {
        if (!retention.after_finished) return std::nullopt;
        return fold_time(finished["lastTransitionTime"]) + *retention.after_finished;
    }
    const Value& evicted = condition_of(status, "Evicted");
    if (!retention.after_deactivated || workload["spec"]["active"].boolean_or(true) ||
        evicted["status"].text_or("") != "True" ||
        !evicted["reason"].text_or("").starts_with("DeactivatedDueTo")) {
        return std::nullopt;
    }
    return fold_time(evicted["lastTransitionTime"]) + *retention.after_deactivated;
}

}  // namespace muster::control::queue

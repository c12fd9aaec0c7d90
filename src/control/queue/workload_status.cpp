// control/queue/workload_status.cpp - conditions and events of Workloads.
#include "control/queue/workload_status.h"

#include <algorithm>
#include <utility>

#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/queue/checks.h"
#include "control/queue/fold.h"
#include "control/queue/names.h"
#include "control/queue/topology.h"
#include "control/queue/workload.h"
#include "decide/why_text.h"

namespace muster::control::queue {
namespace {

using api::Value;

Value admission_of(const decide::Assignment& assignment) {
    Value sets = Value::array();
    for (const decide::PodSetAssignment& set : assignment.pod_sets) {
        Value flavors = Value::object();
        for (const auto& [resource, flavor] : set.flavors)
            flavors.set(resource, flavor);
        Value usage = Value::object();
        for (const auto& [resource, amount] : set.usage)
            usage.set(resource, quantity_text(resource, amount));
        Value made = Value::object({{"name", set.name},
                                    {"flavors", std::move(flavors)},
                                    {"resourceUsage", std::move(usage)},
                                    {"count", set.count}});
        if (set.topology) made.set("topologyAssignment", topology_assignment_of(*set.topology));
        sets.push(std::move(made));
    }
    return Value::object(
        {{"clusterQueue", assignment.cluster_queue}, {"podSetAssignments", std::move(sets)}});
}

/// What ended the last run is over with a new reservation.
void reset_condition(Value& status, const char* type, Time now) {
    const Value before = condition_of(status, type);
    if (before["status"].text_or("") != "True") return;
    set_condition(status.at("conditions"),
                  {type, "False", "QuotaReserved", "Previously: " + before["message"].text()}, now);
}

std::string whole_seconds(Duration duration) {
    return std::to_string(std::max<std::int64_t>(0, duration.nanoseconds + 500'000'000) /
                          1'000'000'000) +
           "s";
}

void count_eviction(Value& status, const Eviction& eviction) {
    Value& evictions = status.at("schedulingStats").at("evictions");
    for (Value& known : evictions.mutable_items()) {
        if (known["reason"].text_or("") != eviction.reason ||
            known["underlyingCause"].text_or("") != eviction.underlying_cause) {
            continue;
        }
        known.set("count", known["count"].integer_or(0) + 1);
        return;
    }
    evictions.push(Value::object({{"reason", eviction.reason},
                                  {"underlyingCause", eviction.underlying_cause},
                                  {"count", 1}}));
}

/// What was said for this run only.
void reset_for_next_run(Value& status, const std::string& reason, const std::string& message,
                        Time now) {
    reset_checks(status, now);
    for (const char* field : {"clusterName", "nominatedClusterNames", "unhealthyNodes"})
        status.erase(field);
    if (!status["preemptionGates"].empty()) {
        for (Value& gate : status.at("preemptionGates").mutable_items()) {
            if (gate["position"].text_or("") == "Closed") continue;
            gate.set("position", "Closed");
            gate.set("lastTransitionTime", to_rfc3339(now));
        }
    }
    if (condition_of(status, "BlockedOnPreemptionGates")["status"].text_or("") == "True") {
        set_condition(status.at("conditions"),
                      {"BlockedOnPreemptionGates", "False", reason, message}, now);
    }
}

bool was_looked_at(decide::WaitReason::Rule rule) {
    using Rule = decide::WaitReason::Rule;
    return rule != Rule::behind_head && rule != Rule::behind_preemptor;
}

std::string text_or_word(std::string_view text, const char* word) {
    return text.empty() ? word : std::string(text);
}

bool is_put_out(decide::WaitReason::Rule rule) {
    using Rule = decide::WaitReason::Rule;
    return rule == Rule::deactivated || rule == Rule::local_queue_stopped ||
           rule == Rule::cluster_queue_stopped || rule == Rule::backoff ||
           rule == Rule::being_ended;
}

/// Why a workload that was put out of the queue is in it again. Null when it was not put out.
const char* requeued_reason(const Value& requeued) {
    if (requeued["status"].text_or("") != "False") return nullptr;
    const std::string_view before = requeued["reason"].text_or("");
    if (before.starts_with("Deactivated")) return "Reactivated";
    if (before == "ClusterQueueStopped") return "ClusterQueueRestarted";
    if (before == "LocalQueueStopped") return "LocalQueueRestarted";
    return "BackoffFinished";
}

std::string requeued_message(std::string_view reason) {
    if (reason == "Reactivated") return "The workload was reactivated";
    if (reason == "ClusterQueueRestarted")
        return "The ClusterQueue was restarted after being stopped";
    if (reason == "LocalQueueRestarted") return "The LocalQueue was restarted after being stopped";
    return "The workload backoff was finished";
}

Event gate_cleared_event(const kube::Object& workload) {
    return {workload.key, "Normal", "AdmissionGateCleared",
            "Admission gate cleared, workload is now admissible", ""};
}

/// It is in the queue again: why, and no waiting time is left.
void tell_requeued(Value& status, Time now) {
    if (fold_time(status["requeueState"]["requeueAt"]) > now) return;
    const Value requeued = condition_of(status, "Requeued");
    if (const char* again = requeued_reason(requeued))
        set_condition(status.at("conditions"), {"Requeued", "True", again, requeued_message(again)},
                      now);
    if (!status["requeueState"]["requeueAt"].is_null())
        status.at("requeueState").erase("requeueAt");
}

/// Places that were found anew for pods of a failed node.
void move_places(Value& admission, const decide::Assignment& assignment) {
    for (Value& set : admission.at("podSetAssignments").mutable_items()) {
        for (const decide::PodSetAssignment& held : assignment.pod_sets) {
            if (!held.topology || set["name"].text_or("main") != held.name) continue;
            if (fold_topology_assignment(set["topologyAssignment"]) != held.topology)
                set.set("topologyAssignment", topology_assignment_of(*held.topology));
        }
    }
}

}  // namespace

Event admitted_event(const kube::Object& workload, const std::string& queue, Duration waited) {
    return {workload.key, "Normal", "Admitted",
            "Admitted by ClusterQueue " + queue + ", wait time since reservation was " +
                whole_seconds(waited),
            ""};
}

Told tell_admitted(const kube::Object& workload, const decide::Assignment& assignment, Time now,
                   const Value& cluster_queue) {
    Told told{workload.value["status"], {}};
    Value& status = told.status;
    if (has_admission(workload.value)) {
        move_places(status.at("admission"), assignment);
        return told;
    }
    const Value before = condition_of(status, "QuotaReserved");
    if (before["message"].text_or("").starts_with("Admission is gated by: "))
        told.events.push_back(gate_cleared_event(workload));
    status.set("admission", admission_of(assignment));
    status.erase("resourceRequests");  // The admission says it better.
    Value& conditions = status.at("conditions");
    const std::string queue = assignment.cluster_queue;
    set_condition(
        conditions,
        {"QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue " + queue}, now);
    for (const char* type : {"Evicted", "Preempted", "BlockedOnPreemptionGates"})
        reset_condition(status, type, now);
    tell_requeued(status, now);
    sync_checks(status, checks_for(cluster_queue, status), now);
    sync_admitted(status, now);
    const Time created = fold_time(workload.value["metadata"]["creationTimestamp"]);
    told.events.push_back({workload.key, "Normal", "QuotaReserved",
                           "Quota reserved in ClusterQueue " + queue +
                               ", wait time since queued was " + whole_seconds(now - created),
                           ""});
    if (condition_of(status, "Admitted")["status"].text_or("") == "True")
        told.events.push_back(admitted_event(workload, queue, Duration{}));
    return told;
}

/// Closed gates, of admission or of preemption, have a say of their own.
void tell_gates(const kube::Object& workload, const decide::WaitReason& reason, const Value& before,
                Time now, Told& told) {
    using Rule = decide::WaitReason::Rule;
    const auto was_gated = [&] {
        return before["reason"].text_or("") == "AdmissionGated" &&
               before["message"].text_or("").starts_with("Admission is gated by: ");
    };
    if (reason.rule == Rule::admission_gated && !was_gated()) {
        told.events.push_back({workload.key, "Normal", "AdmissionGated",
                               "Workload admission is gated by: " + reason.detail, ""});
    } else if (reason.rule != Rule::admission_gated && was_gated()) {
        told.events.push_back(gate_cleared_event(workload));
    }
    if (reason.rule == Rule::preemption_gated) {
        set_condition(told.status.at("conditions"),
                      {"BlockedOnPreemptionGates", "True", "PreemptionGated",
                       "Workload requires preemption, but it's gated"},
                      now);
    }
}

Told tell_waiting(const kube::Object& workload, const decide::WaitReason& reason,
                  const std::string& tried, Queues queues, Time now) {
    Told told{workload.value["status"], {}};
    if (has_admission(workload.value)) return told;
    const Value before = condition_of(told.status, "QuotaReserved");
    if (!told.status.is_null() && !is_put_out(reason.rule)) tell_requeued(told.status, now);
    // Whom nobody has looked at keeps the reason of its last try, as in Kueue, or has none.
    const bool looked_at = was_looked_at(reason.rule) && tried.empty();
    if (!looked_at && before["status"].text_or("") != "False") return told;
    if (told.status.is_null()) told.status = Value::object();
    Value& conditions = told.status.at("conditions");
    const std::string message =
        tried.empty() ? decide::condition_message(reason)
                      : "Needs the same as " + tried + ": " + decide::condition_message(reason);
    std::string word = looked_at ? decide::condition_reason(reason) : before["reason"].text();
    if (!looked_at && (queues == Queues::were_stopped || word == "Deactivated"))
        word = "PendingEvaluation";
    const bool news = set_condition(conditions, {"QuotaReserved", "False", word, message}, now);
    const bool gated = reason.rule == decide::WaitReason::Rule::admission_gated;
    if (news && looked_at && !gated)
        told.events.push_back({workload.key, "Warning", word, message, ""});
    tell_gates(workload, reason, before, now, told);
    return told;
}

/// Both sides are told, with the priorities that counted.
void tell_preemption(const kube::Object& workload, const Eviction& eviction, Told& told) {
    const auto priority = [](std::int64_t value) {
        const std::string number = std::to_string(value);
        return number + " (base: " + number + ", boost: 0)";
    };
    std::string priorities;
    if (eviction.preemptor) {
        priorities = "; preemptor effective priority: " + priority(eviction.preemptor_priority) +
                     "; preemptee effective priority: " +
                     priority(workload.value["spec"]["priority"].integer_or(0));
    }
    told.events.push_back({workload.key, "Normal", "Preempted", eviction.message + priorities, ""});
    if (!eviction.preemptor) return;
    told.events.push_back({*eviction.preemptor, "Normal", "PreemptedWorkload",
                           "Preempted workload " + workload.key.ns + "/" + workload.key.name +
                               " (UID: " + workload.uid + ") in ClusterQueue " +
                               workload.value.path("status.admission.clusterQueue").text() +
                               priorities,
                           ""});
}

Told tell_evicted(const kube::Object& workload, Eviction eviction, Time now) {
    Told told{workload.value["status"], {}};
    if (is_evicted(workload.value)) return told;
    const Value& target = condition_of(told.status, "DeactivationTarget");
    if (eviction.reason == "Deactivated" && target["status"].text_or("") == "True") {
        eviction.underlying_cause = target["reason"].text();
        eviction.message += " due to " + target["message"].text();
    }
    if (told.status.is_null()) told.status = Value::object();
    count_eviction(told.status, eviction);
    if (eviction.reason == "Deactivated") {
        remove_condition(told.status.at("conditions"), "DeactivationTarget");
        told.status.erase("requeueState");
        if (!eviction.underlying_cause.empty())
            eviction.reason += "DueTo" + eviction.underlying_cause;
    }
    set_condition(told.status.at("conditions"),
                  {"Evicted", "True", eviction.reason, eviction.message}, now);
    reset_for_next_run(told.status, eviction.reason, eviction.message, now);
    if (!eviction.preemption.empty()) {
        set_condition(told.status.at("conditions"),
                      {"Preempted", "True", eviction.preemption, eviction.message}, now);
        tell_preemption(workload, eviction, told);
    }
    if (eviction.reason.starts_with("Deactivated") && !has_admission(workload.value)) {
        set_condition(told.status.at("conditions"),
                      {"Requeued", "False", eviction.reason, eviction.message}, now);
    }
    told.events.push_back(
        {workload.key, "Normal", "EvictedDueTo" + eviction.reason, eviction.message, ""});
    return told;
}

Eviction eviction_of(const decide::Evict& evict, const kube::Object* preemptor) {
    if (evict.reason != decide::Evict::Reason::preempted)
        return {decide::eviction_reason(evict), decide::eviction_message(evict)};
    decide::Evict worded = evict;
    if (preemptor != nullptr) {
        worded.preemptor = "a workload (UID: " + preemptor->uid +
                           ", JobUID: " + text_or_word(preemptor->label(job_uid_label), "UNKNOWN") +
                           ")";
    }
    Eviction made{decide::eviction_reason(evict), decide::eviction_message(worded),
                  decide::preemption_reason(evict.cause)};
    if (preemptor != nullptr) {
        made.preemptor = preemptor->key;
        made.preemptor_priority = preemptor->value["spec"]["priority"].integer_or(0);
    }
    return made;
}

}  // namespace muster::control::queue

// control/queue/workload_status.cpp - conditions and events of Workloads.
#include "control/queue/workload_status.h"

#include <algorithm>
#include <utility>

#include "control/conditions.h"
#include "control/fold_pod.h"
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

void count_eviction(Value& status, const std::string& reason) {
    Value& evictions = status.at("schedulingStats").at("evictions");
    for (Value& eviction : evictions.mutable_items()) {
        if (eviction["reason"].text_or("") != reason) continue;
        eviction.set("count", eviction["count"].integer_or(0) + 1);
        return;
    }
    evictions.push(Value::object({{"reason", reason}, {"underlyingCause", ""}, {"count", 1}}));
}

bool was_looked_at(decide::WaitReason::Rule rule) {
    using Rule = decide::WaitReason::Rule;
    return rule != Rule::behind_head;
}

std::string text_or_word(std::string_view text, const char* word) {
    return text.empty() ? word : std::string(text);
}

/// Why a workload that was put out of the queue is in it again. Null when it is not.
const char* requeued_reason(const Value& requeued, decide::WaitReason::Rule rule) {
    using Rule = decide::WaitReason::Rule;
    if (requeued["status"].text_or("") != "False") return nullptr;
    if (rule == Rule::deactivated || rule == Rule::local_queue_stopped ||
        rule == Rule::cluster_queue_stopped || rule == Rule::backoff || rule == Rule::being_ended) {
        return nullptr;
    }
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

Told tell_admitted(const kube::Object& workload, const decide::Assignment& assignment, Time now) {
    Told told{workload.value["status"], {}};
    Value& status = told.status;
    if (has_admission(workload.value)) {
        move_places(status.at("admission"), assignment);
        return told;
    }
    status.set("admission", admission_of(assignment));
    Value& conditions = status.at("conditions");
    const std::string queue = assignment.cluster_queue;
    set_condition(
        conditions,
        {"QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue " + queue}, now);
    set_condition(conditions, {"Admitted", "True", "Admitted", "The workload is admitted"}, now);
    for (const char* type : {"Evicted", "Preempted", "BlockedOnPreemptionGates"})
        reset_condition(status, type, now);
    const Time created = fold_time(workload.value["metadata"]["creationTimestamp"]);
    told.events.push_back({workload.key, "Normal", "QuotaReserved",
                           "Quota reserved in ClusterQueue " + queue +
                               ", wait time since queued was " + whole_seconds(now - created),
                           ""});
    told.events.push_back(
        {workload.key, "Normal", "Admitted",
         "Admitted by ClusterQueue " + queue + ", wait time since reservation was 0s", ""});
    return told;
}

Told tell_waiting(const kube::Object& workload, const decide::WaitReason& reason,
                  const std::string& tried, Queues queues, Time now) {
    Told told{workload.value["status"], {}};
    if (has_admission(workload.value)) return told;
    const Value before = condition_of(told.status, "QuotaReserved");
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
    if (news && looked_at) told.events.push_back({workload.key, "Warning", word, message, ""});
    const Value requeued = condition_of(told.status, "Requeued");
    if (const char* again = requeued_reason(requeued, reason.rule))
        set_condition(conditions, {"Requeued", "True", again, requeued_message(again)}, now);
    return told;
}

Told tell_evicted(const kube::Object& workload, Eviction eviction, Time now) {
    Told told{workload.value["status"], {}};
    if (is_evicted(workload.value)) return told;
    const Value& target = condition_of(told.status, "DeactivationTarget");
    if (eviction.reason == "Deactivated" && target["status"].text_or("") == "True") {
        eviction.reason += "DueTo" + target["reason"].text();
        eviction.message += ": " + target["message"].text();
    }
    if (told.status.is_null()) told.status = Value::object();
    set_condition(told.status.at("conditions"),
                  {"Evicted", "True", eviction.reason, eviction.message}, now);
    if (!eviction.preemption.empty()) {
        set_condition(told.status.at("conditions"),
                      {"Preempted", "True", eviction.preemption, eviction.message}, now);
        told.events.push_back({workload.key, "Normal", "Preempted", eviction.message, ""});
    }
    if (eviction.reason.starts_with("Deactivated") && !has_admission(workload.value)) {
        set_condition(told.status.at("conditions"),
                      {"Requeued", "False", eviction.reason, eviction.message}, now);
    }
    count_eviction(told.status, eviction.reason);
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
    return {decide::eviction_reason(evict), decide::eviction_message(worded),
            decide::preemption_reason(evict.cause)};
}

}  // namespace muster::control::queue

// control/queue/queue_metrics.cpp - metrics of Workloads, from how they change.
#include "control/queue/queue_metrics.h"

#include <algorithm>

#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/queue/names.h"
#include "control/queue/workload.h"
#include "decide/why_text.h"

namespace muster::control::queue {
namespace {

using api::Value;
using Series = MetricsSettings::Series;

double seconds_of(Duration duration) {
    return std::max(0.0, static_cast<double>(duration.nanoseconds) / 1e9);
}

Time since(const Value& workload, std::string_view condition) {
    return fold_time(condition_of(workload["status"], condition)["lastTransitionTime"]);
}

Time queued_at(const Value& workload) {
    const Time requeued = since(workload, "Requeued");
    return requeued == Time{} ? fold_time(workload["metadata"]["creationTimestamp"]) : requeued;
}

bool became_true(const kube::Object& before, const kube::Object& after,
                 std::string_view condition) {
    return is_true(after.value, condition) &&
           (!is_true(before.value, condition) ||
            since(before.value, condition) != since(after.value, condition));
}

std::string priority_class_of(const Value& workload) {
    return workload["spec"]["priorityClassRef"]["name"].text();
}

api::Key local_queue_of(const kube::Object& workload) {
    return {local_queues, workload.key.ns, workload.value["spec"]["queueName"].text()};
}

/// Why it is not admitted: the reasons of Admitted and of QuotaReserved. Absent: it is, or is over.
std::optional<std::pair<std::string, std::string>> unadmitted(const Value& workload) {
    if (is_finished(workload) || is_admitted(workload)) return std::nullopt;
    const Value& admitted = condition_of(workload["status"], "Admitted");
    const Value& reserved = condition_of(workload["status"], "QuotaReserved");
    std::string reason(admitted["reason"].text_or("NoReservation"));
    if (is_true(workload, "QuotaReserved")) return std::pair(std::move(reason), std::string());
    return std::pair(std::move(reason),
                     std::string(reserved["reason"].text_or("PendingEvaluation")));
}

/// "DeactivatedDueToX" is Deactivated because of X.
std::pair<std::string, std::string> eviction_words(const Value& eviction) {
    static const std::string due = "DeactivatedDueTo";
    const std::string reason = eviction["reason"].text();
    if (reason.starts_with(due)) return {"Deactivated", reason.substr(due.size())};
    return {reason, eviction["underlyingCause"].text()};
}

std::map<std::pair<std::string, std::string>, std::int64_t> evictions_of(const Value& workload) {
    std::map<std::pair<std::string, std::string>, std::int64_t> counts;
    for (const Value& eviction : workload["status"]["schedulingStats"]["evictions"].items())
        counts[eviction_words(eviction)] += eviction["count"].integer_or(0);
    return counts;
}

}  // namespace

QueueMetrics::QueueMetrics(std::shared_ptr<Metrics> metrics, MetricsSettings settings)
    : metrics_(std::move(metrics)),
      settings_(std::move(settings)),
      of_(make_metric_families(*metrics_,
                               settings_.local_queues == Series::shown ? Kept::yes : Kept::no,
                               settings_.resources == Series::shown ? Kept::yes : Kept::no)) {}

void QueueMetrics::saw(const kube::Object* before, const kube::Object* after) {
    const api::Key& key = after != nullptr ? after->key : before->key;
    if (key.resource == workloads) {
        saw_workload(before, after);
    } else if (key.resource == local_queues) {
        saw_local_queue(before, after);
    } else if (key.resource == cluster_queues && after == nullptr) {
        forget_cluster_queue(key.name);
    }
}

void QueueMetrics::made(const kube::Object& workload, const kube::Object& job) {
    const Duration took = fold_time(workload.value["metadata"]["creationTimestamp"]) -
                          fold_time(job.value["metadata"]["creationTimestamp"]);
    of_.creation_latency.with({job.value["kind"].text(), replica_role}).observe(seconds_of(took));
}

void QueueMetrics::decided(const decide::Decision& decision, std::optional<Duration> took) {
    for (const decide::Evict& evict : decision.evicts) {
        if (evict.reason != decide::Evict::Reason::preempted) continue;
        of_.preempted_total
            .with({evict.queue, decide::preemption_reason(evict.cause), replica_role})
            .add();
    }
    if (decision.admits.empty() && decision.waits.empty() && decision.evicts.empty()) return;
    const std::string result = decision.admits.empty() ? "inadmissible" : "success";
    of_.attempts.with({result, replica_role}).add();
    if (took) of_.attempt_seconds.with({result, replica_role}).observe(seconds_of(*took));
}

void QueueMetrics::saw_workload(const kube::Object* before, const kube::Object* after) {
    const bool same = before != nullptr && after != nullptr && before->uid == after->uid;
    if (same) {
        count_quota(*before, *after);
        count_readiness(*before, *after);
        count_evictions(*before, *after);
        count_end(*before, *after);
    }
    if (before != nullptr) tally(*before, -1);
    if (after != nullptr) tally(*after, 1);
}

template <class Metric, class Count>
void QueueMetrics::count(const Twin<Metric>& twin, const kube::Object& workload,
                         const std::vector<std::string>& labels, const Count& how) {
    std::vector<std::string> all = {cluster_queue_of(workload)};
    all.insert(all.end(), labels.begin(), labels.end());
    all.emplace_back(replica_role);
    how(twin.of_queue.with(all));
    const api::Key local = local_queue_of(workload);
    if (twin.of_local == nullptr || !selects(local)) return;
    all.front() = local.ns;
    all.insert(all.begin(), local.name);
    how(twin.of_local->with(all));
}

void QueueMetrics::count_quota(const kube::Object& before, const kube::Object& after) {
    const std::vector<std::string> by_class = {priority_class_of(after.value)};
    const auto one = [](Counter& counter) { counter.add(); };
    const auto waited = [](Duration duration) {
        return [duration](Histogram& histogram) { histogram.observe(seconds_of(duration)); };
    };
    const Time reserved = since(after.value, "QuotaReserved");
    const Time queued = queued_at(before.value);
    if (became_true(before, after, "QuotaReserved")) {
        count(of_.reserved_total, after, by_class, one);
        count(of_.reserved_wait, after, by_class, waited(reserved - queued));
    }
    if (became_true(before, after, "Admitted")) {
        const Time admitted = since(after.value, "Admitted");
        count(of_.admitted_total, after, by_class, one);
        count(of_.admitted_wait, after, by_class, waited(admitted - queued));
        if (!after.value["status"]["admissionChecks"].empty())
            count(of_.checks_wait, after, by_class, waited(admitted - reserved));
        const auto shown = queues_.find(cluster_queue_of(after));
        if (shown == queues_.end()) return;
        for (const std::string& cohort : shown->second.cohorts)
            of_.cohort_admitted_total.with({cohort, by_class.front(), replica_role}).add();
    }
    if (is_true(before.value, "QuotaReserved") && !is_true(after.value, "QuotaReserved") &&
        is_evicted(before.value)) {
        const std::string reason =
            eviction_words(condition_of(before.value["status"], "Evicted")).first;
        of_.eviction_latency.with({cluster_queue_of(before), reason, replica_role})
            .observe(seconds_of(reserved - since(before.value, "Evicted")));
    }
}

// Pods that become ready again after a failure have not waited for their start.
void QueueMetrics::count_readiness(const kube::Object& before, const kube::Object& after) {
    if (!became_true(before, after, "PodsReady") || !is_admitted(after.value)) return;
    const Value& condition = condition_of(after.value["status"], "PodsReady");
    if (condition["reason"].text_or("") == "Recovered") return;
    const Time ready = since(after.value, "PodsReady");
    const auto waited = [](Duration duration) {
        return [duration](Histogram& histogram) { histogram.observe(seconds_of(duration)); };
    };
    const std::vector<std::string> by_class = {priority_class_of(after.value)};
    count(of_.ready_wait, after, by_class, waited(ready - queued_at(after.value)));
    count(of_.admitted_until_ready, after, by_class,
          waited(ready - since(after.value, "Admitted")));
}

void QueueMetrics::count_end(const kube::Object& before, const kube::Object& after) {
    if (!is_finished(after.value) || is_finished(before.value)) return;
    const std::vector<std::string> by_class = {priority_class_of(after.value)};
    if (condition_of(after.value["status"], "Finished")["reason"].text_or("") ==
        "WorkloadSliceReplaced") {
        of_.replaced_slices.with({cluster_queue_of(after), replica_role}).add();
    }
    count(of_.finished_total, after, by_class, [](Counter& counter) { counter.add(); });
    double ran = static_cast<double>(
        after.value["status"]["accumulatedPastExecutionTimeSeconds"].integer_or(0));
    if (is_admitted(before.value))
        ran += seconds_of(since(after.value, "Finished") - since(before.value, "Admitted"));
    count(of_.execution, after, by_class, [ran](Histogram& histogram) { histogram.observe(ran); });
}

void QueueMetrics::count_evictions(const kube::Object& before, const kube::Object& after) {
    const auto had = evictions_of(before.value);
    for (const auto& [words, times] : evictions_of(after.value)) {
        const auto& [reason, cause] = words;
        const auto found = had.find(words);
        const std::int64_t so_far = found == had.end() ? 0 : found->second;
        if (so_far == 0 && times > 0) {
            of_.evicted_once
                .with({cluster_queue_of(before), reason, cause, priority_class_of(after.value),
                       replica_role})
                .add();
        }
        // A status that somebody else wrote may say any number.
        constexpr std::int64_t most_at_once = 1000;
        for (std::int64_t i = so_far; i < std::min(times, so_far + most_at_once); ++i)
            count_eviction(before, after, reason, cause);
    }
}

void QueueMetrics::count_eviction(const kube::Object& before, const kube::Object& after,
                                  const std::string& reason, const std::string& cause) {
    count(of_.evicted_total, before, {reason, cause, priority_class_of(after.value)},
          [](Counter& counter) { counter.add(); });
    if (!is_true(before.value, "PodsReady")) return;
    of_.ready_until_evicted.with({cluster_queue_of(before), reason, cause, replica_role})
        .observe(seconds_of(since(after.value, "Evicted") - since(before.value, "PodsReady")));
}

void QueueMetrics::tally(const kube::Object& workload, std::int64_t times) {
    Tally one;
    one.finished = is_finished(workload.value) ? 1 : 0;
    if (const auto why = unadmitted(workload.value)) one.unadmitted[*why] = 1;
    const api::Key local = local_queue_of(workload);
    if (local.name.empty()) return;  // It waits for nothing.
    Tally& sum = tallies_[local];
    sum.finished += one.finished * times;
    for (const auto& [why, number] : one.unadmitted) {
        const auto at = sum.unadmitted.try_emplace(why).first;
        at->second += number * times;
        if (at->second == 0) sum.unadmitted.erase(at);
    }
    tally_at(local, one, times);
    if (sum.finished == 0 && sum.unadmitted.empty()) tallies_.erase(local);
}

// Series of why something is not admitted go when nothing is kept by it any more.
void QueueMetrics::tally_at(const api::Key& local, const Tally& what, std::int64_t times) {
    const auto found = locals_.find(local);
    const std::string queue = found == locals_.end() ? "" : found->second.cluster_queue;
    const auto add = [times](MetricFamily<Gauge>& family, const std::vector<std::string>& labels,
                             std::int64_t number, Kept empty) {
        Gauge& gauge = family.with(labels);
        gauge.add(static_cast<double>(number * times));
        if (gauge.value() == 0 && empty == Kept::no) family.remove(labels);
    };
    for (const auto& [why, number] : what.unadmitted) {
        const auto& [reason, cause] = why;
        add(of_.unadmitted.of_queue, {queue, reason, cause, replica_role}, number, Kept::no);
        if (of_.unadmitted.of_local == nullptr || !selects(local)) continue;
        add(*of_.unadmitted.of_local, {local.name, local.ns, queue, reason, cause, replica_role},
            number, Kept::no);
    }
    if (what.finished == 0 || queue.empty()) return;
    add(of_.finished.of_queue, {queue, replica_role}, what.finished, Kept::yes);
    if (of_.finished.of_local == nullptr || !selects(local)) return;
    add(*of_.finished.of_local, {local.name, local.ns, replica_role}, what.finished, Kept::yes);
}

std::string QueueMetrics::cluster_queue_of(const kube::Object& workload) const {
    const Value& admission = workload.value["status"]["admission"];
    if (admission.is_object()) return admission["clusterQueue"].text();
    const auto found = locals_.find(local_queue_of(workload));
    return found == locals_.end() ? "" : found->second.cluster_queue;
}

bool QueueMetrics::selects(const api::Key& local_queue) const {
    const auto found = locals_.find(local_queue);
    return found != locals_.end() && found->second.selected;
}

}  // namespace muster::control::queue

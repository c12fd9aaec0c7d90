// control/queue/planner.cpp - planning: fold, decide, and what to write of it.
#include "control/queue/planner.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "control/appwrapper/status.h"
#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/queue/fold.h"
#include "control/queue/names.h"
#include "control/queue/queue_status.h"
#include "control/queue/slices.h"
#include "control/queue/workload.h"
#include "decide/why_text.h"

namespace muster::control::queue {
namespace {

using api::Value;
using Rule = decide::WaitReason::Rule;

constexpr Duration ask_again_pause = milliseconds(50);  // While nothing may be decided.

enum class Finalizer { add, remove };

Write finalizer_write(const kube::Object& object, Finalizer change) {
    Value left = Value::array();
    for (const Value& each : object.value["metadata"]["finalizers"].items()) {
        if (each.text_or("") != in_use_finalizer) left.push(each);
    }
    if (change == Finalizer::add) left.push(Value(in_use_finalizer));
    return patch_of(
        object, kueue_api_version,
        Value::object({{"metadata", Value::object({{"finalizers", std::move(left)}})}}));
}

bool names_flavor(const kube::Object& queue, const std::string& flavor) {
    for (const Value& group : queue.value["spec"]["resourceGroups"].items()) {
        for (const Value& each : group["flavors"].items()) {
            if (each["name"].text_or("") == flavor) return true;
        }
    }
    return false;
}

bool names_check(const kube::Object& queue, const std::string& check) {
    const Value& rules = queue.value["spec"]["admissionChecksStrategy"]["admissionChecks"];
    return std::any_of(rules.items().begin(), rules.items().end(),
                       [&](const Value& rule) { return rule["name"].text_or("") == check; });
}

/// Somebody has looked at what it asks for: it was a head of a queue that admits.
bool was_tried(const decide::WaitReason& reason) {
    if (reason.rule == Rule::local_queue_missing || reason.rule == Rule::cluster_queue_missing ||
        reason.rule == Rule::deactivated || reason.rule == Rule::admission_gated) {
        return false;
    }
    const std::string word = decide::condition_reason(reason);
    return word != "PendingEvaluation" && word != "Suspended";
}

bool is_queue_thing(const api::GroupResource& resource) {
    return resource == cluster_queues || resource == local_queues || resource == flavors ||
           resource == cohorts;
}

/// Most changes of a queue are our own writes of its counts; they concern no other queue.
bool differs_in_status_only(const kube::Object& before, const kube::Object& after) {
    return before.uid == after.uid && before.value["spec"] == after.value["spec"] &&
           before.is_terminating() == after.is_terminating() &&
           before.value["metadata"]["finalizers"] == after.value["metadata"]["finalizers"];
}

/// MCAD's words for why an AppWrapper is not dispatched.
std::pair<std::string, std::string> backoff_words(const decide::WaitReason& reason) {
    const bool of_nodes = reason.rule == Rule::nodes || reason.rule == Rule::exceeds_nodes;
    const bool of_quota = reason.rule == Rule::quota || reason.rule == Rule::exceeds_maximum ||
                          reason.rule == Rule::behind_head;
    if (of_nodes)
        return {"AppWrapperNotRunnable.", "Insufficient resources to dispatch AppWrapper."};
    if (of_quota)
        return {"quota limit exceeded",
                "Insufficient quota and/or resources to dispatch AppWrapper."};
    return {"AppWrapperNotRunnable.", decide::condition_message(reason)};
}

}  // namespace

QueuePlanner::QueuePlanner(const Settings& settings, PlannerRim rim)
    : settings_(settings),
      rim_(std::move(rim)),
      shares_fairly_(settings.decisions.fair_sharing.has_value()) {
    if (rim_.metrics) metrics_ = std::make_unique<QueueMetrics>(rim_.metrics, settings.metrics);
    decide::Options options = settings.decisions;
    const auto& wait = settings.life.wait_for_pods_ready;
    if (wait && wait->admission == WaitForPodsReady::Admission::blocked)
        options.blocking = decide::Options::Blocking::until_pods_ready;
    decide::apply(state_, decide::OptionsSet{std::move(options)});
}

std::vector<std::pair<api::GroupResource, std::string>> QueuePlanner::watches() const {
    const std::string kueue(kueue_version);
    return {{topologies, kueue},
            {flavors, kueue},
            {cluster_queues, kueue},
            {local_queues, kueue},
            {cohorts, kueue},
            {admission_checks, kueue},
            {workloads, kueue},
            {namespaces, "v1"},
            {limit_ranges, "v1"},
            {runtime_classes, "v1"},
            {nodes, "v1"},
            {pods, "v1"},
            {app_wrappers, "v1beta1"},
            {old_app_wrappers, "v1beta1"}};
}

void QueuePlanner::observe(const kube::Object* before, const kube::Object* after) {
    if (metrics_) metrics_->saw(before, after);
    const kube::Object& object = after != nullptr ? *after : *before;
    status_pace_.settled(object.key);
    pace_.settled(object.key);
    if (before != nullptr && after != nullptr && is_queue_thing(object.key.resource) &&
        differs_in_status_only(*before, *after)) {
        queues_to_write_.insert(object.key);
        return;
    }
    if (object.key.resource == namespaces && is_chosen_otherwise(before, after))
        namespaces_moved_ = true;
    unfolded_.insert(object.key);
}

void QueuePlanner::failed(const Write& write) {
    const auto found = entries_.find(write.key);
    if (found == entries_.end()) {
        status_pace_.settled(write.key);
        queues_to_write_.insert(write.key);
        return;
    }
    Entry& entry = found->second;
    entry.written_at = 0;
    pace_.settled(write.key);
    to_write_.insert(write.key);
    if (entry.id.empty() || entry.holds || entry.over) return;
    mark_queues(entry);
    decide::apply(state_, decide::WorkloadFailed{entry.id});
}

void QueuePlanner::unchanged(const Write& write) {
    const auto found = entries_.find(write.key);
    if (found != entries_.end()) {
        found->second.written_at = 0;
        if (found->second.looked_at) to_write_.insert(write.key);
    }
    status_pace_.settled(write.key);
    pace_.settled(write.key);
}

Reconciled QueuePlanner::plan(const kube::Cache& seen, Time now) {
    Reconciled result;
    if (rim_.may_decide && !rim_.may_decide()) {
        result.look_again = ask_again_pause;
        return result;
    }
    fold(seen);
    const decide::Decision decision = decide_now(now);
    take(seen, decision);
    evict_doubles();
    speak_again();
    const std::vector<api::Key> ripe = pace_.take_ripe(now);
    to_write_.insert(ripe.begin(), ripe.end());
    if (decision.look_again) result.look_again = std::max(*decision.look_again - now, Duration{});
    while (!to_write_.empty()) {
        // An AppWrapper may send its Workload back: that one is looked at in the next round.
        for (const api::Key& key : std::exchange(to_write_, {})) {
            if (key.resource == workloads) {
                write_workload(seen, key, now, result);
            } else {
                write_wrapper(seen, key, now, result);
            }
        }
    }
    const auto look_at = [&](Time time) {
        if (!result.look_again || time - now < *result.look_again) result.look_again = time - now;
    };
    for (const api::Key& key : ripe) {
        const bool is_told = std::any_of(result.writes.begin(), result.writes.end(),
                                         [&](const Write& write) { return write.key == key; });
        if (!is_told) pace_.settled(key);
    }
    if (pace_.next()) look_at(*pace_.next());
    if (queues_to_write_.empty() && gave_back_.empty()) return result;
    if (const auto wait = status_pace_.not_before(now)) {
        look_at(*wait);
    } else {
        write_queues(seen, now, result);
    }
    return result;
}

decide::Decision QueuePlanner::decide_now(Time now) {
    if (!metrics_) return decide::decide(state_, now, quota_back_pause);
    const Duration began = rim_.stopwatch ? rim_.stopwatch() : Duration{};
    decide::Decision decision = decide::decide(state_, now, quota_back_pause);
    std::optional<Duration> took;
    if (rim_.stopwatch) took = rim_.stopwatch() - began;
    metrics_->decided(decision, took);
    return decision;
}

void QueuePlanner::take(const kube::Cache& seen, const decide::Decision& decision) {
    const auto mark = [this](const std::string& id) {
        const auto found = key_of_.find(id);
        if (found == key_of_.end()) return;
        to_write_.insert(found->second);
        mark_queues(entries_.at(found->second));
    };
    for (const decide::Admit& admit : decision.admits) {
        mark(admit.workload);
        moved_.insert(admit.workload);
    }
    for (const decide::Move& move : decision.moves)
        mark(move.workload);
    for (const decide::Wait& wait : decision.waits) {
        const auto found = key_of_.find(wait.workload);
        if (found == key_of_.end()) continue;
        to_write_.insert(found->second);
        if (wait.reason->rule != Rule::local_queue_stopped) mark_queues(entries_.at(found->second));
    }
    for (const auto& [ns, name] : decision.uses)
        queues_to_write_.insert({local_queues, ns, name});
    for (const std::string& name : decision.changed_queues)
        queues_to_write_.insert({cluster_queues, "", name});
    for (const auto& [ns, name] : decision.changed_local_queues)
        queues_to_write_.insert({local_queues, ns, name});
    if (!decision.changed_queues.empty()) add_shares(seen, queues_to_write_);
    for (const decide::Evict& evict : decision.evicts) {
        mark(evict.workload);
        const auto found = key_of_.find(evict.workload);
        if (found == key_of_.end()) continue;
        const auto preemptor = key_of_.find(evict.preemptor);
        const kube::ObjectPtr by =
            preemptor == key_of_.end() ? nullptr : seen.find(preemptor->second);
        evictions_[found->second] = eviction_of(evict, by.get());
    }
}

// Who was spoken for by a workload that has moved on is spoken for by the next, who must say so.
void QueuePlanner::speak_again() {
    for (const std::string& id : std::exchange(moved_, {})) {
        auto left = silent_.extract(id);
        if (left.empty()) continue;
        for (auto& members = left.mapped(); !members.empty();) {
            const auto member = id_of(*members.begin());
            const auto next = member ? decide::tried_in_place_of(state_, *member) : member;
            const auto speaker = next ? key_of_.find(*next) : key_of_.end();
            if (speaker == key_of_.end()) {
                to_write_.insert(*members.begin());
                members.erase(members.begin());
                continue;
            }
            to_write_.insert(speaker->second);
            members.erase(speaker->second);
            silent_[*next].merge(members);
            break;
        }
    }
}

void QueuePlanner::send(Entry& entry, const kube::Object& object, const Value& status,
                        Reconciled& result) {
    auto write = status_write(object, status);
    if (!write) return;
    write->api_version = object.value["apiVersion"].text();
    entry.written_at = object.version;
    result.writes.push_back(std::move(*write));
}

void QueuePlanner::write_workload(const kube::Cache& seen, const api::Key& key, Time now,
                                  Reconciled& result) {
    const kube::ObjectPtr object = seen.find(key);
    const auto found = entries_.find(key);
    if (object == nullptr || found == entries_.end() || found->second.over) return;
    Entry& entry = found->second;
    entry.looked_at = entry.written_at == object->version;  // On its way.
    if (entry.looked_at) return;
    Told told{object->value["status"], {}};
    const auto reason = decide::wait_reason(state_, entry.id);
    if (!reason) pace_.forget(key);
    const auto eviction = evictions_.find(key);
    if (eviction != evictions_.end() && !has_admission(object->value))
        return end_unbegun(entry, eviction, result);
    const bool deactivated = !object->value["spec"]["active"].boolean_or(true);
    if (eviction != evictions_.end()) {
        told = tell_evicted(*object, eviction->second, now);
    } else if (const auto held = decide::assignment_of(state_, entry.id)) {
        const auto behind = seen.find({cluster_queues, "", held->cluster_queue});
        const kube::ObjectPtr old = replaced_slice(seen, *object);
        told = tell_admitted(*object,
                             old == nullptr
                                 ? *held
                                 : whole_of(object->value["spec"]["podSets"], *held, held_by(*old)),
                             now, behind == nullptr ? Value() : behind->value);
    } else if (deactivated && !is_evicted(object->value)) {
        told = tell_evicted(*object,
                            eviction_of({entry.id, decide::Evict::Reason::deactivated, ""}), now);
    } else if (reason) {
        const std::string tried = decide::tried_in_place_of(state_, entry.id).value_or("");
        if (!tried.empty()) silent_[tried].insert(key);
        told = tell_waiting(*object, *reason, tried, entry.queues, now);
        if (told.status == object->value["status"]) {
            pace_.forget(key);
        } else if (!pace_.may_tell(key, now)) {
            return;
        }
        if (!has_admission(object->value) && was_tried(*reason) && tried.empty()) {
            told.status.set("resourceRequests",
                            resource_requests(fold_workload(*object, {}, seen, settings_)));
        }
        const bool stopped = reason->rule == Rule::local_queue_stopped ||
                             reason->rule == Rule::cluster_queue_stopped;
        if (stopped) {
            entry.queues = Queues::were_stopped;
        } else if (told.status == object->value["status"]) {
            entry.queues = Queues::ran;
        }
    }
    for (Event& event : told.events)
        result.events.push_back(std::move(event));
    send(entry, *object, told.status, result);
}

// Its admission was never written (an older write was on its way, or it failed): there is nothing
// to tell and nobody who would give the quota back. Its Evicted, if any, is of an earlier run.
void QueuePlanner::end_unbegun(Entry& entry, std::map<api::Key, Eviction>::iterator eviction,
                               Reconciled& result) {
    evictions_.erase(eviction);
    release(entry);
    result.look_again = Duration{};
}

void QueuePlanner::take_back_workload(const kube::Object& wrapper, const kube::Object& workload) {
    const Value& status = wrapper.value["status"];
    const Time taken = appwrapper::condition_time(status, "Backoff");
    const Time reserved =
        fold_time(condition_of(workload.value["status"], "QuotaReserved")["lastTransitionTime"]);
    if (taken < reserved || evictions_.contains(workload.key)) return;
    evictions_[workload.key] = {
        "PodsReadyTimeout", appwrapper::condition(status, "PreemptCandidate")["message"].text()};
    to_write_.insert(workload.key);
}

void QueuePlanner::write_wrapper(const kube::Cache& seen, const api::Key& key, Time now,
                                 Reconciled& result) {
    const kube::ObjectPtr object = seen.find(key);
    const auto found = entries_.find(key);
    if (object == nullptr || found == entries_.end() || found->second.over) return;
    Entry& entry = found->second;
    if (object->is_terminating() || entry.written_at == object->version) return;
    const std::string_view state = object->value["status"]["state"].text_or("");
    if (state == "Completed" || state == "Failed" || state == "Deleted") return;
    const bool runs = object->value["status"]["canrun"].boolean_or(false);
    std::string id = entry.id;
    bool may_run = false;
    bool must_stop = false;
    if (queue_of_wrapper(*object).empty()) {
        may_run = decide::assignment_of(state_, id).has_value() && !entry.ending;
    } else {
        const kube::ObjectPtr workload = workload_of_wrapper(seen, *object);
        if (workload == nullptr && !runs) return;
        if (workload != nullptr) {
            id = id_of(workload->key).value_or("");
            // The quota is on record before anything is made with it.
            may_run = is_admitted(workload->value) && !is_evicted(workload->value);
        }
        must_stop = runs && !may_run;
        if (may_run && !runs && was_taken_back(*object)) {
            take_back_workload(*object, *workload);
            if (evictions_.contains(workload->key)) return;
        }
    }
    Value status = object->value["status"];
    if (may_run && !runs) {
        status = appwrapper::can_run(object->value, now);
    } else if (must_stop) {
        status = appwrapper::evicted(object->value, now);
    } else if (!may_run && !runs) {
        const auto reason = decide::wait_reason(state_, id);
        if (!reason || reason->rule == Rule::backoff || reason->rule == Rule::being_ended) return;
        const auto [word, message] = backoff_words(*reason);
        status = appwrapper::backed_off(object->value, word, message, now);
    }
    send(entry, *object, status, result);
}

// Every use of a queue changes the shares of its cohorts.
void QueuePlanner::add_shares(const kube::Cache& seen, std::set<api::Key>& keys) const {
    if (!shares_fairly_) return;
    for (const kube::ObjectPtr& cohort : seen.list(cohorts))
        keys.insert(cohort->key);
}

void QueuePlanner::write_queues(const kube::Cache& seen, Time now, Reconciled& result) {
    std::set<api::Key> keys = std::exchange(queues_to_write_, {});
    std::set<api::Key> behind = std::exchange(gave_back_, {});
    for (const api::Key& key : std::exchange(moved_in_, {})) {
        const auto found = led_to_.find(key);
        if (found == led_to_.end()) continue;
        behind.insert({cluster_queues, "", found->second});
        if (seen.find(key) == nullptr) led_to_.erase(found);
    }
    if (!behind.empty()) add_shares(seen, keys);
    keys.merge(behind);
    const std::size_t first = result.writes.size();
    for (const api::Key& key : keys) {
        const kube::ObjectPtr object = seen.find(key);
        if (object == nullptr) continue;
        if (status_pace_.is_on_its_way(key)) {  // It is looked at again when that is settled.
            queues_to_write_.insert(key);
            continue;
        }
        if (key.resource == local_queues) {
            write_local_queue(seen, *object, now, result);
        } else if (key.resource == cluster_queues) {
            write_cluster_queue(*object, now, result);
        } else if (key.resource == cohorts) {
            write_cohort(*object, result);
        } else if (key.resource == flavors) {
            write_finalizer(seen, *object, names_flavor, result);
        } else if (key.resource == admission_checks) {
            write_finalizer(seen, *object, names_check, result);
        }
    }
    for (std::size_t i = first; i < result.writes.size(); ++i)
        status_pace_.sent(result.writes[i].key, now);
    if (!metrics_) return;
    // A queue that waits for its write is still shown at its old place.
    const bool all_shown =
        std::none_of(queues_to_write_.begin(), queues_to_write_.end(),
                     [](const api::Key& key) { return key.resource == cluster_queues; });
    if (tree_changed_ && all_shown) {
        tree_changed_ = false;
        metrics_->show_cohorts(state_);
    }
    metrics_->show_cohort_shares(state_);
}

void QueuePlanner::write_cluster_queue(const kube::Object& queue, Time now, Reconciled& result) {
    const auto report = decide::report_queue(state_, queue.key.name);
    if (!report) return;
    const Value status = cluster_queue_status(queue, *report, now);
    if (metrics_) metrics_->show_cluster_queue(queue, status, *report, state_);
    if (queue.is_terminating() && report->admitted == 0) {
        if (has_in_use_finalizer(queue.value))
            result.writes.push_back(finalizer_write(queue, Finalizer::remove));
        return;
    }
    if (!queue.is_terminating() && !has_in_use_finalizer(queue.value)) {
        // Its status follows when this is seen: both demand the version that was.
        result.writes.push_back(finalizer_write(queue, Finalizer::add));
        return;
    }
    if (auto write = status_write(queue, status)) result.writes.push_back(std::move(*write));
}

void QueuePlanner::write_local_queue(const kube::Cache& seen, const kube::Object& queue, Time now,
                                     Reconciled& result) {
    const auto report = decide::report_local_queue(state_, queue.key.ns, queue.key.name);
    if (!report) return;
    const kube::ObjectPtr behind =
        seen.find({cluster_queues, "", queue.value["spec"]["clusterQueue"].text()});
    const Value status = local_queue_status(queue, behind.get(), *report, now);
    if (metrics_) metrics_->show_local_queue(queue, status, *report);
    if (auto write = status_write(queue, status)) result.writes.push_back(std::move(*write));
}

void QueuePlanner::write_cohort(const kube::Object& cohort, Reconciled& result) {
    const auto share = decide::weighted_share_of_cohort(state_, cohort.key.name);
    if (auto write = status_write(cohort, cohort_status(cohort, share)))
        result.writes.push_back(std::move(*write));
}

void QueuePlanner::write_finalizer(const kube::Cache& seen, const kube::Object& object, Names names,
                                   Reconciled& result) {
    if (!object.is_terminating()) {
        if (!has_in_use_finalizer(object.value))
            result.writes.push_back(finalizer_write(object, Finalizer::add));
        return;
    }
    if (!has_in_use_finalizer(object.value)) return;
    for (const kube::ObjectPtr& queue : seen.list(cluster_queues)) {
        if (names(*queue, object.key.name)) return;
    }
    result.writes.push_back(finalizer_write(object, Finalizer::remove));
}

}  // namespace muster::control::queue

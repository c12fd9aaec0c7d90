// control/queue/planner_fold.cpp - what is seen becomes changes of decide's state.
#include <algorithm>
#include <utility>

#include "api/kind.h"
#include "base/text.h"
#include "control/appwrapper/demand.h"
#include "control/appwrapper/status.h"
#include "control/fold_pod.h"
#include "control/queue/fold.h"
#include "control/queue/integration.h"
#include "control/queue/life.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/planner.h"
#include "control/queue/slices.h"
#include "control/queue/topology.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;
using decide::apply;

constexpr Duration wrapper_backoff = seconds(20);  // MCAD's --backofftime.

bool is_over(const kube::Object& wrapper) {
    const std::string_view state = wrapper.value["status"]["state"].text_or("");
    return state == "Completed" || state == "Failed" || state == "Deleted";
}

bool may_run(const kube::Object& wrapper) {
    return wrapper.value["status"]["canrun"].boolean_or(false);
}

/// Creation times have whole seconds; within one the order of arrival decides.
Time arrival_of(const kube::Object& object) {
    constexpr std::int64_t second = 1'000'000'000;
    return fold_time(object.value["metadata"]["creationTimestamp"]) +
           nanoseconds(object.version % second);
}

/// After pods that could not run, the wrapper waits before it is tried again.
Time not_before_of(const kube::Object& wrapper) {
    if (!was_taken_back(wrapper)) return {};
    return appwrapper::condition_time(wrapper.value["status"], "Backoff") + wrapper_backoff;
}

Time not_before_of_workload(const kube::Cache& seen, const kube::Object& workload) {
    const Time requeue_at = fold_time(workload.value["status"]["requeueState"]["requeueAt"]);
    const Value& owner = controller_of(workload.value);
    const JobKind* kind =
        find_job_kind_named(owner["apiVersion"].text_or(""), owner["kind"].text_or(""));
    if (kind == nullptr || !is_app_wrapper(kind->resource)) return requeue_at;
    const auto wrapper = seen.find({kind->resource, workload.key.ns, owner["name"].text()});
    return wrapper == nullptr ? requeue_at : std::max(requeue_at, not_before_of(*wrapper));
}

/// "job team/train": what people know it by; the Workload's own name when nothing owns it.
std::string wanted_id(const kube::Object& object) {
    const Value& owner = controller_of(object.value);
    if (object.key.resource == workloads && !owner.is_null())
        return to_lower(owner["kind"].text()) + " " + object.key.ns + "/" + owner["name"].text();
    const char* kind = object.key.resource == workloads ? "workload " : "appwrapper ";
    return kind + object.key.ns + "/" + object.key.name;
}

std::string own_id(const kube::Object& object) {
    return (object.key.resource == old_app_wrappers ? "appwrapper.mcad.ibm.com " : "workload ") +
           object.key.ns + "/" + object.key.name;
}

bool chooses_namespaces(const kube::Object& workload) {
    const auto& sets = workload.value["spec"]["podSets"].items();
    return std::any_of(sets.begin(), sets.end(), [](const Value& set) {
        return selects_namespaces(set["template"]["spec"]);
    });
}

/// Whose neighbours may be other ones when a namespace comes or changes its labels.
void add_who_chooses_namespaces(const kube::Cache& seen, std::set<api::Key>& keys) {
    for (const kube::ObjectPtr& workload : seen.list(workloads)) {
        if (chooses_namespaces(*workload)) keys.insert(workload->key);
    }
    for (const api::GroupResource& kind : {app_wrappers, old_app_wrappers}) {
        for (const kube::ObjectPtr& wrapper : seen.list(kind)) {
            if (queue_of_wrapper(*wrapper).empty()) keys.insert(wrapper->key);
        }
    }
}

/// Others could remove it although it is in use.
bool is_unguarded(const kube::Object& object) {
    return !object.is_terminating() && !has_in_use_finalizer(object.value);
}

}  // namespace

std::string_view queue_of_wrapper(const kube::Object& wrapper) {
    return wrapper.label(queue_name_label);
}

kube::ObjectPtr workload_of_wrapper(const kube::Cache& seen, const kube::Object& wrapper) {
    for (kube::ObjectPtr& workload : seen.owned_by(workloads, wrapper.uid)) {
        if (!workload->is_terminating()) return workload;
    }
    return nullptr;
}

bool was_taken_back(const kube::Object& wrapper) {
    const Value& status = wrapper.value["status"];
    return !may_run(wrapper) && status["queuejobstate"].text_or("") == "Backoff" &&
           appwrapper::condition(status, "Backoff")["reason"].text_or("") == "PreemptionTriggered";
}

void QueuePlanner::fold(const kube::Cache& seen) {
    // What quotas and nodes are comes before what wants them, and that before the pods it has.
    std::set<api::Key> jobs_seen;
    std::vector<api::Key> pods_seen;
    if (std::exchange(namespaces_moved_, false)) add_who_chooses_namespaces(seen, jobs_seen);
    for (const api::Key& key : std::exchange(unfolded_, {})) {
        if (key.resource == limit_ranges) {
            // Pods of its namespace ask for other amounts now.
            for (const kube::ObjectPtr& workload : seen.list(workloads, key.ns))
                jobs_seen.insert(workload->key);
        } else if (key.resource == runtime_classes) {
            for (const kube::ObjectPtr& workload : seen.list(workloads))
                jobs_seen.insert(workload->key);
        } else if (key.resource == pods) {
            pods_seen.push_back(key);
        } else if (key.resource == workloads || is_app_wrapper(key.resource)) {
            jobs_seen.insert(key);
        } else {
            fold_structure(seen, key, seen.find(key).get());
        }
    }
    for (const api::Key& key : jobs_seen) {
        const kube::ObjectPtr object = seen.find(key);
        if (key.resource == workloads) {
            fold_workload_object(seen, key, object.get());
        } else {
            fold_wrapper_object(seen, key, object.get());
        }
    }
    for (const api::Key& key : pods_seen)
        fold_pod_object(seen, key, seen.find(key).get());
    for (const api::Key& key : std::set<api::Key>(ending_wrappers_))
        fold_wrapper_object(seen, key, seen.find(key).get());
}

void QueuePlanner::fold_structure(const kube::Cache& seen, const api::Key& key,
                                  const kube::Object* object) {
    if (key.resource == nodes) {
        if (object != nullptr) {
            apply(state_, decide::NodeSet{fold_node(*object)});
        } else {
            apply(state_, decide::NodeRemoved{key.name});
        }
        return;
    }
    if (key.resource == topologies) {
        if (object != nullptr) {
            apply(state_, decide::TopologySet{fold_topology(*object)});
        } else {
            apply(state_, decide::TopologyRemoved{key.name});
        }
        return;
    }
    if (key.resource == namespaces) {
        if (object == nullptr) {
            apply(state_, decide::NamespaceRemoved{key.name});
            return;
        }
        decide::Labels labels;
        for (const auto& [label, value] : object->value["metadata"]["labels"].members())
            labels[label] = value.text();
        apply(state_, decide::NamespaceSet{key.name, std::move(labels)});
        return;
    }
    if (key.resource == flavors) {
        if (object != nullptr) {
            apply(state_, decide::FlavorSet{fold_flavor(*object)});
        } else {
            apply(state_, decide::FlavorRemoved{key.name});
        }
    } else if (key.resource == admission_checks) {
        if (object != nullptr) {
            apply(state_, decide::AdmissionCheckSet{fold_check(*object)});
        } else {
            apply(state_, decide::AdmissionCheckRemoved{key.name});
        }
    } else if (key.resource == cluster_queues) {
        if (object != nullptr) {
            apply(state_, decide::QueueSet{fold_cluster_queue(*object)});
        } else {
            apply(state_, decide::QueueRemoved{key.name});
        }
        mark_ending_parts(seen);
    } else if (key.resource == cohorts) {
        if (object != nullptr) {
            apply(state_, decide::CohortSet{fold_cohort(*object)});
        } else {
            apply(state_, decide::CohortRemoved{key.name});
        }
    } else if (key.resource == local_queues) {
        fold_local_queue_object(key, object);
        queues_to_write_.insert(key);
        return;
    }
    queues_to_write_.insert(key);
    if (object != nullptr && key.resource != cohorts && is_unguarded(*object)) status_pace_.hurry();
    tree_changed_ = true;
}

void QueuePlanner::fold_local_queue_object(const api::Key& key, const kube::Object* object) {
    if (object == nullptr) {
        apply(state_, decide::LocalQueueRemoved{key.ns, key.name});
        moved_in_.insert(key);
        return;
    }
    apply(state_, decide::LocalQueueSet{fold_local_queue(*object)});
    const std::string target = object->value["spec"]["clusterQueue"].text();
    std::string& led_to = led_to_[key];
    // Made anew: what waited here waits elsewhere now.
    if (led_to != target) gave_back_.insert({cluster_queues, "", led_to});
    led_to = target;
}

QueuePlanner::Entry& QueuePlanner::entry_of(const kube::Object& object, const std::string& wanted) {
    const auto found = entries_.find(object.key);
    const bool is_same = found != entries_.end() && found->second.uid == object.uid;
    if (is_same && !found->second.id.empty()) return found->second;
    if (found != entries_.end()) forget(object.key);
    Entry entry;
    entry.id = key_of_.contains(wanted) ? own_id(object) : wanted;
    entry.uid = object.uid;
    const Time first = fold_time(object.value["status"]["controllerfirsttimestamp"]);
    entry.queued = first == Time{} ? arrival_of(object) : first;
    key_of_[entry.id] = object.key;
    return entries_[object.key] = std::move(entry);
}

void QueuePlanner::forget(const api::Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    mark_queues(found->second);
    if (!found->second.id.empty()) {
        apply(state_, decide::WorkloadRemoved{found->second.id});
        apply(state_, decide::WorkloadReleased{found->second.id});
        key_of_.erase(found->second.id);
    }
    moved_.insert(found->second.id);
    entries_.erase(found);
    pace_.forget(key);
    evictions_.erase(key);
    ending_wrappers_.erase(key);
    to_write_.erase(key);
}

void QueuePlanner::finish(Entry& entry) {
    if (entry.over) return;
    entry.over = true;
    mark_queues(entry);
    apply(state_, decide::WorkloadFinished{entry.id});
}

void QueuePlanner::finish_workload(const api::Key& key) {
    const auto found = entries_.find(key);
    if (found != entries_.end()) finish(found->second);
    // Most of what is there has finished: nothing is kept of it, but its id as long as pods
    // live under it.
    const bool lives = found != entries_.end() && pods_of_.contains(found->second.id);
    if (!lives) forget(key);
    pace_.forget(key);
    evictions_.erase(key);
}

void QueuePlanner::release(Entry& entry) {
    mark_queues(entry);
    apply(state_, decide::WorkloadReleased{entry.id});
    entry.holds = false;
    entry.ending = false;
}

void QueuePlanner::fold_workload_object(const kube::Cache& seen, const api::Key& key,
                                        const kube::Object* object) {
    if (object == nullptr) {
        forget(key);
        fold_successor(seen, key);
        return;
    }
    const bool holds = has_admission(object->value);
    // What names no queue waits for nobody, also when it did before.
    const bool is_in_none = object->value["spec"]["queueName"].text_or("").empty();
    if (is_on_hold(object->value) || (is_in_none && !holds)) {
        forget(key);
        return;
    }
    if (is_finished(object->value)) {
        finish_workload(key);
        fold_successor(seen, key);
        return;
    }
    if (is_in_none) return;  // While it holds quota, its definition refuses that.
    const bool is_known = entries_.contains(key);
    if (metrics_ && !is_known) count_new(seen, *object);
    Entry& entry = entry_of(*object, wanted_id(*object));
    if (entry.over && !object->is_terminating()) return;
    moved_.insert(entry.id);
    mark_if_moved(entry, *object);
    const bool ending = holds && is_evicted(object->value);
    const kube::ObjectPtr replaced = replaced_slice(seen, *object);
    if (replaced != nullptr) successors_[replaced->key] = key;
    std::optional<decide::Change> told;
    if (!entry.over) {
        const Time queued =
            queued_at(object->value, entry.queued, settings_.life.wait_for_pods_ready);
        const Identity identity{entry.id, queued, not_before_of_workload(seen, *object)};
        decide::Workload folded = fold_workload(*object, identity, seen, settings_);
        if (holds) give_back_what_shrank(*object, folded);
        if (!holds && replaced != nullptr) keep_growth(held_by(*replaced), folded);
        told = decide::WorkloadSet{std::move(folded)};
        decide::apply(state_, *told);
    }
    // As long as the slice that it replaces holds its part, it holds the growth only.
    const bool is_slice = !object->annotation(replaces_annotation).empty();
    if (holds && (!entry.holds || is_slice)) {
        decide::Assignment held = fold_admission(object->value["status"]["admission"]);
        if (replaced != nullptr) held = growth_of(std::move(held), held_by(*replaced));
        const Time reserved =
            fold_time(condition_of(object->value["status"], "QuotaReserved")["lastTransitionTime"]);
        if (is_known && !entry.holds) note_stranger(key, entry, held);
        apply(state_, decide::WorkloadAdmitted{entry.id, held, reserved});
        // Until now the state took what is told of its checks and pods for older than its decision.
        if (told && is_known && !entry.holds) decide::apply(state_, *told);
        entry.holds = true;
    } else if (!holds && entry.holds) {
        release(entry);
    }
    if (ending && !entry.ending) {
        apply(state_, decide::WorkloadEvicted{entry.id});
        entry.ending = true;
        fold_successor(seen, key);
    }
    if (ending) evictions_.erase(key);  // Without admission, what it says is of an earlier run.
    if (object->is_terminating() && !entry.over) {
        apply(state_, decide::WorkloadRemoved{entry.id});
        entry.over = true;
    }
    to_write_.insert(key);
    mark_wrapper_of(*object);
}

void QueuePlanner::mark_wrapper_of(const kube::Object& workload) {
    const Value& owner = controller_of(workload.value);
    const JobKind* kind =
        find_job_kind_named(owner["apiVersion"].text_or(""), owner["kind"].text_or(""));
    if (kind != nullptr && is_app_wrapper(kind->resource))
        to_write_.insert({kind->resource, workload.key.ns, owner["name"].text()});
}

/// What replaces a slice holds all of it, or has to ask for all of it, when that is over; the pods
/// that it had are the other's.
void QueuePlanner::fold_successor(const kube::Cache& seen, const api::Key& replaced) {
    const auto found = successors_.find(replaced);
    if (found == successors_.end()) return;
    const api::Key key = found->second;
    successors_.erase(found);
    const kube::ObjectPtr successor = seen.find(key);
    if (successor == nullptr) return;
    fold_workload_object(seen, key, successor.get());
    for (const kube::ObjectPtr& pod : living_pods(seen, successor->label(job_uid_label))) {
        const std::string name = pod->key.ns + "/" + pod->key.name;
        if (!unbind(name)) continue;
        fold_pod_object(seen, pod->key, pod.get());
    }
}

/// One that nobody has said anything about yet was made just now.
void QueuePlanner::count_new(const kube::Cache& seen, const kube::Object& workload) {
    const Value& owner = controller_of(workload.value);
    const JobKind* kind =
        find_job_kind_named(owner["apiVersion"].text_or(""), owner["kind"].text_or(""));
    if (kind == nullptr || !workload.value["status"].empty()) return;
    const auto job = seen.find({kind->resource, workload.key.ns, owner["name"].text()});
    if (job != nullptr) metrics_->made(workload, *job);
}

void QueuePlanner::fold_wrapper_object(const kube::Cache& seen, const api::Key& key,
                                       const kube::Object* object) {
    if (object == nullptr || !appwrapper::is_v1beta1(object->value)) {
        forget(key);
        return;
    }
    to_write_.insert(key);
    if (!queue_of_wrapper(*object).empty()) {
        if (id_of(key)) forget(key);  // It got its queue while it waited without one.
        to_write_.insert(key);
        Entry& entry = entries_[key];  // Only remembers writes; its Workload is in the state.
        entry.uid = object->uid;
        if (const auto workload = workload_of_wrapper(seen, *object)) {
            // A new waiting time is the Workload's too.
            fold_workload_object(seen, workload->key, workload.get());
        }
        return;
    }
    Entry& entry = entry_of(*object, wanted_id(*object));
    if (is_over(*object)) {
        finish(entry);
        ending_wrappers_.erase(key);
        return;
    }
    const bool quiet = living_pods(seen, object->uid).empty() && !owns_jobs(seen, object->uid);
    if (!entry.over) {
        const decide::Workload folded =
            fold_wrapper(*object, {entry.id, entry.queued, not_before_of(*object)}, seen);
        apply(state_, decide::WorkloadSet{folded});
        if (!entry.holds && (may_run(*object) || !quiet)) {
            apply(state_, decide::WorkloadAdmitted{entry.id, assignment_without_queue(folded)});
            entry.holds = true;
        }
    }
    if (object->is_terminating() && !entry.over) {
        apply(state_, decide::WorkloadRemoved{entry.id});
        entry.over = true;
    }
    if (entry.holds && (!may_run(*object) || object->is_terminating()))
        end_wrapper(entry, key, quiet ? Quiet::yes : Quiet::no);
}

/// It must go: what it holds is free when its processes are gone.
void QueuePlanner::end_wrapper(Entry& entry, const api::Key& key, Quiet quiet) {
    if (quiet == Quiet::yes) {
        release(entry);
        ending_wrappers_.erase(key);
        return;
    }
    ending_wrappers_.insert(key);
    if (entry.ending) return;
    apply(state_, decide::WorkloadEvicted{entry.id});
    entry.ending = true;
}

/// While it still holds what it holds: its LocalQueue may have gone before it.
void QueuePlanner::mark_queues(const Entry& entry) {
    if (std::string giver = decide::queue_that_gives(state_, entry.id); !giver.empty())
        gave_back_.insert({cluster_queues, "", std::move(giver)});
    if (entry.local_queue.name.empty()) return;
    queues_to_write_.insert(entry.local_queue);
    moved_in_.insert(entry.local_queue);
}

// Most changes of a Workload are conditions, which queues do not count.
void QueuePlanner::mark_if_moved(Entry& entry, const kube::Object& workload) {
    const api::Key now{local_queues, workload.key.ns, workload.value["spec"]["queueName"].text()};
    const bool active = workload.value["spec"]["active"].boolean_or(true);
    const bool holds = has_admission(workload.value);
    if (entry.local_queue == now && entry.active == active && entry.holds == holds && !holds &&
        !workload.is_terminating() && !is_finished(workload.value)) {
        return;
    }
    mark_queues(entry);
    entry.local_queue = now;
    entry.active = active;
    mark_queues(entry);
}

// They go when no ClusterQueue names them any more.
void QueuePlanner::mark_ending_parts(const kube::Cache& seen) {
    for (const api::GroupResource& resource : {flavors, admission_checks}) {
        for (const kube::ObjectPtr& part : seen.list(resource)) {
            if (part->is_terminating()) queues_to_write_.insert(part->key);
        }
    }
}

const api::Key* QueuePlanner::key_of(const std::string& id) const {
    const auto found = key_of_.find(id);
    return found == key_of_.end() ? nullptr : &found->second;
}

std::optional<std::string> QueuePlanner::id_of(const api::Key& key) const {
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.id.empty()) return std::nullopt;
    return found->second.id;
}

}  // namespace muster::control::queue

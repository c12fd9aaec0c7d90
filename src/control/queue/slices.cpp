// control/queue/slices.cpp - growing and shrinking elastic jobs.
#include "control/queue/slices.h"

#include <algorithm>
#include <map>
#include <utility>

#include "control/conditions.h"
#include "control/queue/fold.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_shape.h"
#include "control/queue/pod_writes.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;
using Then = SliceStep::Then;

std::string key_text(const kube::Object& workload) {
    return workload.key.ns + "/" + workload.key.name;
}

std::string_view replaces_of(const kube::Object& workload) {
    return workload.annotation(replaces_annotation);
}

/// How a job's pod sets compare to those of a slice.
enum class Scale { same, down, up, others };

Scale scale_to(const Value& slice_sets, const std::vector<PodSet>& pod_sets) {
    if (slice_sets.size() != pod_sets.size()) return Scale::others;
    bool more = false;
    bool fewer = false;
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
        if (slice_sets[i]["name"].text_or("") != pod_sets[i].name) return Scale::others;
        const std::int64_t count = slice_sets[i]["count"].integer_or(1);
        more = more || pod_sets[i].count > count;
        fewer = fewer || pod_sets[i].count < count;
    }
    if (more) return Scale::up;
    return fewer ? Scale::down : Scale::same;
}

/// As the slice says, which may not have followed its job yet.
std::int64_t asked_count(const Value& slice, std::string_view name) {
    for (const Value& set : slice["spec"]["podSets"].items()) {
        if (set["name"].text_or("main") == name) return set["count"].integer_or(1);
    }
    return 0;
}

std::int64_t count_of(const std::vector<ReclaimablePods>& done, std::string_view name) {
    for (const ReclaimablePods& pods : done) {
        if (pods.pod_set == name) return pods.count;
    }
    return 0;
}

Write count_write(const kube::Object& slice, const std::vector<PodSet>& pod_sets) {
    Value sets = slice.value["spec"]["podSets"];
    for (std::size_t i = 0; i < pod_sets.size(); ++i)
        sets.mutable_items()[i].set("count", pod_sets[i].count);
    return patch_of(slice, kueue_api_version,
                    Value::object({{"spec", Value::object({{"podSets", std::move(sets)}})}}));
}

/// The old slice ends when the new one has its quota.
void finish_replaced(const kube::Object& old, const kube::Object& fresh, Time now,
                     SliceStep& step) {
    Value status = old.value["status"];
    const std::string job(fresh.label(job_uid_label));
    const std::string message = "Replaced to accommodate a workload (UID: " + fresh.uid +
                                ", JobUID: " + (job.empty() ? "UNKNOWN" : job) +
                                ") due to workload slice aggregation";
    set_condition(status.at("conditions"), {"Finished", "True", "WorkloadSliceReplaced", message},
                  now);
    if (auto write = status_write(old, status)) step.writes.push_back(std::move(*write));
    step.events.push_back({old.key, "Normal", "WorkloadSliceReplaced", message, ""});
}

SliceStep step_with_one(const kube::ObjectPtr& slice, const std::vector<PodSet>& pod_sets) {
    SliceStep step;
    step.current = slice;
    const Scale scale = scale_to(slice->value["spec"]["podSets"], pod_sets);
    const bool holds = has_admission(slice->value);
    if (scale == Scale::same || scale == Scale::others || (holds && is_evicted(slice->value))) {
        step.then = Then::go_on;
    } else if (!holds || scale == Scale::down) {
        step.writes.push_back(count_write(*slice, pod_sets));
    } else {
        step.then = Then::create;
        step.replaces = slice;
    }
    return step;
}

SliceStep step_with_two(const kube::ObjectPtr& old, const kube::ObjectPtr& fresh,
                        const std::vector<PodSet>& pod_sets, Time now) {
    SliceStep step;
    if (has_admission(fresh->value) && replaces_of(*fresh) == key_text(*old)) {
        if (is_admitted(fresh->value)) finish_replaced(*old, *fresh, now, step);
        return step;
    }
    const Scale from_old = scale_to(old->value["spec"]["podSets"], pod_sets);
    if (!has_admission(old->value) || is_evicted(old->value) || from_old != Scale::up) {
        // The old one has to be queued again as a whole, or the job is as it was: none replaces it.
        step.writes.push_back(deletion_of_workload(*fresh));
        return step;
    }
    if (scale_to(fresh->value["spec"]["podSets"], pod_sets) != Scale::same)
        step.writes.push_back(count_write(*fresh, pod_sets));
    return step;
}

const decide::PodSetAssignment* find_set(const decide::Assignment& assignment,
                                         std::string_view name) {
    for (const decide::PodSetAssignment& set : assignment.pod_sets) {
        if (set.name == name) return &set;
    }
    return nullptr;
}

/// The same for another number of pods.
void resize(decide::PodSetAssignment& set, std::int64_t count) {
    if (set.count > 0 && set.count != count) {
        for (auto& [resource, amount] : set.usage)
            amount = Amount{amount.value / set.count} * count;
    }
    set.count = count;
}

}  // namespace

bool is_elastic(const JobKind& kind, const Value& job) {
    return kind.elastic == JobKind::Support::yes &&
           job["metadata"]["annotations"][elastic_annotation].text_or("") == "true";
}

std::vector<PodSet> pod_sets_now(const kube::Cache& seen, const JobKind& kind,
                                 const kube::Object& job) {
    std::vector<PodSet> sets = pod_sets_of(seen, kind, job.value);
    if (kind.resource != ray_jobs || !is_elastic(kind, job.value)) return sets;
    for (const kube::ObjectPtr& cluster : seen.owned_by(ray_clusters, job.uid)) {
        if (cluster->is_terminating()) continue;
        for (const PodSet& live : pod_sets_of(*find_job_kind(ray_clusters), cluster->value)) {
            for (PodSet& set : sets) {
                if (set.name == live.name) set.count = live.count;
            }
        }
    }
    return sets;
}

api::Admission gate_elastic_job(const api::AdmissionRequest& request) {
    api::Admission admission;
    const JobKind* kind = find_job_kind(request.kind->resource());
    if (kind == nullptr || !request.subresource.empty() ||
        request.operation != api::AdmissionRequest::Operation::create ||
        !is_elastic(*kind, request.object)) {
        return admission;
    }
    const std::string ns = request.object["metadata"]["namespace"].text();
    if (!is_managed(request.object, ns, request.find)) return admission;
    Value made = request.object;
    for (const PodSet& set : pod_sets_of(*kind, request.object)) {
        Value* pod_template = find_template(made, set);
        if (pod_template == nullptr || has_gate(*pod_template, elastic_annotation)) continue;
        at_path(*pod_template, "spec.schedulingGates")
            .push(Value::object({{"name", elastic_annotation}}));
    }
    admission.changed = std::move(made);
    return admission;
}

std::vector<kube::ObjectPtr> slices_of(const kube::Cache& seen, std::string_view job_uid) {
    std::vector<kube::ObjectPtr> slices;
    for (kube::ObjectPtr& each : seen.owned_by(workloads, job_uid)) {
        if (!each->is_terminating() && !is_finished(each->value)) slices.push_back(std::move(each));
    }
    const auto created = [](const kube::Object& slice) {
        return slice.value["metadata"]["creationTimestamp"].text();
    };
    std::sort(slices.begin(), slices.end(), [&](const auto& a, const auto& b) {
        if (created(*a) != created(*b)) return created(*a) < created(*b);
        if (replaces_of(*b) == key_text(*a)) return true;
        return replaces_of(*a) != key_text(*b) && a->key.name < b->key.name;
    });
    return slices;
}

SliceStep next_step(const kube::Cache& seen, const kube::Object& job,
                    const std::vector<PodSet>& pod_sets, Time now) {
    const std::vector<kube::ObjectPtr> slices = slices_of(seen, job.uid);
    if (slices.empty()) {
        SliceStep step;
        const auto all = seen.owned_by(workloads, job.uid);
        const bool any_ends = std::any_of(all.begin(), all.end(), [](const kube::ObjectPtr& each) {
            return each->is_terminating();
        });
        if (!any_ends) step.then = Then::create;
        return step;
    }
    if (slices.size() == 1) return step_with_one(slices.front(), pod_sets);
    return step_with_two(slices.front(), slices.back(), pod_sets, now);
}

void make_slice(const JobKind& kind, const kube::Object& job, const kube::Object* replaces,
                Value& workload) {
    // Made twice for the same reason it has the same name.
    const std::string identity = job.uid + "/" + (replaces == nullptr ? "" : replaces->uid);
    Value& metadata = workload.at("metadata");
    metadata.set("name", workload_name(kind.kind, kind.resource.group, job.key.name, identity));
    Value& annotations = metadata.at("annotations");
    annotations.set(elastic_annotation, "true");
    if (replaces == nullptr) {
        annotations.set(slice_name_annotation, metadata["name"]);
        return;
    }
    const std::string_view first = replaces->annotation(slice_name_annotation);
    annotations.set(slice_name_annotation, first.empty() ? replaces->key.name : std::string(first));
    annotations.set(replaces_annotation, key_text(*replaces));
}

std::optional<Value> lowered_reclaimable(const kube::Object& slice,
                                         const std::vector<ReclaimablePods>& done) {
    Value list = Value::array();
    bool lowers = false;
    for (const Value& before : slice.value["status"]["reclaimablePods"].items()) {
        const std::string_view name = before["name"].text_or("");
        const std::int64_t had = before["count"].integer_or(0);
        const std::int64_t asked = asked_count(slice.value, name);
        const auto admitted = admitted_count(slice.value, name);
        std::int64_t now = had;
        if (!has_admission(slice.value) || (admitted && *admitted > asked))
            now = std::min({had, asked, count_of(done, name)});
        lowers = lowers || now < had;
        if (now > 0) list.push(Value::object({{"name", before["name"]}, {"count", now}}));
    }
    if (!lowers) return std::nullopt;
    return list;
}

std::vector<Write> open_gates(const kube::Cache& seen, const kube::Object& job,
                              const kube::Object& workload) {
    std::map<std::string, std::vector<kube::ObjectPtr>> gated;
    std::map<std::string, std::int64_t> open;
    for (kube::ObjectPtr& pod : living_pods(seen, job.uid)) {
        const std::string_view named = pod->label(pod_set_label);
        const std::string set(named.empty() ? "main" : named);
        if (!has_gate(pod->value, elastic_annotation)) {
            ++open[set];
        } else if (!pod->is_terminating()) {
            gated[set].push_back(std::move(pod));
        }
    }
    std::vector<Write> writes;
    for (const auto& [set, waiting] : gated) {
        std::int64_t left = admitted_count(workload.value, set).value_or(0) - open[set];
        for (const kube::ObjectPtr& pod : waiting) {
            if (left-- <= 0) break;
            Value gates = gates_without(pod->value, elastic_annotation);
            writes.push_back(patch_of(
                *pod, "v1",
                Value::object({{"spec", Value::object({{"schedulingGates", std::move(gates)}})}})));
        }
    }
    return writes;
}

kube::ObjectPtr replaced_slice(const kube::Cache& seen, const kube::Object& workload) {
    const std::string_view named = replaces_of(workload);
    const std::string prefix = workload.key.ns + "/";
    if (!named.starts_with(prefix)) return nullptr;
    kube::ObjectPtr old =
        seen.find({workloads, workload.key.ns, std::string(named.substr(prefix.size()))});
    if (old == nullptr || !has_admission(old->value) || is_evicted(old->value) ||
        is_finished(old->value)) {
        return nullptr;
    }
    const Value owner = controller_of(workload.value);
    if (owner.is_null() || !(controller_of(old->value)["uid"] == owner["uid"])) return nullptr;
    return old;
}

decide::Assignment held_by(const kube::Object& slice) {
    decide::Assignment held = fold_admission(slice.value["status"]["admission"]);
    for (const Value& asked : slice.value["spec"]["podSets"].items()) {
        for (decide::PodSetAssignment& set : held.pod_sets) {
            if (set.name == asked["name"].text_or("main"))
                resize(set, std::min(set.count, asked["count"].integer_or(1)));
        }
    }
    return held;
}

void give_back_what_shrank(const kube::Object& slice, decide::Workload& folded) {
    if (slice.annotation(elastic_annotation) != "true") return;
    for (decide::PodSet& set : folded.pod_sets) {
        const auto admitted = admitted_count(slice.value, set.name);
        if (!admitted || *admitted <= set.count) continue;
        set.reclaimable += *admitted - set.count;
        set.count = *admitted;
    }
}

void keep_growth(const decide::Assignment& held, decide::Workload& folded) {
    for (decide::PodSet& set : folded.pod_sets) {
        const decide::PodSetAssignment* had = find_set(held, set.name);
        if (had == nullptr) continue;
        set.count -= had->count;
        for (const auto& [resource, flavor] : had->flavors)
            set.only_flavors.push_back(flavor);
        std::sort(set.only_flavors.begin(), set.only_flavors.end());
    }
    std::erase_if(folded.pod_sets, [](const decide::PodSet& set) { return set.count <= 0; });
}

decide::Assignment whole_of(const Value& pod_sets, const decide::Assignment& growth,
                            const decide::Assignment& held) {
    decide::Assignment whole;
    whole.cluster_queue = growth.cluster_queue;
    for (const Value& asked : pod_sets.items()) {
        const std::string name(asked["name"].text_or("main"));
        const decide::PodSetAssignment* had = find_set(held, name);
        if (had == nullptr || had->count == 0) had = find_set(growth, name);
        if (had == nullptr) continue;
        whole.pod_sets.push_back(*had);
        resize(whole.pod_sets.back(), asked["count"].integer_or(1));
    }
    return whole;
}

decide::Assignment growth_of(decide::Assignment whole, const decide::Assignment& held) {
    for (decide::PodSetAssignment& set : whole.pod_sets) {
        const decide::PodSetAssignment* had = find_set(held, set.name);
        if (had != nullptr) resize(set, std::max<std::int64_t>(0, set.count - had->count));
    }
    return whole;
}

}  // namespace muster::control::queue

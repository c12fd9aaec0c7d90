// control/queue/integration.cpp - reading jobs by their tables.
#include "control/queue/integration.h"

#include <algorithm>

#include "base/text.h"
#include "control/fold_pod.h"
#include "control/queue/identifiers.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

std::int64_t count_of(const PodSetRule& rule, const Value& holder) {
    std::optional<std::int64_t> least;
    for (const std::string_view path : rule.counts) {
        const Value& value = holder.path(path);
        if (!value.is_integer()) continue;
        least = least ? std::min(*least, value.as_integer()) : value.as_integer();
    }
    const std::int64_t times = rule.times.empty() ? 1 : holder.path(rule.times).integer_or(1);
    return least.value_or(1) * std::max<std::int64_t>(times, 1);
}

void allow_fewer(const PodSetRule& rule, const Value& object, PodSet& set) {
    const Value& annotations = object["metadata"]["annotations"];
    if (rule.min_annotation.empty()) return;
    set.min_count = parse_integer(annotations[rule.min_annotation].text_or(""));
    if (!set.min_count) return;
    set.count_places = {rule.counts.front()};
    if (parse_boolean(annotations[rule.equal_annotation].text_or("")).value_or(false))
        set.count_places = rule.counts;
}

PodSet pod_set_of(const PodSetRule& rule, const Value& object) {
    PodSet set{std::string(rule.name), count_of(rule, object), {}, "", 0, ""};
    set.pod_template = rule.made != nullptr ? rule.made(object) : object.path(rule.pod_template);
    set.place = rule.pod_template;
    allow_fewer(rule, object, set);
    return set;
}

void add_pod_sets(const PodSetRule& rule, const Value& object, std::vector<PodSet>& sets) {
    if (rule.applies != nullptr && !rule.applies(object)) return;
    if (!rule.present_at.empty() && object.path(rule.present_at).is_null()) return;
    if (rule.list.empty()) {
        sets.push_back(pod_set_of(rule, object));
        return;
    }
    const Value& list = object.path(rule.list);
    for (std::size_t i = 0; i < list.size(); ++i) {
        sets.push_back({to_lower(list[i][rule.name].text()), count_of(rule, list[i]),
                        list[i].path(rule.pod_template), std::string(rule.list), i,
                        std::string(rule.pod_template)});
    }
}

/// The kinds that make pods, or jobs that make them, when they are not suspended.
const std::vector<api::GroupResource>& makers_of_pods() {
    static const std::vector<api::GroupResource> makers = [] {
        std::vector<api::GroupResource> found;
        for (const JobKind& kind : job_kinds()) {
            if (kind.start == JobKind::Start::unsuspended) found.push_back(kind.resource);
        }
        return found;
    }();
    return makers;
}

void add_living_pods(const kube::Cache& seen, std::string_view owner_uid, int depth,
                     std::vector<kube::ObjectPtr>& found) {
    constexpr int depth_max = 8;  // Owners in a circle must not hang us.
    if (owner_uid.empty() || depth > depth_max) return;
    for (kube::ObjectPtr& pod : seen.owned_by(pods, owner_uid)) {
        if (!is_finished_pod(*pod)) found.push_back(std::move(pod));
    }
    for (const api::GroupResource& resource : makers_of_pods()) {
        for (const kube::ObjectPtr& owned : seen.owned_by(resource, owner_uid))
            add_living_pods(seen, owned->uid, depth + 1, found);
    }
}

}  // namespace

bool has_framework(std::string_view framework) {
    const auto& kinds = job_kinds();
    return std::any_of(kinds.begin(), kinds.end(), [&](const JobKind& kind) {
        return framework_of(kind.resource, kind.kind) == framework;
    });
}

const JobKind* find_job_kind(const api::GroupResource& resource) {
    for (const JobKind& kind : job_kinds()) {
        if (kind.resource == resource) return &kind;
    }
    return nullptr;
}

const JobKind* find_job_kind_named(std::string_view group_version, std::string_view kind_name) {
    const std::string group = api::parse_group_version(group_version).group;
    for (const JobKind& kind : job_kinds()) {
        if (kind.kind == kind_name && kind.resource.group == group) return &kind;
    }
    return nullptr;
}

std::vector<PodSet> pod_sets_of(const JobKind& kind, const Value& object) {
    if (kind.find_pod_sets != nullptr) return kind.find_pod_sets(object);
    std::vector<PodSet> sets;
    for (const PodSetRule& rule : kind.pod_sets)
        add_pod_sets(rule, object, sets);
    return sets;
}

std::vector<PodSet> pod_sets_of(const kube::Cache& seen, const JobKind& kind, const Value& object) {
    if (kind.find_pod_sets_by != nullptr) return kind.find_pod_sets_by(seen, object);
    return pod_sets_of(kind, object);
}

bool is_suspended(const JobKind& kind, const Value& object) {
    if (kind.is_waiting != nullptr) return kind.is_waiting(object);
    return object.path(kind.suspend).boolean_or(false);
}

std::optional<JobEnd> end_of(const JobKind& kind, const Value& object) {
    for (const EndRule& rule : kind.ends) {
        if (rule.sign == EndRule::Sign::condition) {
            const Value& condition = condition_of(object["status"], rule.where);
            if (condition["status"].text_or("") == "True")
                return JobEnd{rule.success, condition["message"].text()};
        } else if (object.path(rule.where).text_or("") == rule.value) {
            return JobEnd{rule.success, object.path(rule.message).text()};
        }
    }
    return std::nullopt;
}

bool are_pods_ready(const JobKind& kind, const Value& object) {
    if (!kind.ready_field.empty())
        return object.path(kind.ready_field).text_or("").starts_with(kind.ready_value);
    if (!kind.ready_condition.empty())
        return condition_of(object["status"], kind.ready_condition)["status"].text_or("") == "True";
    if (kind.are_ready != nullptr) return kind.are_ready(object);
    std::int64_t wanted = 0;
    for (const PodSet& set : pod_sets_of(kind, object))
        wanted += set.count;
    std::int64_t ready = 0;
    for (const std::string_view path : kind.ready_counts)
        ready += object.path(path).integer_or(0);
    return ready >= wanted;
}

Value* find_template(Value& object, const PodSet& pod_set) {
    if (pod_set.place.empty()) return nullptr;
    if (pod_set.place == ".") return &object;
    if (pod_set.list.empty()) return &at_path(object, pod_set.place);
    Value& list = at_path(object, pod_set.list);
    if (!list.is_array() || pod_set.index >= list.size()) return nullptr;
    return &at_path(list.mutable_items()[pod_set.index], pod_set.place);
}

std::vector<kube::ObjectPtr> living_pods(const kube::Cache& seen, std::string_view owner_uid) {
    std::vector<kube::ObjectPtr> found;
    add_living_pods(seen, owner_uid, 0, found);
    return found;
}

std::vector<kube::ObjectPtr> workloads_of_pod(const kube::Cache& seen, const kube::Object& pod) {
    const std::string_view name = workload_named_by(pod);
    if (name.empty()) return {};
    std::vector<kube::ObjectPtr> found = seen.by_index(workloads, pod.key.ns, first_slice_of, name);
    if (auto one = seen.find({workloads, pod.key.ns, std::string(name)}))
        found.push_back(std::move(one));
    return found;
}

bool is_named_by_living_pods(const kube::Cache& seen, const kube::Object& workload) {
    const std::string_view first = first_slice_of(workload);
    for (const std::string_view name : {std::string_view(workload.key.name), first}) {
        if (name.empty()) continue;
        const auto named = seen.by_index(pods, workload.key.ns, workload_named_by, name);
        if (!std::all_of(named.begin(), named.end(),
                         [](const kube::ObjectPtr& pod) { return is_finished_pod(*pod); }))
            return true;
    }
    return false;
}

bool has_living_pods(const kube::Cache& seen, const kube::Object& workload) {
    return !living_pods(seen, workload.label(job_uid_label)).empty() ||
           is_named_by_living_pods(seen, workload);
}

bool owns_jobs(const kube::Cache& seen, std::string_view owner_uid) {
    for (const api::GroupResource& resource : makers_of_pods()) {
        for (const kube::ObjectPtr& owned : seen.owned_by(resource, owner_uid)) {
            if (!owned->is_terminating()) return true;
        }
    }
    return false;
}

std::optional<bool> parse_boolean(std::string_view text) {
    for (const std::string_view word : {"1", "t", "T", "TRUE", "true", "True"}) {
        if (text == word) return true;
    }
    for (const std::string_view word : {"0", "f", "F", "FALSE", "false", "False"}) {
        if (text == word) return false;
    }
    return std::nullopt;
}

Value& at_path(Value& object, std::string_view dotted) {
    Value* here = &object;
    for (const std::string_view step : split(dotted, '.'))
        here = &here->at(step);
    return *here;
}

}  // namespace muster::control::queue

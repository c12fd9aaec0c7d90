// control/queue/job_rules.cpp - Kueue's rules for the metadata of jobs.
#include "control/queue/job_rules.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/dns_name.h"
#include "base/text.h"
#include "control/queue/identifiers.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/topology.h"
#include "control/queue/topology_rules.h"

namespace muster::control::queue {
namespace {

using api::Value;

constexpr std::string_view immutable = "field is immutable";

const Value& label_of(const Value& object, std::string_view label) {
    return object["metadata"]["labels"][label];
}

const Value& annotation_of(const Value& object, std::string_view annotation) {
    return object["metadata"]["annotations"][annotation];
}

std::string go_error(const char* function, std::string_view text) {
    std::string_view digits = text;
    if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
    const bool is_number =
        !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    return std::string("strconv.") + function + ": parsing " + quoted(text) +
           (is_number ? ": value out of range" : ": invalid syntax");
}

/// "batch/v1, Kind=Job"; of the core group "/v1, Kind=Pod".
std::string kind_text(const JobKind& kind) {
    return kind.resource.group + "/" + std::string(kind.version) +
           ", Kind=" + std::string(kind.kind);
}

void check_prebuilt(const JobKind& kind, const Value& job, FieldErrors& errors) {
    check_prebuilt_name(job, errors);
    if (prebuilt_of(job).empty() || kind.prebuilt == JobKind::Support::yes) return;
    errors.push_back(
        forbidden_at(prebuilt_path(job), "Is not supported for " + quoted(kind_text(kind))));
}

/// "spec.workerGroupSpecs[1].template.metadata"; the roles of Kubeflow's kinds are keys:
/// "spec.mpiReplicaSpecs[Worker].template.metadata".
std::string metadata_path(const PodSet& set) {
    std::string path;
    if (!set.list.empty()) path = set.list + "[" + std::to_string(set.index) + "].";
    path += (set.place == "." ? "" : set.place + ".") + "metadata";
    const std::string roles = "ReplicaSpecs.";
    const std::size_t at = path.find(roles);
    if (at == std::string::npos) return path;
    const std::size_t role = at + roles.size();
    const std::size_t end = path.find('.', role);
    return path.substr(0, role - 1) + "[" + path.substr(role, end - role) + "]" + path.substr(end);
}

/// Of which kinds the webhooks look at leaders and workers together.
bool has_leaders(const JobKind& kind) {
    for (const std::string_view name :
         {"JobSet", "RayCluster", "RayJob", "MPIJob", "LeaderWorkerSet"}) {
        if (kind.kind == name) return true;
    }
    return false;
}

/// What pods ask of topologies is kept when they start, and a job that grows starts again.
void check_elastic_topologies(const JobKind& kind, const Value& job, FieldErrors& errors) {
    if (kind.elastic == JobKind::Support::no || !asks_to_be_elastic(job)) return;
    for (const PodSet& set : pod_sets_of(kind, job)) {
        if (set.place.empty() || topology_request_of(set.pod_template).is_null()) continue;
        const std::string path = metadata_path(set) + ".annotations";
        const Value& asked = set.pod_template["metadata"]["annotations"];
        const bool is_required = asked.has(required_annotation);
        if (kind.resource == jobs && (is_required || asked.has(preferred_annotation))) {
            errors.push_back(forbidden_at(
                path + "." + std::string(is_required ? required_annotation : preferred_annotation),
                std::string(is_required ? "required" : "preferred") +
                    " topology is not supported with elastic jobs"));
            continue;
        }
        errors.push_back(forbidden_at(path,
                                      "an elastic job's pods cannot ask for a topology: remove the "
                                      "topology annotations, or " +
                                          std::string(elastic_annotation)));
    }
}

void check_time_limit(const Value& job, FieldErrors& errors) {
    const Value& text = label_of(job, max_time_label);
    if (!text.is_string()) return;
    const auto limit = parse_go_integer(text.as_string());
    if (!limit) {
        errors.push_back(
            invalid_at(label_path(max_time_label), text, go_error("Atoi", text.as_string())));
    } else if (*limit <= 0) {
        errors.push_back(
            invalid_at(label_path(max_time_label), Value(*limit), "should be greater than 0"));
    }
}

std::int64_t pods_of(const Value& job) {
    const std::int64_t parallelism = job["spec"]["parallelism"].integer_or(1);
    return std::min(parallelism, job["spec"]["completions"].integer_or(parallelism));
}

void check_min_parallelism(const Value& job, FieldErrors& errors) {
    const Value& text = annotation_of(job, min_parallelism_annotation);
    if (!text.is_string()) return;
    const std::string path = annotation_path(min_parallelism_annotation);
    const auto least = parse_go_integer(text.as_string());
    if (!least) {
        errors.push_back(invalid_at(path, text, go_error("Atoi", text.as_string())));
    } else if (*least >= pods_of(job) || *least <= 0) {
        errors.push_back(invalid_at(path, Value(*least),
                                    "should be between 0 and " + std::to_string(pods_of(job) - 1)));
    }
    if (asks_to_be_elastic(job)) {
        errors.push_back(
            invalid_at(path, text, "partial admission and elastic job cannot be used together"));
    }
}

bool completions_follow(const Value& job) {
    return parse_boolean(annotation_of(job, equal_completions_annotation).text_or(""))
        .value_or(false);
}

void check_equal_completions(const Value& job, FieldErrors& errors) {
    const Value& text = annotation_of(job, equal_completions_annotation);
    if (!text.is_string()) return;
    const std::string path = annotation_path(equal_completions_annotation);
    const auto enabled = parse_boolean(text.as_string());
    if (!enabled) errors.push_back(invalid_at(path, text, go_error("ParseBool", text.as_string())));
    if (!enabled.value_or(false)) return;
    const Value& spec = job["spec"];
    if (spec["completionMode"].text_or("NonIndexed") == "NonIndexed") {
        errors.push_back(invalid_at(path, text, "should not be enabled for NonIndexed jobs"));
    }
    if (spec["parallelism"].integer_or(1) != spec["completions"].integer_or(1)) {
        errors.push_back(invalid_at("spec.completions", spec["completions"],
                                    "should be equal to parallelism when " +
                                        std::string(equal_completions_annotation) +
                                        " annotation is true"));
    }
}

}  // namespace

bool asks_to_be_elastic(const Value& job) {
    return annotation_of(job, elastic_annotation).text_or("") == "true";
}

std::optional<std::int64_t> parse_go_integer(std::string_view text) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    return parse_integer(text);
}

std::string label_path(std::string_view label) {
    return "metadata.labels[" + std::string(label) + "]";
}

std::string annotation_path(std::string_view annotation) {
    return "metadata.annotations[" + std::string(annotation) + "]";
}

api::FieldError invalid_at(std::string path, const Value& value, std::string_view detail) {
    api::FieldError error = api::invalid(api::Path(), value, detail);
    error.field = std::move(path);
    return error;
}

api::FieldError forbidden_at(std::string path, std::string_view detail) {
    api::FieldError error = api::forbidden(api::Path(), detail);
    error.field = std::move(path);
    return error;
}

api::FieldError required_at(std::string path, std::string_view detail) {
    api::FieldError error = api::required(api::Path(), detail);
    error.field = std::move(path);
    return error;
}

void check_same(const Value& before, const Value& now, std::string path, FieldErrors& errors) {
    if (before == now) return;
    errors.push_back(invalid_at(std::move(path), now, immutable));
}

void check_name_at(const std::string& path, const Value& name, FieldErrors& errors) {
    const std::vector<std::string> faults = dns1123_subdomain_faults(name.as_string());
    if (!faults.empty()) errors.push_back(invalid_at(path, name, join(faults, ",")));
}

void check_name_in_label(const Value& object, std::string_view label, FieldErrors& errors) {
    const Value& name = label_of(object, label);
    if (name.is_string()) check_name_at(label_path(label), name, errors);
}

void check_elastic(const JobKind& kind, const Value& job, FieldErrors& errors) {
    if (!asks_to_be_elastic(job) || kind.elastic == JobKind::Support::yes) return;
    errors.push_back(forbidden_at(annotation_path(elastic_annotation),
                                  "elastic job is not supported for " + quoted(kind_text(kind))));
}

void check_labels(const JobKind& kind, const Value& job, FieldErrors& errors) {
    check_name_in_label(job, queue_name_label, errors);
    check_prebuilt(kind, job, errors);
    check_elastic(kind, job, errors);
    check_time_limit(job, errors);
}

void check_priority_class(const Value& before, const Value& now, Waits waits, FieldErrors& errors) {
    const std::string old_class = label_of(before, priority_class_label).text();
    const std::string new_class = label_of(now, priority_class_label).text();
    const std::string path = label_path(priority_class_label);
    if (waits == Waits::no && old_class.empty() && !new_class.empty()) {
        errors.push_back(
            invalid_at(path, Value(new_class),
                       "WorkloadPriorityClass cannot be added to a non-suspended workload"));
    }
    if (!old_class.empty() && new_class.empty()) {
        errors.push_back(invalid_at(path, Value(new_class),
                                    "WorkloadPriorityClass cannot be removed from a workload"));
    }
}

void check_label_changes(const JobKind& kind, const Value& before, const Value& now,
                         DefaultQueue in_namespace, FieldErrors& errors) {
    const bool waits = is_suspended(kind, now);
    const Value old_queue{queue_name_of(before)};
    const Value new_queue{queue_name_of(now)};
    if (!waits) check_same(old_queue, new_queue, label_path(queue_name_label), errors);
    if (new_queue.as_string().empty() && !old_queue.as_string().empty() &&
        in_namespace == DefaultQueue::exists) {
        errors.push_back(
            invalid_at(label_path(queue_name_label), Value(""),
                       "queue-name must not be empty in namespace with default queue"));
    }
    const bool was_elastic = asks_to_be_elastic(before);
    const bool stays_elastic = asks_to_be_elastic(now);
    if (waits || was_elastic) {
        check_prebuilt(kind, now, errors);
    } else {
        check_same(Value(prebuilt_of(before)), Value(prebuilt_of(now)), prebuilt_path(now), errors);
    }
    if (!waits || !is_suspended(kind, before)) {
        check_same(Value(label_of(before, max_time_label).text()),
                   Value(label_of(now, max_time_label).text()), label_path(max_time_label), errors);
    }
    check_priority_class(before, now, waits ? Waits::yes : Waits::no, errors);
    if (was_elastic != stays_elastic)
        errors.push_back(invalid_at(annotation_path(elastic_annotation), stays_elastic, immutable));
}

FieldErrors check_job(const Value& job) {
    FieldErrors errors;
    check_min_parallelism(job, errors);
    check_equal_completions(job, errors);
    return errors;
}

FieldErrors check_job_change(const Value& before, const Value& now) {
    FieldErrors errors;
    const bool waited = before["spec"]["suspend"].boolean_or(false);
    const bool waits = now["spec"]["suspend"].boolean_or(false);
    if (annotation_of(before, min_parallelism_annotation).is_string() && !waited &&
        before["spec"]["parallelism"].integer_or(1) != now["spec"]["parallelism"].integer_or(1)) {
        errors.push_back(forbidden_at(
            "spec.parallelism",
            "cannot change when partial admission is enabled and the job is not suspended"));
    }
    if (!waited && !waits && completions_follow(before) != completions_follow(now)) {
        errors.push_back(forbidden_at(annotation_path(equal_completions_annotation),
                                      "field is immutable while the job is not suspended"));
    }
    if (annotation_of(before, min_parallelism_annotation) !=
        annotation_of(now, min_parallelism_annotation)) {
        check_min_parallelism(now, errors);
    }
    check_equal_completions(now, errors);
    return errors;
}

void check_pod_sets(const JobKind& kind, const Value& job, FieldErrors& errors) {
    const std::vector<PodSet> sets = pod_sets_of(kind, job);
    std::vector<GroupedPodSet> grouped;
    const std::size_t before = errors.size();
    for (const PodSet& set : sets) {
        if (set.place.empty()) continue;  // Not its own.
        const std::string path = metadata_path(set);
        check_topology(set.pod_template["metadata"], path, errors);
        const Value request = topology_request_of(set.pod_template);
        if (!request["required"].is_null() || !request["preferred"].is_null())
            grouped.push_back({request, set.count, path});
    }
    // Of a Job the first part that is wrong is told.
    const auto goes_on = [&] { return kind.resource != jobs || errors.size() == before; };
    if (goes_on()) check_elastic_topologies(kind, job, errors);
    if (!goes_on() || kind.start == JobKind::Start::ungated) return;
    for (const PodSet& set : sets) {
        if (!set.place.empty())
            check_slice_bound(set.pod_template["metadata"], metadata_path(set), set.count, errors);
    }
    if (has_leaders(kind)) check_pod_set_groups(grouped, errors);
}

}  // namespace muster::control::queue

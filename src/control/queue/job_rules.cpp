// control/queue/job_rules.cpp - Kueue's rules for the metadata of jobs.
#include "control/queue/job_rules.h"

#include <algorithm>
#include <map>
#include <set>
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
    return std::string("strconv.") + function + ": parsing " + quoted(text) + ": invalid syntax";
}

/// "batch/v1, Kind=Job"
std::string kind_text(const JobKind& kind) {
    const std::string group = kind.resource.group.empty() ? "" : kind.resource.group + "/";
    return group + std::string(kind.version) + ", Kind=" + std::string(kind.kind);
}

void check_prebuilt(const JobKind& kind, const Value& job, FieldErrors& errors) {
    check_prebuilt_name(job, errors);
    if (prebuilt_of(job).empty() || kind.prebuilt == JobKind::Support::yes) return;
    errors.push_back(
        forbidden_at(prebuilt_path(job), "Is not supported for " + quoted(kind_text(kind))));
}

/// "spec.workerGroupSpecs[1].template.metadata"
std::string metadata_path(const PodSet& set) {
    std::string path;
    if (!set.list.empty()) path = set.list + "[" + std::to_string(set.index) + "].";
    return path + (set.place == "." ? "" : set.place + ".") + "metadata";
}

void check_elastic(const JobKind& kind, const Value& job, FieldErrors& errors) {
    if (annotation_of(job, elastic_annotation).text_or("") != "true") return;
    const std::string path = annotation_path(elastic_annotation);
    if (kind.elastic == JobKind::Support::no) {
        errors.push_back(forbidden_at(path, "Is not supported for " + quoted(kind_text(kind))));
    } else if (annotation_of(job, min_parallelism_annotation).is_string()) {
        errors.push_back(
            forbidden_at(path, "partial admission and elastic jobs exclude each other"));
    }
    for (const PodSet& set : pod_sets_of(kind, job)) {
        if (set.place.empty() || topology_request_of(set.pod_template).is_null()) continue;
        errors.push_back(forbidden_at(metadata_path(set) + ".annotations",
                                      "an elastic job's pods cannot ask for a topology: remove the "
                                      "topology annotations, or " +
                                          std::string(elastic_annotation)));
    }
}

void check_time_limit(const Value& job, FieldErrors& errors) {
    const Value& text = label_of(job, max_time_label);
    if (!text.is_string()) return;
    const auto limit = parse_integer(text.as_string());
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
    const auto least = parse_integer(text.as_string());
    if (!least) {
        errors.push_back(invalid_at(path, text, go_error("Atoi", text.as_string())));
    } else if (*least >= pods_of(job) || *least <= 0) {
        errors.push_back(invalid_at(path, Value(*least),
                                    "should be between 0 and " + std::to_string(pods_of(job) - 1)));
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
                                        " is annotation is true"));
    }
}

std::vector<std::string> gates_of(const Value& annotation) {
    std::vector<std::string> gates;
    if (annotation.text_or("").empty()) return gates;
    for (const std::string_view gate : split(annotation.as_string(), ','))
        gates.emplace_back(trim(gate));
    return gates;
}

/// "example.com/name", as Kubernetes checks such words.
void check_gate(const std::string& gate, const std::string& path, FieldErrors& errors) {
    constexpr std::string_view in_path =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "/-._~%!$&'()*+,;=:";
    constexpr std::size_t gate_max = 63;
    const auto halves = split_first(gate, '/');
    if (!halves || halves->before.empty() || halves->after.empty()) {
        errors.push_back(invalid_at(path, Value(gate),
                                    "must be a domain-prefixed path (such as \"acme.io/foo\")"));
    } else {
        for (const std::string& fault : dns1123_subdomain_faults(halves->before))
            errors.push_back(invalid_at(path, Value(std::string(halves->before)), fault));
        if (halves->after.find_first_not_of(in_path) != std::string_view::npos) {
            errors.push_back(invalid_at(path, Value(std::string(halves->after)),
                                        "Invalid path (regex used for validation is "
                                        "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"));
        }
    }
    if (gate.size() > gate_max) {
        errors.push_back(invalid_at(path, Value(gate),
                                    "may not be more than " + std::to_string(gate_max) + " bytes"));
    }
}

}  // namespace

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
    const bool was_elastic = annotation_of(before, elastic_annotation).text_or("") == "true";
    const bool is_elastic = annotation_of(now, elastic_annotation).text_or("") == "true";
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
    if (was_elastic != is_elastic)
        errors.push_back(invalid_at(label_path(elastic_annotation), is_elastic, immutable));
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
        grouped.push_back({topology_request_of(set.pod_template), set.count, path});
    }
    if (errors.size() > before || kind.start == JobKind::Start::ungated) return;
    for (const PodSet& set : sets) {
        if (!set.place.empty())
            check_slice_bound(set.pod_template["metadata"], metadata_path(set), set.count, errors);
    }
    check_pod_set_groups(grouped, errors);
}

void check_gates(const Value* before, const Value& now, FieldErrors& errors) {
    const Value& given = annotation_of(now, admission_gates_annotation);
    const std::string path = annotation_path(admission_gates_annotation);
    if (given.text_or("").empty()) return;
    const std::vector<std::string> gates = gates_of(given);
    if (before != nullptr) {
        const auto old = gates_of(annotation_of(*before, admission_gates_annotation));
        const auto is_new = [&](const std::string& gate) {
            return std::find(old.begin(), old.end(), gate) == old.end();
        };
        if (old.empty()) {
            errors.push_back(forbidden_at(path, "cannot add admission gate after creation"));
        } else if (std::any_of(gates.begin(), gates.end(), is_new)) {
            errors.push_back(forbidden_at(path, "can only remove gates, not add new ones"));
        }
    }
    std::set<std::string> known;
    for (const std::string& gate : gates) {
        if (gate.empty()) {
            errors.push_back(invalid_at(path, given, "cannot contain empty gate names"));
        } else if (!known.insert(gate).second) {
            errors.push_back(invalid_at(path, given, "duplicate gate name: " + gate));
        } else {
            check_gate(gate, path, errors);
        }
    }
}

}  // namespace muster::control::queue

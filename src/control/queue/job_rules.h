// control/queue/job_rules.h - what the labels and annotations of a queued job must be, and which of
// them may change when; in the words of Kueue's webhooks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "api/value.h"
#include "control/queue/integration.h"

namespace muster::control::queue {

using FieldErrors = std::vector<api::FieldError>;

/// Whether the namespace has a LocalQueue named `default`.
enum class DefaultQueue { none, exists };

/// A whole number as Go reads it: with a sign.
std::optional<std::int64_t> parse_go_integer(std::string_view text);

/// "metadata.labels[NAME]"
std::string label_path(std::string_view label);
std::string annotation_path(std::string_view annotation);

api::FieldError invalid_at(std::string path, const api::Value& value, std::string_view detail);
api::FieldError forbidden_at(std::string path, std::string_view detail);
api::FieldError required_at(std::string path, std::string_view detail);

/// The error of a field that may not change and did; none when it is what it was.
void check_same(const api::Value& before, const api::Value& now, std::string path,
                FieldErrors& errors);

/// A text that must be a name which an object may have.
void check_name_at(const std::string& path, const api::Value& name, FieldErrors& errors);

/// The value of a label must be such a name.
void check_name_in_label(const api::Value& object, std::string_view label, FieldErrors& errors);

/// Only some kinds can be scaled while they run.
void check_elastic(const JobKind& kind, const api::Value& job, FieldErrors& errors);

/// Its queue, the Workload made for it beforehand, its time limit.
void check_labels(const JobKind& kind, const api::Value& job, FieldErrors& errors);

/// What may not change between two versions of a job.
void check_label_changes(const JobKind& kind, const api::Value& before, const api::Value& now,
                         DefaultQueue in_namespace, FieldErrors& errors);

/// By its annotation, whether its kind can be or not.
bool asks_to_be_elastic(const api::Value& job);

/// Whether the change of a priority class is one that a job may take.
enum class Waits { no, yes };
void check_priority_class(const api::Value& before, const api::Value& now, Waits waits,
                          FieldErrors& errors);

/// What a batch Job alone has: partial admission.
FieldErrors check_job(const api::Value& job);
FieldErrors check_job_change(const api::Value& before, const api::Value& now);

/// The pod templates of a job: what they ask of topologies.
void check_pod_sets(const JobKind& kind, const api::Value& job, FieldErrors& errors);

}  // namespace muster::control::queue

// control/queue/identifiers.h - of which group a pod says that it is, and which Workload a job says
// was made for it beforehand: annotations, which hold names of any length, or labels of the same
// name, as it was said before there were those.
#pragma once

#include <string>
#include <string_view>

#include "api/value.h"
#include "control/queue/job_rules.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// Empty: of none. What the annotation says goes before the label.
std::string_view group_of(const api::Value& pod);
std::string_view group_of(const kube::Object& pod);
std::string_view prebuilt_of(const api::Value& job);
std::string_view prebuilt_of(const kube::Object& job);
/// The Workload that a pod was started for, as it is told when it starts.
std::string_view workload_named_by(const kube::Object& pod);

/// The name of the first of the Workloads that an elastic job had; its pods may name that one.
std::string_view first_slice_of(const kube::Object& workload);

/// By its annotation.
bool has_group_annotation(const api::Value& pod);

/// Where it is said, or may be: the label when neither is there.
std::string group_path(const api::Value& pod);
std::string prebuilt_path(const api::Value& job);

/// What says it must be a name that an object may have.
void check_group_name(const api::Value& pod, FieldErrors& errors);
void check_prebuilt_name(const api::Value& job, FieldErrors& errors);

/// The pod joins the group whose Workload is made by its owner.
void set_group(api::Value& pod, std::string_view workload);

}  // namespace muster::control::queue

// control/queue/pod_shape.h - which pods of a group are alike: those that need the same to be
// admitted have one role.
#pragma once

#include <string>
#include <vector>

#include "api/field_error.h"
#include "api/value.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// What of a pod's spec counts when it is admitted.
api::Value role_shape(const api::Value& pod_spec);

/// Eight hexadecimal digits of its shape.
std::string role_hash(const api::Value& pod_spec);

/// The role that a pod was given when it came in.
std::string role_of(const kube::Object& pod);

/// One error for each part of the shape that differs; `path` is that of the spec.
void check_same_shape(const api::Value& before, const api::Value& now, const std::string& path,
                      std::vector<api::FieldError>& errors);

/// It carries the gate.
bool has_gate(const api::Value& pod, std::string_view gate);

/// The gates of a pod without one of them; null when none is left.
api::Value gates_without(const api::Value& pod, std::string_view gate);

}  // namespace muster::control::queue

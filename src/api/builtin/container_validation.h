// api/builtin/container_validation.h - checks of one container of a pod.
#pragma once

#include <set>
#include <string_view>

#include "api/builtin/validation.h"

namespace muster::api {

/// Init containers run before the others, and have rules of their own.
enum class ContainerKind { main, init };

/// The names of a pod's volumes.
using VolumeNames = std::set<std::string_view>;

/// Each mounted volume must be among the pod's volumes.
void check_container(const Value& container, ContainerKind kind, const VolumeNames& volumes,
                     const Path& path, FieldErrors& errors);

/// The users and groups of a security context: runAsUser, runAsGroup, and those that only a pod has
/// (fsGroup, supplementalGroups).
void check_ids(const Value& context, const Path& path, FieldErrors& errors);

/// Requests and limits: names, signs, and requests not above limits.
void check_resources(const Value& resources, const Path& path, FieldErrors& errors);

}  // namespace muster::api

// control/ray/validate.h - what is wrong with a Ray spec, in words; and what is asked for that is
// not there yet.
#pragma once

#include <optional>
#include <string>

#include "api/value.h"

namespace muster::control::ray {

/// What a rejected spec is told: an event reason of KubeRay and a sentence.
struct Problem {
    std::string
        reason;  // "InvalidRayClusterSpec", "InvalidRayClusterMetadata", "InvalidRayJobSpec", ...
    std::string message;
};

/// Checks a whole RayCluster object.
std::optional<Problem> check_cluster(const api::Value& cluster);

/// Checks a whole RayJob object, its rayClusterSpec included.
std::optional<Problem> check_job(const api::Value& job);

}  // namespace muster::control::ray

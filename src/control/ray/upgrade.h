// control/ray/upgrade.h - telling whether a cluster's pods are still as its spec wants them.
#pragma once

#include <string>
#include <string_view>

#include "api/value.h"

namespace muster::control::ray {

/// On the head pod: the hash of the spec that it was made from, and who computed it.
inline constexpr std::string_view spec_hash_annotation = "ray.io/upgrade-strategy-recreate-hash";
inline constexpr std::string_view version_annotation = "ray.io/kuberay-version";

/// upgradeStrategy Recreate: a changed spec takes all pods with it.
bool wants_recreate(const api::Value& cluster_spec);

/// A hash of all that pods are made from: not of numbers of pods, which change by scaling, nor of
/// what others set on a running cluster (tolerations, scheduling gates, suspension).
std::string spec_hash(const api::Value& cluster_spec);

}  // namespace muster::control::ray

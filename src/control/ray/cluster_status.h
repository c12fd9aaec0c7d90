// control/ray/cluster_status.h - what a RayCluster's status says, computed from its pods.
#pragma once

#include <optional>
#include <vector>

#include "api/value.h"
#include "base/time.h"
#include "control/ray/validate.h"
#include "kube/cache.h"

namespace muster::control::ray {

/// What the status is made from.
struct ClusterView {
    const kube::Object& cluster;
    std::vector<kube::ObjectPtr> pods;  // All of the cluster's, terminating ones included.
    kube::ObjectPtr service;            // Of the head; null until it is there.
    std::optional<Problem> problem;     // Of the spec.
    std::optional<Problem> failure;     // A write of a pod or service that the server refused.
    Time now;
};

/// The whole new status; equal to the present one (times included) when nothing has changed.
api::Value cluster_status(const ClusterView& view);

/// Replicas of a worker group that should run: clamped between min and max; 0 when suspended.
std::int64_t desired_replicas(const api::Value& group);

}  // namespace muster::control::ray

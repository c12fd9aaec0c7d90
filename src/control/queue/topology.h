// control/queue/topology.h - topologies in the objects: what asks for places and what says where
// they are.
#pragma once

#include <optional>
#include <string_view>

#include "api/value.h"
#include "decide/place/topology.h"
#include "kube/cache.h"

namespace muster::control::queue {

// What a pod template says in annotations.
inline constexpr std::string_view required_annotation = "kueue.x-k8s.io/podset-required-topology";
inline constexpr std::string_view preferred_annotation = "kueue.x-k8s.io/podset-preferred-topology";
inline constexpr std::string_view unconstrained_annotation =
    "kueue.x-k8s.io/podset-unconstrained-topology";
inline constexpr std::string_view slice_annotation =
    "kueue.x-k8s.io/podset-slice-required-topology";
inline constexpr std::string_view slice_size_annotation = "kueue.x-k8s.io/podset-slice-size";
inline constexpr std::string_view layers_annotation =
    "kueue.x-k8s.io/podset-slice-required-topology-constraints";
inline constexpr std::string_view group_annotation = "kueue.x-k8s.io/podset-group-name";

decide::Topology fold_topology(const kube::Object& topology);

/// A pod set's topologyRequest.
decide::TopologyRequest fold_topology_request(const api::Value& request);

/// The topologyRequest that the annotations of a pod template ask for; null when for none. What
/// cannot be read asks for nothing.
api::Value topology_request_of(const api::Value& pod_template);

/// The topologyAssignment of a pod set in v1beta2, and back.
api::Value topology_assignment_of(const decide::TopologyAssignment& assignment);
std::optional<decide::TopologyAssignment> fold_topology_assignment(const api::Value& assignment);

}  // namespace muster::control::queue

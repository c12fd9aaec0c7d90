// control/queue/topology.h - topologies in the objects: what asks for places and what says where
// they are.
#pragma once

#include <optional>

#include "api/value.h"
#include "decide/place/topology.h"
#include "kube/cache.h"

namespace muster::control::queue {

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

// control/queue/places.h - tells the pods of admitted workloads where in the topology they go.
#pragma once

#include "control/controller.h"

namespace muster::control::queue {

/// Takes the gate kueue.x-k8s.io/topology off pods whose workload has places: each gets the labels
/// of one domain as node selector. A pod with a completion index gets its domain by rank, so that
/// neighbours by index sit together; others fill what is left, by name.
Controller places_controller();

}  // namespace muster::control::queue

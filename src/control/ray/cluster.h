// control/ray/cluster.h - the RayCluster controller.
#pragma once

#include "control/controller.h"

namespace muster::control::ray {

/// Keeps a RayCluster's head service and pods as its spec says, and tells in its status how far
/// they are. Follows KubeRay (docs/deviations.md has the differences): pods of a cluster are
/// created together, an invalid spec shows in the status and heals, and `ready` is taken back when
/// pods die.
Controller cluster_controller();

}  // namespace muster::control::ray

// control/ray/pod_state.h - what a pod of a Ray cluster is good for: ready, or lost for good.
#pragma once

#include "kube/cache.h"

namespace muster::control::ray {

/// Running, ready and not on its way out. A submitter that has ended beside Ray takes nothing from
/// its head.
bool is_ready(const kube::Object& pod);

/// It will not come back by itself.
bool is_lost(const kube::Object& pod);

}  // namespace muster::control::ray

// control/queue/pod_groups.h - queued pods: one alone, or a group of them that starts together.
// They wait behind a gate; an eviction deletes them.
#pragma once

#include "control/controller.h"
#include "control/queue/settings.h"

namespace muster::control::queue {

/// The Workloads of queued pods: one for each pod without a group, one for each group, which has
/// the group's name. A StatefulSet's is made by serving.h.
Controller pod_controller(const Settings& settings);

}  // namespace muster::control::queue

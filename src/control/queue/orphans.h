// control/queue/orphans.h - Workloads without their jobs, and Workloads that ran too long.
#pragma once

#include "control/controller.h"

namespace muster::control::queue {

/// Lets a Workload go when its job is gone and its last process is; ends one that was orphaned;
/// deactivates one that has run longer than its maximumExecutionTimeSeconds.
Controller orphan_controller();

}  // namespace muster::control::queue

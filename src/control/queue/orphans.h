// control/queue/orphans.h - the Workload's own controller: its life, its end, and what it does
// without its job.
#pragma once

#include "control/controller.h"
#include "control/queue/life_policy.h"

namespace muster::control::queue {

/// Lets a Workload go when its job is gone and its last process is; ends one that was orphaned;
/// does what time and admission checks ask for (life.h); removes what has been over for long.
Controller orphan_controller(const LifePolicy& policy);

}  // namespace muster::control::queue

// control/queue/jobs.h - the suspend contract: a queued job gets a Workload, starts when that is
// admitted, stops when it is evicted, and ends it when it ends.
#pragma once

#include <vector>

#include "control/controller.h"

namespace muster::control::queue {

/// One controller for each kind of job_kinds(), and one for the Workloads themselves (owners that
/// vanished, time limits).
std::vector<Controller> job_controllers();

}  // namespace muster::control::queue

// control/queue/jobs.h - the suspend contract: a queued job gets a Workload, starts when that is
// admitted, stops when it is evicted, and ends it when it ends.
#pragma once

#include <vector>

#include "control/controller.h"
#include "control/queue/settings.h"

namespace muster::control::queue {

/// One controller for each kind of job_kinds() that the settings speak of, and one for the
/// Workloads themselves (orphans.h).
std::vector<Controller> job_controllers(const Settings& settings = {});

}  // namespace muster::control::queue

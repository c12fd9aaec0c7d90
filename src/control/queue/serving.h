// control/queue/serving.h - the Workload of a StatefulSet: as many pods as it has replicas, on hold
// while these are none.
#pragma once

#include "control/controller.h"
#include "control/queue/settings.h"

namespace muster::control::queue {

Controller stateful_set_controller(const Settings& settings);

}  // namespace muster::control::queue

// control/appwrapper/controller.h - the AppWrapper controller: makes, watches, completes and clears
// away.
#pragma once

#include "api/kind.h"
#include "control/controller.h"

namespace muster::control::appwrapper {

/// Acts on what the queue planner decided (`status.canrun`): makes all wrapped objects or none,
/// follows their pods, sees completion, deadlines and pods that cannot run, and removes what was
/// made, processes before data. `resource` is one of the two in demand.h.
Controller controller(const api::GroupResource& resource);

}  // namespace muster::control::appwrapper

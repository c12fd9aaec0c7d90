// apps/up/controllers.h - every controller of Muster, given to one runner and one API server.
#pragma once

#include "apiserver/server.h"
#include "base/loop.h"
#include "control/control_plane.h"

namespace muster::up {

/// Adds controllers, planners, admission and the answers of `why`. Before either starts. The loops
/// are those of the runner and of the server.
void add_controllers(control::Runner& runner, Loop& control_loop, apiserver::Server& server,
                     Loop& server_loop, const control::ControlPlaneOptions& options,
                     control::queue::Controllers controllers);

}  // namespace muster::up

// apps/up/controllers.h - every controller of Muster, given to one runner and one API server.
#pragma once

#include <memory>
#include <string>

#include "apiserver/server.h"
#include "base/loop.h"
#include "control/runner.h"
#include "decide/change.h"

namespace muster::up {

/// Adds controllers, planners, admission and the answers of `why`. Before either starts. The loops
/// are those of the runner and of the server. `queues` is what `read_config` said.
void add_controllers(control::Runner& runner, Loop& control_loop, apiserver::Server& server,
                     Loop& server_loop, const std::string& certificate_authority_pem,
                     const decide::Options& queues);

/// Reads the file given with --config; an empty name is no file. Throws Error when it cannot be
/// read or says what is not there.
decide::Options read_config(const std::string& file);

}  // namespace muster::up

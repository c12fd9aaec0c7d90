// agent/user_namespace.h - a user namespace with a map of ids, for the processes of a pod.
#pragma once

#include "agent/descriptor.h"
#include "agent/uid_ranges.h"

namespace muster::agent {

/// Makes one, as the user who is root in it. This process must have CAP_SETUID and CAP_SETGID in
/// its own user namespace, and /proc must show its processes. Throws Error.
Descriptor make_user_namespace(const IdMap& map);

/// Moves the calling process into the namespace, as user and group 0 of it, with all capabilities
/// there and none outside. Throws Error.
void enter_user_namespace(const Descriptor& users);

}  // namespace muster::agent

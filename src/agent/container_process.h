// agent/container_process.h - the first process of a container, and processes that join one.
#pragma once

#include <string>

#include <sys/types.h>

#include "agent/descriptor.h"
#include "api/value.h"

namespace muster::agent {

/// A started process as its pod's init holds it.
struct Started {
    pid_t pid = -1;     // The first process of the container, or what waits for a joined one.
    Descriptor output;  // Containers only.
    Descriptor error;   // Containers only.
    Descriptor status;  // Lines: "started PID", "exited CODE SIGNAL" or "failed TEXT".
};

/// Starts a container: a process in mount and pid namespaces of its own that enters the root, runs
/// the command as its child, passes signals on, and tells how it ended. Throws Error.
Started start_container(const api::Value& spec);

/// Runs a command inside the namespaces of the container whose first process is `container`.
/// `spec` is the container's; `request` has argv and tty. Throws Error.
Started join_container(pid_t container, const api::Value& spec, const api::Value& request, int in,
                       int out, int error);

}  // namespace muster::agent

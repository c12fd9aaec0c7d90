// agent/container_process.h - the first process of a container, and processes that join one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <linux/filter.h>
#include <sys/types.h>

#include "agent/descriptor.h"
#include "api/value.h"

namespace muster::agent {

/// A started process as its pod's init holds it.
struct Started {
    pid_t pid = -1;       // The first process of the container, or what waits for a joined one.
    Descriptor output;    // Containers only, without a terminal.
    Descriptor error;     // Containers only, without a terminal.
    Descriptor input;     // Containers with stdin and without a terminal.
    Descriptor terminal;  // Containers with tty: a socket over which the terminal comes.
    Descriptor status;    // Lines: "started PID", "exited CODE SIGNAL" or "failed TEXT".
    Descriptor doors;     // Containers: a socket over which a Doors comes before "started".
};

/// The ways into a container, which its first process gave away before it gave up its rights.
struct Doors {
    Descriptor root;
    Descriptor mounts;  // Its namespaces.
    Descriptor processes;
    Descriptor groups;

    explicit operator bool() const { return root && mounts && processes && groups; }
};
/// The descriptors that came over Started::doors; empty when none have come.
Doors receive_doors(const Descriptor& socket);

/// The walls around the processes of a pod.
struct Confinement {
    Descriptor users;                 // The pod's user namespace; empty: each has one of its own.
    std::vector<sock_filter> filter;  // The system calls that they may make.
};

/// Starts a container: a process in mount and (unless `sharePid`) pid namespaces of its own that
/// enters the control groups and the root, runs the command as its child, passes signals on, and
/// tells how it ended. Throws Error.
Started start_container(const api::Value& spec, const std::vector<std::string>& groups,
                        const Confinement& confinement);

/// A command that joins a container.
struct Joining {
    const Doors& doors;
    const api::Value& spec;
    const api::Value& request;  // argv, tty
    const std::vector<std::string>& groups;
    const Confinement& confinement;
    const std::vector<Descriptor>& descriptors;  // in, out, error; with tty: a socket.
};

/// Runs it inside the container's namespaces. Throws Error.
Started join_container(const Joining& joining);

}  // namespace muster::agent

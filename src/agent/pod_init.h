// agent/pod_init.h - process 1 of a pod: starts its containers, keeps their logs and exit codes,
// and outlives Muster for ten minutes.
#pragma once

#include <string>

#include "agent/cgroup_tree.h"
#include "agent/container_process.h"

namespace muster::agent {

/// Runs until it is told to end. `directory` is the pod's, which holds:
///   sandbox.json                        ip, hostname, memoryVolumes [{path, size, group}], ids
///                                       (see uid_ranges.h; empty: pods have no users of their own)
///   init.sock                           where it listens (`listener`)
///   containers/NAME/ATTEMPT.json        what to start: argv, env, cwd, root (see root_plan.h),
///                                       limits (see cgroup.h), identity (see identity.h),
///                                       oomScoreAdj, stdin, tty, sharePid
///   containers/NAME/ATTEMPT.state.json  started, finished, code, signal, failure, outOfMemory
///   logs/NAME/ATTEMPT.log               in the form of log_format.h; .1, .2, ... are older parts
///
/// Requests, each one JSON message:
///   {do: start, container, attempt}     once for each attempt; a repeated one is ignored
///   {do: signal, container, signal}
///   {do: exec, id, container, argv, tty} with three descriptors: in, out, error; with tty one
///                                       socket, over which the terminal comes back
///   {do: attach, id, container} with two descriptors: out, error, for what is written from now on
///   {do: close_input, container}        nothing more will be written to its standard input
///   {do: kill, id}                      ends an exec
///   {do: end}                           ends all processes of the pod, and itself
/// What it tells to whoever is connected:
///   {event: state, container, attempt, started, finished?, code?, signal?, failure?,
///    outOfMemory?}
///   {event: hello}                      after the states of all containers, to a new connection
///   {event: exec, id, code, failure?}
///   {event: attached, id, failure?}     with a descriptor when the container has an input
/// Makes what the pod's containers share, in the mount and pid namespaces that this process is
/// process 1 of: a /proc of its own, volumes in memory and the user namespace, which is given back.
/// Throws Error.
Descriptor prepare_pod(const api::Value& sandbox);

int run_pod_init(const std::string& directory, int listener, const CgroupTree& groups,
                 Confinement confinement);

}  // namespace muster::agent

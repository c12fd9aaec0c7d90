// agent/pod_init.h - process 1 of a pod: starts its containers, keeps their logs and exit codes,
// and outlives Muster for ten minutes.
#pragma once

#include <string>

namespace muster::agent {

/// Runs until it is told to end. `directory` is the pod's, which holds:
///   sandbox.json                        ip, hostname, memoryVolumes [{path, size}]
///   init.sock                           where it listens (`listener`)
///   containers/NAME/ATTEMPT.json        what to start: argv, env, cwd, root (see container_root.h)
///   containers/NAME/ATTEMPT.state.json  started, finished, code, signal, failure
///   logs/NAME/ATTEMPT.log               in the form of log_format.h; .1, .2, ... are older parts
///
/// Requests, each one JSON message:
///   {do: start, container, attempt}     once for each attempt; a repeated one is ignored
///   {do: signal, container, signal}
///   {do: exec, id, container, argv, tty} with three descriptors: in, out, error
///   {do: kill, id}                      ends an exec
///   {do: end}                           ends all processes of the pod, and itself
/// What it tells to whoever is connected:
///   {event: state, container, attempt, started, finished?, code?, signal?, failure?}
///   {event: hello}                      after the states of all containers, to a new connection
///   {event: exec, id, code, failure?}
int run_pod_init(const std::string& directory, int listener);

}  // namespace muster::agent

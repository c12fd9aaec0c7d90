// agent/pod_seen.h - what the agent knows of one pod on this machine, as plain values.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "agent/probe.h"
#include "base/time.h"

namespace muster::agent {

/// How one run of a container ended.
struct Ended {
    Time started;
    Time finished;
    int code = 0;
    int signal = 0;
    std::string reason;   // Completed, Error, OOMKilled, StartError, ContainerStatusUnknown
    std::string message;  // The container's termination message, or why it could not start.
    int attempt = 0;
};

/// One container of a pod: its newest run, and the one before.
struct ContainerSeen {
    enum class Phase {
        none,      // Never started.
        starting,  // Asked of the machine.
        running,
        exited,
    };
    enum class Hook { none, under_way, done, failed };

    Phase phase = Phase::none;
    int attempt = -1;
    Time started;
    std::optional<Ended> ended;     // Of the newest run, when exited.
    std::optional<Ended> previous;  // Of the run before it.
    Duration backoff;               // To wait after the newest end before the next start.

    ProbeState probes[3];  // By ProbeKind, since `started`.
    Hook post_start = Hook::none;

    bool stopping = false;
    Time stop_since;
    Duration stop_grace;
    Hook pre_stop = Hook::none;
    bool term_sent = false;
    bool kill_sent = false;

    std::string image_problem;   // No environment is mapped to its image.
    std::string config_problem;  // What it asks for cannot be had: CreateContainerConfigError.
    bool refused = false;        // And never can, while its spec stays.
};

/// Why the agent ends a pod by itself; its status says so for good.
struct Verdict {
    std::string reason;  // DeadlineExceeded, Evicted
    std::string message;
    std::optional<Duration> grace;  // Instead of the pod's own.
};

/// One pod.
struct PodSeen {
    enum class Sandbox {
        none,
        wanted,  // Asked of the machine.
        up,
        ending,  // All of its processes are being ended.
        gone,
    };
    Sandbox sandbox = Sandbox::none;
    std::string ip;
    std::string host_ip;
    Time acknowledged;      // When the agent first saw the pod: status.startTime.
    bool prepared = false;  // Volumes are there, variables can be made.
    std::string problem;    // Why not.
    std::optional<Verdict> verdict;
    /// Muster stops: what runs is ended within its grace period, or sooner, and the status stays.
    std::optional<Duration> shutdown;
    bool lost = false;     // The sandbox died under its containers.
    bool removed = false;  // The object's removal was asked of the server.
    std::map<std::string, ContainerSeen, std::less<>> containers;
};

}  // namespace muster::agent

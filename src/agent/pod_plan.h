// agent/pod_plan.h - what to do next for a pod: a pure function of its object, what is seen of it,
// and the time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/pod_seen.h"
#include "agent/probe.h"
#include "api/value.h"
#include "base/time.h"

namespace muster::agent {

enum class ContainerKind { init, sidecar, main };

/// A container of the pod's spec with its place in the order of things.
struct ContainerSpec {
    const api::Value* value = nullptr;
    std::string name;
    ContainerKind kind = ContainerKind::main;
    bool injected_probes = false;
};

/// Init containers and sidecars in order, then the others.
std::vector<ContainerSpec> containers_of(const api::Value& pod);

/// One thing to be done on the machine or at the server.
struct Action {
    enum class Kind {
        prepare,  // Fetch what the pod refers to, write its volumes.
        make_sandbox,
        start,       // The next attempt of a container.
        post_start,  // Run the hook.
        pre_stop,
        term,  // SIGTERM.
        kill,  // SIGKILL.
        probe,
        end_sandbox,  // No process of it may be left afterwards.
        remove,       // Delete the object, now that nothing runs.
    };
    Kind kind;
    std::string container;
    ProbeKind probe = ProbeKind::readiness;
    friend bool operator==(const Action&, const Action&) = default;
};

/// An event about the pod.
struct PodEvent {
    std::string type;  // Normal, Warning
    std::string reason;
    std::string message;
};

struct PodPlan {
    std::vector<Action> actions;
    std::vector<PodEvent> events;
    std::optional<Time> look_again;  // When time alone changes something.
};

/// What to do now. Every action must be noted (see note) before planning again.
PodPlan plan_pod(const api::Value& pod, const PodSeen& seen, Time now);

/// Enters into what is seen that an action was begun.
void note(const api::Value& pod, PodSeen& seen, const Action& action, Time now);

/// Enters how a run ended.
void note_end(ContainerSeen& container, Ended ended);

/// True when the pod has come to its end by itself: nothing runs and nothing will be started.
bool is_finished(const api::Value& pod, const PodSeen& seen);

/// What must hold before a sidecar lets the next container start, and what `started` says.
bool is_started(const ContainerSpec& spec, const ContainerSeen& seen);
bool is_ready(const ContainerSpec& spec, const ContainerSeen& seen);

/// True when the container's end calls for another run.
bool wants_restart(const api::Value& pod, const ContainerSpec& spec, const ContainerSeen& seen);

/// When a container that ended may start again; its end itself when there is no back-off.
Time restart_at(const ContainerSeen& seen);

}  // namespace muster::agent

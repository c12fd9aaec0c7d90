// agent/pod_status.cpp - see pod_status.h.
#include "agent/pod_status.h"

#include <array>
#include <string>
#include <vector>

#include "agent/pod_plan.h"
#include "base/hash.h"
#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;
using Phase = ContainerSeen::Phase;

constexpr Duration kFirstPull = seconds(10);  // How long ErrImagePull stands before the back-off.
const ContainerSeen kNothingSeen;

const ContainerSeen& seen_of(const PodSeen& seen, const std::string& name) {
    const auto found = seen.containers.find(name);
    return found == seen.containers.end() ? kNothingSeen : found->second;
}

std::string container_id(const Value& pod, const std::string& name, int attempt) {
    return "muster://" + pod["metadata"]["uid"].text() + "/" + name + "/" + std::to_string(attempt);
}

Value terminated(const Value& pod, const std::string& name, const Ended& ended) {
    Value state = Value::object({{"exitCode", ended.code}});
    if (ended.signal != 0) state.set("signal", ended.signal);
    state.set("reason", ended.reason);
    if (!ended.message.empty()) state.set("message", ended.message);
    state.set("startedAt", to_rfc3339(ended.started));
    state.set("finishedAt", to_rfc3339(ended.finished));
    state.set("containerID", container_id(pod, name, ended.attempt));
    return Value::object({{"terminated", state}});
}

Value waiting(const std::string& reason, const std::string& message) {
    Value state = Value::object({{"reason", reason}});
    if (!message.empty()) state.set("message", message);
    return Value::object({{"waiting", state}});
}

/// Which of the pod's init containers still keep the others from starting.
std::vector<std::string> uninitialized(const std::vector<ContainerSpec>& specs,
                                       const PodSeen& seen) {
    std::vector<std::string> names;
    for (const ContainerSpec& spec : specs) {
        const ContainerSeen& container = seen_of(seen, spec.name);
        if (spec.kind == ContainerKind::init && !is_ready(spec, container))
            names.push_back(spec.name);
        if (spec.kind == ContainerKind::sidecar && !is_started(spec, container) &&
            container.attempt <= 0)
            names.push_back(spec.name);
    }
    return names;
}

std::vector<std::string> unready(const std::vector<ContainerSpec>& specs, const PodSeen& seen) {
    std::vector<std::string> names;
    for (const ContainerSpec& spec : specs)
        if (spec.kind != ContainerKind::init && !is_ready(spec, seen_of(seen, spec.name)))
            names.push_back(spec.name);
    return names;
}

class StatusMaker {
public:
    StatusMaker(const Value& pod, const PodSeen& seen, Time now)
        : pod_(pod), seen_(seen), now_(now), specs_(containers_of(pod)) {}

    Value make();

private:
    Value container_status(const ContainerSpec& spec) const;
    Value state_of(const ContainerSpec& spec, const ContainerSeen& container) const;
    Value waiting_state(const ContainerSpec& spec, const ContainerSeen& container) const;
    std::string phase() const;
    Value conditions(const std::string& phase) const;
    Value condition(const std::string& type, bool holds, const std::string& reason,
                    const std::string& message) const;

    const Value& pod_;
    const PodSeen& seen_;
    Time now_;
    std::vector<ContainerSpec> specs_;
};

Value StatusMaker::make() {
    Value status = pod_["status"].is_object() ? pod_["status"] : Value::object();
    const std::string current = phase();
    status.set("phase", current);
    status.set("conditions", conditions(current));
    if (seen_.verdict) {
        status.set("reason", seen_.verdict->reason);
        status.set("message", seen_.verdict->message);
    }
    if (!seen_.host_ip.empty()) {
        status.set("hostIP", seen_.host_ip);
        status.set("hostIPs", Value::array({Value::object({{"ip", seen_.host_ip}})}));
    }
    if (!seen_.ip.empty()) {
        status.set("podIP", seen_.ip);
        status.set("podIPs", Value::array({Value::object({{"ip", seen_.ip}})}));
    }
    if (seen_.acknowledged != Time{} && !status.has("startTime"))
        status.set("startTime", to_rfc3339(seen_.acknowledged));
    Value initial = Value::array();
    Value others = Value::array();
    for (const ContainerSpec& spec : specs_)
        (spec.kind == ContainerKind::main ? others : initial).push(container_status(spec));
    if (!initial.empty()) status.set("initContainerStatuses", initial);
    status.set("containerStatuses", others);
    if (const Value& generation = pod_["metadata"]["generation"]; generation.is_integer())
        status.set("observedGeneration", generation);
    return status;
}

Value StatusMaker::container_status(const ContainerSpec& spec) const {
    const ContainerSeen& container = seen_of(seen_, spec.name);
    Value status = Value::object({{"name", spec.name}});
    status.set("state", state_of(spec, container));
    const bool restarting = container.phase == Phase::exited && container.ended && !seen_.verdict &&
                            wants_restart(pod_, spec, container) &&
                            seen_.sandbox == PodSeen::Sandbox::up;
    Value last = Value::object();
    if (restarting)
        last = terminated(pod_, spec.name, *container.ended);
    else if (container.previous)
        last = terminated(pod_, spec.name, *container.previous);
    status.set("lastState", last);
    status.set("ready", is_ready(spec, container));
    status.set("restartCount", container.attempt > 0 ? container.attempt : 0);
    status.set("image", (*spec.value)["image"].text());
    const bool ever = container.attempt >= 0;
    status.set("imageID", ever ? "muster://" + (*spec.value)["image"].text() : "");
    if (ever) status.set("containerID", container_id(pod_, spec.name, container.attempt));
    status.set("started", is_started(spec, container));
    return status;
}

Value StatusMaker::state_of(const ContainerSpec& spec, const ContainerSeen& container) const {
    if (container.phase == Phase::running && container.post_start != ContainerSeen::Hook::under_way)
        return Value::object(
            {{"running", Value::object({{"startedAt", to_rfc3339(container.started)}})}});
    if (container.phase == Phase::exited && container.ended) {
        const bool restarting =
            wants_restart(pod_, spec, container) && seen_.sandbox == PodSeen::Sandbox::up;
        if (!restarting) return terminated(pod_, spec.name, *container.ended);
        if (restart_at(container) > now_)
            return waiting("CrashLoopBackOff", "back-off " + go_duration(container.backoff) +
                                                   " restarting failed container=" + spec.name +
                                                   " pod=" + pod_["metadata"]["name"].text() + "_" +
                                                   pod_["metadata"]["namespace"].text() + "(" +
                                                   pod_["metadata"]["uid"].text() + ")");
        if (container.config_problem.empty() && container.image_problem.empty())
            return terminated(pod_, spec.name, *container.ended);
    }
    return waiting_state(spec, container);
}

Value StatusMaker::waiting_state(const ContainerSpec& spec, const ContainerSeen& container) const {
    if (!container.image_problem.empty())
        return now_ - seen_.acknowledged < kFirstPull
                   ? waiting("ErrImagePull", container.image_problem)
                   : waiting("ImagePullBackOff", "Back-off pulling image \"" +
                                                     (*spec.value)["image"].text() +
                                                     "\": " + container.image_problem);
    if (!container.config_problem.empty())
        return waiting("CreateContainerConfigError", container.config_problem);
    const bool initialized = uninitialized(specs_, seen_).empty();
    const bool has_init = !specs_.empty() && specs_.front().kind != ContainerKind::main;
    return waiting(has_init && (spec.kind == ContainerKind::main ? !initialized : true) &&
                           container.phase == Phase::none
                       ? "PodInitializing"
                       : "ContainerCreating",
                   "");
}

std::string StatusMaker::phase() const {
    const std::string told = pod_["status"]["phase"].text();
    if (told == "Succeeded" || told == "Failed") return told;
    const bool over = seen_.sandbox == PodSeen::Sandbox::gone;
    if (seen_.verdict && over) return "Failed";
    const bool never_again = over && (seen_.lost || pod_["metadata"].has("deletionTimestamp"));
    int running = 0, waits = 0, stopped = 0, succeeded = 0;
    for (const ContainerSpec& spec : specs_) {
        const ContainerSeen& container = seen_of(seen_, spec.name);
        const bool ended = container.phase == Phase::exited && container.ended;
        if (spec.kind == ContainerKind::init && ended && container.ended->code != 0 &&
            (!wants_restart(pod_, spec, container) || never_again))
            return "Failed";
        if (spec.kind != ContainerKind::main) continue;
        if (container.phase == Phase::running) {
            ++running;
        } else if (ended) {
            ++stopped;
            if (container.ended->code == 0) ++succeeded;
        } else if (container.previous) {
            ++stopped;
        } else {
            ++waits;
        }
    }
    if (never_again && waits == 0) return succeeded == stopped ? "Succeeded" : "Failed";
    if (never_again && seen_.lost) return "Failed";
    if (!uninitialized(specs_, seen_).empty() && running == 0 && stopped == 0) return "Pending";
    if (waits > 0) return "Pending";
    if (running > 0) return "Running";
    const std::string policy(pod_["spec"]["restartPolicy"].text_or("Always"));
    if (policy == "Always") return "Running";
    // The phase is final only when no process is left, sidecars included.
    if (succeeded == stopped) return over ? "Succeeded" : "Running";
    if (policy == "Never") return over ? "Failed" : "Running";
    return "Running";
}

Value StatusMaker::conditions(const std::string& phase) const {
    const bool succeeded = phase == "Succeeded";
    const bool failed = phase == "Failed";
    const std::vector<std::string> initial = uninitialized(specs_, seen_);
    const std::vector<std::string> others = unready(specs_, seen_);
    const bool ready = others.empty() && initial.empty() && !succeeded && !failed;
    const std::string reason = succeeded ? "PodCompleted"
                               : failed  ? "PodFailed"
                               : ready   ? ""
                                         : "ContainersNotReady";
    const std::string message = reason == "ContainersNotReady" && !others.empty()
                                    ? "containers with unready status: [" + join(others, " ") + "]"
                                    : "";
    const bool initialized = initial.empty() || succeeded;
    Value list = Value::array();
    list.push(
        condition("PodReadyToStartContainers", seen_.sandbox == PodSeen::Sandbox::up, "", ""));
    list.push(condition(
        "Initialized", initialized,
        succeeded     ? "PodCompleted"
        : initialized ? ""
                      : "ContainersNotInitialized",
        initialized ? "" : "containers with incomplete status: [" + join(initial, " ") + "]"));
    list.push(condition("Ready", ready, reason, message));
    list.push(condition("ContainersReady", ready, reason, message));
    static constexpr std::array kOwned = {"PodReadyToStartContainers", "Initialized", "Ready",
                                          "ContainersReady"};
    bool scheduled = false;
    for (const Value& other : pod_["status"]["conditions"].items()) {
        const std::string type = other["type"].text();
        bool owned = false;
        for (const char* name : kOwned)
            owned |= type == name;
        if (!owned) list.push(other);
        scheduled |= type == "PodScheduled";
    }
    if (!scheduled) list.push(condition("PodScheduled", true, "", ""));
    return list;
}

Value StatusMaker::condition(const std::string& type, bool holds, const std::string& reason,
                             const std::string& message) const {
    const char* status = holds ? "True" : "False";
    Value made = Value::object({{"type", type}, {"status", status}});
    std::string since = to_rfc3339(now_);
    for (const Value& old : pod_["status"]["conditions"].items())
        if (old["type"].text() == type && old["status"].text() == status)
            since = std::string(old["lastTransitionTime"].text_or(since));
    made.set("lastProbeTime", Value());
    made.set("lastTransitionTime", since);
    if (!reason.empty()) made.set("reason", reason);
    if (!message.empty()) made.set("message", message);
    if (const Value& generation = pod_["metadata"]["generation"]; generation.is_integer())
        made.set("observedGeneration", generation);
    return made;
}

}  // namespace

Value make_status(const Value& pod, const PodSeen& seen, Time now) {
    return StatusMaker(pod, seen, now).make();
}

}  // namespace muster::agent

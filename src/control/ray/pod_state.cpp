// control/ray/pod_state.cpp - reading phases, conditions and containers of Ray pods.
#include "control/ray/pod_state.h"

#include <string_view>

#include "control/conditions.h"
#include "control/ray/names.h"

namespace muster::control::ray {
namespace {

using api::Value;

const Value& container_status(const kube::Object& pod, std::string_view name) {
    static const Value absent{};
    for (const Value& status : pod.value["status"]["containerStatuses"].items()) {
        if (status["name"].text_or("") == name) return status;
    }
    return absent;
}

/// A submitter that has ended makes its whole pod unready: then the other containers tell.
bool is_ready_without_submitter(const kube::Object& pod) {
    if (!container_status(pod, submitter_container)["state"].has("terminated")) return false;
    for (const Value& status : pod.value["status"]["containerStatuses"].items()) {
        const bool other = status["name"].text_or("") != submitter_container;
        if (other && !status["ready"].boolean_or(false)) return false;
    }
    return pod.value["status"]["containerStatuses"].size() > 1;
}

}  // namespace

bool is_ready(const kube::Object& pod) {
    const Value& status = pod.value["status"];
    if (pod.is_terminating() || status["phase"].text_or("") != "Running") return false;
    return condition_of(status, "Ready")["status"].text_or("") == "True" ||
           is_ready_without_submitter(pod);
}

bool is_lost(const kube::Object& pod) {
    const std::string_view phase = pod.value["status"]["phase"].text_or("");
    if (phase == "Failed" || phase == "Succeeded") return true;
    const Value& spec = pod.value["spec"];
    if (phase != "Running" || spec["restartPolicy"].text_or("Always") != "Never") return false;
    const std::string_view ray_container = spec["containers"][0]["name"].text_or("");
    return container_status(pod, ray_container)["state"].has("terminated");
}

}  // namespace muster::control::ray

// agent/pod_refusal.cpp - see pod_refusal.h.
#include "agent/pod_refusal.h"

#include <algorithm>
#include <initializer_list>

#include "agent/capabilities.h"
#include "agent/kernel_parameters.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr std::int64_t kLargestId = 2'147'483'647;
constexpr const char* kReach = "reach the pod by a Service or by `kubectl port-forward`";

std::string refused(const std::string& what, const std::string& why) {
    return what + " is not supported on this machine: " + why;
}

std::string of_profiles(const Value& context) {
    for (const char* field : {"seccompProfile", "appArmorProfile"})
        if (context[field]["type"].text() == "Localhost")
            return refused(std::string(field) + " of type Localhost",
                           "no profiles are loaded here; use RuntimeDefault");
    return "";
}

std::string of_pod_security(const Value& context, PodUsers users) {
    for (const Value& each : context["sysctls"].items())
        if (!path_of_own_parameter(each["name"].text()))
            return refused("the sysctl " + each["name"].text(), "it belongs to the whole machine");
    if (users == PodUsers::shared && !context["supplementalGroups"].empty())
        return refused("supplementalGroups",
                       "pods have no users of their own here; `muster nodes` says why");
    return of_profiles(context);
}

std::string of_pod(const Value& spec, PodUsers users) {
    if (spec["hostNetwork"].boolean_or(false))
        return refused("hostNetwork: true",
                       std::string("pods have a network of their own; ") + kReach);
    if (spec["hostPID"].boolean_or(false))
        return refused("hostPID: true",
                       "pods do not see the machine's processes; shareProcessNamespace: true "
                       "shows the containers of one pod to each other");
    if (spec["hostIPC"].boolean_or(false))
        return refused("hostIPC: true",
                       "containers of one pod share memory in /dev/shm, pods do not");
    if (!spec["runtimeClassName"].text().empty())
        return refused("runtimeClassName " + spec["runtimeClassName"].text(),
                       "there is one way to run pods; leave it out");
    if (spec["os"]["name"].text_or("linux") != "linux")
        return refused("os " + spec["os"]["name"].text(), "it is a Linux machine");
    if (!spec["resourceClaims"].empty())
        return refused("resourceClaims",
                       "devices are asked for by resources such as nvidia.com/gpu");
    if (!spec["ephemeralContainers"].empty())
        return refused("ephemeralContainers", "use `kubectl exec`");
    return of_pod_security(spec["securityContext"], users);
}

/// The kernel's ids have 32 bits, and the last of them means "none": another number would become
/// another user, even root.
std::string id_problem(const Value& context) {
    const auto is_id = [](const Value& id) {
        return id.integer_or(-1) >= 0 && id.integer_or(-1) <= kLargestId;
    };
    for (const char* field : {"runAsUser", "runAsGroup", "fsGroup"})
        if (!context[field].is_null() && !is_id(context[field]))
            return std::string(field) + " must be between 0 and " + std::to_string(kLargestId);
    for (const Value& group : context["supplementalGroups"].items())
        if (!is_id(group))
            return "supplementalGroups must be between 0 and " + std::to_string(kLargestId);
    return "";
}

std::string of_security(const Value& pod, const Value& container) {
    const Value& context = container["securityContext"];
    const Value& shared = pod["spec"]["securityContext"];
    if (context["privileged"].boolean_or(false))
        return refused("privileged: true",
                       "no pod has rights over the machine; name the capabilities that it needs");
    if (context["procMount"].text_or("Default") != "Default")
        return refused("procMount " + context["procMount"].text(), "use Default");
    for (const Value* each : {&context, &shared})
        if (const std::string wrong = id_problem(*each); !wrong.empty()) return wrong;
    const auto wish = [&](const char* field) -> const Value& {
        return context[field].is_null() ? shared[field] : context[field];
    };
    if (wish("runAsNonRoot").boolean_or(false) && wish("runAsUser").integer_or(-1) == 0)
        return "container's runAsUser breaks non-root policy (pod: \"" +
               pod["metadata"]["name"].text() + "_" + pod["metadata"]["namespace"].text() + "(" +
               pod["metadata"]["uid"].text() + ")\", container: " + container["name"].text() + ")";
    const std::string capability = capability_problem(context);
    return capability.empty() ? of_profiles(context) : capability;
}

std::string of_volumes(const Value& container) {
    if (!container["volumeDevices"].empty())
        return refused("volumeDevices", "mount a hostPath volume instead");
    for (const Value& mount : container["volumeMounts"].items())
        if (const std::string_view asked = mount["mountPropagation"].text_or("None");
            asked != "None")
            return refused("mountPropagation " + std::string(asked),
                           "what is mounted later does not show in pods");
    return "";
}

std::string of_handlers(const Value& container) {
    for (const char* probe : {"startupProbe", "livenessProbe", "readinessProbe"})
        if (container[probe].has("grpc"))
            return refused(std::string("a gRPC ") + probe, "use exec, httpGet or tcpSocket");
    return "";
}

}  // namespace

std::string refusal_of(const Value& pod, const Value& container, PodUsers users) {
    for (std::string text : {of_pod(pod["spec"], users), of_security(pod, container),
                             of_volumes(container), of_handlers(container)})
        if (!text.empty()) return text;
    for (const Value& port : container["ports"].items())
        if (port["hostPort"].integer_or(0) > 0)
            return refused("hostPort " + std::to_string(port["hostPort"].as_integer()),
                           std::string("no port of the machine is opened for pods; ") + kReach);
    for (const Value& variable : container["env"].items())
        if (variable["valueFrom"].has("fileKeyRef"))
            return refused("fileKeyRef (variable " + variable["name"].text() + ")",
                           "read the file in the command, or use a ConfigMap");
    const std::string policy = container["restartPolicy"].text();
    const auto& mains = pod["spec"]["containers"].items();
    const bool is_main = std::any_of(mains.begin(), mains.end(), [&](const Value& each) {
        return each["name"].text() == container["name"].text();
    });
    const bool usual = policy.empty() || (!is_main && policy == "Always") ||
                       (is_main && policy == pod["spec"]["restartPolicy"].text_or("Always"));
    if (!usual || !container["restartPolicyRules"].empty())
        return refused("a restart policy of the container " + container["name"].text() +
                           " that differs from the pod's",
                       "only init containers may say Always");
    return "";
}

}  // namespace muster::agent

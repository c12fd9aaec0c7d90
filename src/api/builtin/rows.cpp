// api/builtin/rows.cpp - the rows of pods, jobs, nodes, services and events: cells that sum up a
// whole status.
#include <algorithm>
#include <optional>

#include "api/builtin/columns.h"
#include "base/text.h"

namespace muster::api {
namespace {

/// What the walk over a pod's container statuses finds.
struct PodSummary {
    std::string reason;
    std::int64_t ready = 0;
    std::int64_t total = 0;
    std::int64_t restarts = 0;
    std::optional<Time> last_restart;
    bool initializing = false;
};

const Value& condition(const Value& status, std::string_view type) {
    static const Value none{};
    for (const Value& each : status["conditions"].items()) {
        if (each["type"].text_or("") == type) return each;
    }
    return none;
}

bool is_true(const Value& status, std::string_view type) {
    return condition(status, type)["status"].text_or("") == "True";
}

void note_restart(PodSummary& summary, const Value& container) {
    const Value& ended = container["lastState"]["terminated"]["finishedAt"];
    const std::optional<Time> time = parse_rfc3339(ended.text_or(""));
    if (time && (!summary.last_restart || *summary.last_restart < *time)) {
        summary.last_restart = time;
    }
}

/// "Error", or what the exit says when there is no word for it.
std::string ended_text(const Value& terminated) {
    if (!terminated["reason"].text_or("").empty()) return terminated["reason"].text();
    if (terminated["signal"].integer_or(0) != 0) {
        return "Signal:" + std::to_string(terminated["signal"].integer_or(0));
    }
    return "ExitCode:" + std::to_string(terminated["exitCode"].integer_or(0));
}

/// Sidecars: init containers that go on running.
bool restarts_always(const Value& pod, const Value& name) {
    for (const Value& container : pod["spec"]["initContainers"].items()) {
        if (container["name"] == name) return container["restartPolicy"].text_or("") == "Always";
    }
    return false;
}

void walk_init_containers(const Value& pod, PodSummary& summary, PodSummary& sidecars) {
    const Value::Array& statuses = pod["status"]["initContainerStatuses"].items();
    for (std::size_t i = 0; i < statuses.size(); ++i) {
        const Value& container = statuses[i];
        const Value& state = container["state"];
        const bool sidecar = restarts_always(pod, container["name"]);
        summary.restarts += container["restartCount"].integer_or(0);
        note_restart(summary, container);
        if (sidecar) {
            sidecars.restarts += container["restartCount"].integer_or(0);
            note_restart(sidecars, container);
        }
        const Value& terminated = state["terminated"];
        if (!terminated.is_null() && terminated["exitCode"].integer_or(0) == 0) continue;
        if (sidecar && container["started"].boolean_or(false)) {
            if (container["ready"].boolean_or(false)) ++summary.ready;
            continue;
        }
        const std::string_view waits = state["waiting"]["reason"].text_or("");
        if (!terminated.is_null()) {
            summary.reason = "Init:" + ended_text(terminated);
        } else if (!waits.empty() && waits != "PodInitializing") {
            summary.reason = "Init:" + std::string(waits);
        } else {
            summary.reason = "Init:" + std::to_string(i) + "/" +
                             std::to_string(pod["spec"]["initContainers"].size());
        }
        summary.initializing = true;
        return;
    }
}

void walk_containers(const Value& pod, PodSummary& summary) {
    bool has_running = false;
    const Value::Array& statuses = pod["status"]["containerStatuses"].items();
    for (auto each = statuses.rbegin(); each != statuses.rend(); ++each) {
        const Value& state = (*each)["state"];
        summary.restarts += (*each)["restartCount"].integer_or(0);
        note_restart(summary, *each);
        if (!state["waiting"]["reason"].text_or("").empty()) {
            summary.reason = state["waiting"]["reason"].text();
        } else if (!state["terminated"].is_null()) {
            summary.reason = ended_text(state["terminated"]);
        } else if ((*each)["ready"].boolean_or(false) && !state["running"].is_null()) {
            has_running = true;
            ++summary.ready;
        }
    }
    if (summary.reason == "Completed" && has_running) {
        summary.reason = is_true(pod["status"], "Ready") ? "Running" : "NotReady";
    }
}

PodSummary summary_of(const Value& pod) {
    const Value& status = pod["status"];
    PodSummary summary;
    summary.total = static_cast<std::int64_t>(pod["spec"]["containers"].size());
    for (const Value& container : pod["spec"]["initContainers"].items()) {
        if (container["restartPolicy"].text_or("") == "Always") ++summary.total;
    }
    const std::string_view phase = status["phase"].text_or("");
    summary.reason = phase;
    if (!status["reason"].text_or("").empty()) summary.reason = status["reason"].text();
    if (condition(status, "PodScheduled")["reason"].text_or("") == "SchedulingGated") {
        summary.reason = "SchedulingGated";
    }
    PodSummary sidecars;
    walk_init_containers(pod, summary, sidecars);
    if (!summary.initializing || is_true(status, "Initialized")) {
        summary.restarts = sidecars.restarts;
        summary.last_restart = sidecars.last_restart;
        walk_containers(pod, summary);
    }
    if (!pod["metadata"]["deletionTimestamp"].is_null()) {
        if (status["reason"].text_or("") == "NodeLost") {
            summary.reason = "Unknown";
        } else if (phase != "Succeeded" && phase != "Failed") {
            summary.reason = "Terminating";
        }
    }
    return summary;
}

std::string readiness_gates(const Value& pod) {
    const Value& gates = pod["spec"]["readinessGates"];
    if (gates.empty()) return "<none>";
    std::int64_t open = 0;
    for (const Value& gate : gates.items()) {
        if (is_true(pod["status"], gate["conditionType"].text_or(""))) ++open;
    }
    return std::to_string(open) + "/" + std::to_string(gates.size());
}

std::string job_status(const Value& job) {
    const Value& status = job["status"];
    if (is_true(status, "Complete")) return "Complete";
    if (is_true(status, "Failed")) return "Failed";
    if (!job["metadata"]["deletionTimestamp"].is_null()) return "Terminating";
    for (const char* type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
        if (is_true(status, type)) return type;
    }
    return "Running";
}

std::string job_completions(const Value& job) {
    const std::string done = std::to_string(job["status"]["succeeded"].integer_or(0));
    const Value& completions = job["spec"]["completions"];
    if (completions.is_integer()) return done + "/" + std::to_string(completions.as_integer());
    const std::int64_t parallelism = job["spec"]["parallelism"].integer_or(0);
    return parallelism > 1 ? done + "/1 of " + std::to_string(parallelism) : done + "/1";
}

std::string job_duration(const Value& job, Time now) {
    const auto start = parse_rfc3339(job["status"]["startTime"].text_or(""));
    const auto end = parse_rfc3339(job["status"]["completionTime"].text_or(""));
    if (!start) return "";
    return human_duration(end.value_or(now) - *start);
}

std::string node_status(const Value& node) {
    const Value& ready = condition(node["status"], "Ready");
    std::string text = ready.is_null()                         ? "Unknown"
                       : ready["status"].text_or("") == "True" ? "Ready"
                                                               : "NotReady";
    if (node["spec"]["unschedulable"].boolean_or(false)) text += ",SchedulingDisabled";
    return text;
}

std::string node_roles(const Value& node) {
    constexpr std::string_view prefix = "node-role.kubernetes.io/";
    std::vector<std::string> roles;
    for (const Value::Member& label : node["metadata"]["labels"].members()) {
        if (label.key.starts_with(prefix) && label.key.size() > prefix.size()) {
            roles.push_back(label.key.text().substr(prefix.size()));
        } else if (label.key == "kubernetes.io/role" && !label.value.text().empty()) {
            roles.push_back(label.value.text());
        }
    }
    std::sort(roles.begin(), roles.end());
    return roles.empty() ? "<none>" : join(roles, ",");
}

Value node_address(const Value& node, std::string_view type) {
    for (const Value& address : node["status"]["addresses"].items()) {
        if (address["type"].text_or("") == type) return address["address"];
    }
    return "<none>";
}

Value or_unknown(const Value& text) {
    return text.text_or("").empty() ? Value("<unknown>") : text;
}

std::string external_address(const Value& service) {
    std::vector<std::string> addresses;
    const std::string_view type = service["spec"]["type"].text_or("ClusterIP");
    if (type == "ExternalName") return service["spec"]["externalName"].text();
    if (type == "LoadBalancer") {
        for (const Value& ingress : service["status"]["loadBalancer"]["ingress"].items()) {
            const std::string ip = ingress["ip"].text();
            addresses.push_back(ip.empty() ? ingress["hostname"].text() : ip);
        }
    }
    for (const Value& ip : service["spec"]["externalIPs"].items())
        addresses.push_back(ip.text());
    if (!addresses.empty()) return join(addresses, ",");
    return type == "LoadBalancer" ? "<pending>" : "<none>";
}

std::string service_ports(const Value& service) {
    std::vector<std::string> ports;
    for (const Value& port : service["spec"]["ports"].items()) {
        std::string text = std::to_string(port["port"].integer_or(0));
        if (const std::int64_t node_port = port["nodePort"].integer_or(0); node_port != 0) {
            text += ":" + std::to_string(node_port);
        }
        ports.push_back(text + "/" + std::string(port["protocol"].text_or("TCP")));
    }
    return ports.empty() ? "<none>" : join(ports, ",");
}

}  // namespace

Cells pod_row(const Value& pod, Time now) {
    const PodSummary summary = summary_of(pod);
    std::string restarts = std::to_string(summary.restarts);
    if (summary.restarts != 0 && summary.last_restart) {
        restarts += " (" + human_duration(now - *summary.last_restart) + " ago)";
    }
    const Value& ips = pod["status"]["podIPs"];
    const Value& ip = ips.empty() ? pod["status"]["podIP"] : ips[0]["ip"];
    return {pod["metadata"]["name"],
            std::to_string(summary.ready) + "/" + std::to_string(summary.total),
            summary.reason,
            restarts,
            age_of(pod, now),
            text_or_none(ip),
            text_or_none(pod["spec"]["nodeName"]),
            text_or_none(pod["status"]["nominatedNodeName"]),
            readiness_gates(pod)};
}

Cells job_row(const Value& job, Time now) {
    const Value& pod_spec = job["spec"]["template"]["spec"];
    return {job["metadata"]["name"],    job_status(job),
            job_completions(job),       job_duration(job, now),
            age_of(job, now),           container_names(pod_spec),
            container_images(pod_spec), selector_text(job["spec"]["selector"])};
}

Cells node_row(const Value& node, Time now) {
    const Value& info = node["status"]["nodeInfo"];
    return {node["metadata"]["name"],
            node_status(node),
            node_roles(node),
            age_of(node, now),
            info["kubeletVersion"].text(),
            node_address(node, "InternalIP"),
            node_address(node, "ExternalIP"),
            or_unknown(info["osImage"]),
            or_unknown(info["kernelVersion"]),
            or_unknown(info["containerRuntimeVersion"])};
}

Cells service_row(const Value& service, Time now) {
    return {service["metadata"]["name"],
            service["spec"]["type"],
            text_or_none(service["spec"]["clusterIP"]),
            external_address(service),
            service_ports(service),
            age_of(service, now),
            labels_text(service["spec"]["selector"])};
}

Cells event_row(const Value& event, Time now) {
    const auto either = [&event](const char* core, const char* newer) -> const Value& {
        return event[core].is_null() ? event[newer] : event[core];
    };
    const Value& object = either("involvedObject", "regarding");
    const Value& source = either("source", "deprecatedSource");
    const Value& started = either("firstTimestamp", "deprecatedFirstTimestamp");
    const Value& ended = either("lastTimestamp", "deprecatedLastTimestamp");
    const Value& series = event["series"];
    const Value& first = started.is_null() ? event["eventTime"] : started;
    const Value& last = !series.is_null() ? series["lastObservedTime"]
                        : ended.is_null() ? first
                                          : ended;
    std::int64_t count = series.is_null() ? either("count", "deprecatedCount").integer_or(1)
                                          : series["count"].integer_or(1);
    std::string target = to_lower(object["kind"].text());
    if (!object["name"].text_or("").empty()) target += "/" + object["name"].text();
    std::string from = source["component"].text();
    if (from.empty()) from = either("reportingComponent", "reportingController").text();
    std::string host = source["host"].text();
    if (host.empty()) host = event["reportingInstance"].text();
    if (!host.empty()) from += ", " + host;
    return {age_cell(last, now),
            event["type"],
            event["reason"],
            target,
            object["fieldPath"].text(),
            from,
            std::string(trim(either("message", "note").text_or(""))),
            age_cell(first, now),
            count == 0 ? std::int64_t{1} : count,
            event["metadata"]["name"]};
}

}  // namespace muster::api

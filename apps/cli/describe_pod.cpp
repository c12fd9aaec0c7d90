// apps/cli/describe_pod.cpp - a pod as kubectl describes it: where it runs, its containers, what
// happened to it.
#include <algorithm>

#include "api/json.h"
#include "apps/cli/describe.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

std::string text_or_none(const Value& value) {
    const std::string text = value.text();
    return text.empty() ? "<none>" : text;
}

const Value& status_of(const Value& statuses, const std::string& name) {
    static const Value none{};
    for (const Value& status : statuses.items()) {
        if (status["name"].text_or("") == name) return status;
    }
    return none;
}

std::string scalar(const Value& value) {
    return value.is_string() ? value.text() : api::to_json(value);
}

/// "Running" with its times, "Waiting" with its reason, "Terminated" with how it ended.
std::string state_lines(const std::string& title, const Value& state) {
    if (const Value* running = state.find("running"))
        return "    " + title + ":\tRunning\n      Started:\t" +
               long_time((*running)["startedAt"]) + "\n";
    if (const Value* waiting = state.find("waiting")) {
        std::string out = "    " + title + ":\tWaiting\n";
        const std::string reason = (*waiting)["reason"].text();
        return reason.empty() ? out : out + "      Reason:\t" + reason + "\n";
    }
    const Value* ended = state.find("terminated");
    if (!ended) return "    " + title + ":\tWaiting\n";
    std::string out = "    " + title + ":\tTerminated\n";
    for (const char* field : {"reason", "message"}) {
        if (const std::string text = (*ended)[field].text(); !text.empty())
            out += std::string("      ") + (*field == 'r' ? "Reason" : "Message") + ":\t" + text +
                   "\n";
    }
    out += "      Exit Code:\t" + scalar((*ended)["exitCode"]) + "\n";
    if (const std::int64_t signal = (*ended)["signal"].integer_or(0); signal != 0)
        out += "      Signal:\t" + std::to_string(signal) + "\n";
    return out + "      Started:\t" + long_time((*ended)["startedAt"]) + "\n      Finished:\t" +
           long_time((*ended)["finishedAt"]) + "\n";
}

std::string list_lines(const std::string& title, const Value& list) {
    if (list.empty()) return "";
    std::string out = "    " + title + ":\n";
    for (const Value& item : list.items()) {
        for (const std::string_view line : split(item.text_or(""), '\n'))
            out += "      " + std::string(line) + "\n";
    }
    return out;
}

std::string resource_lines(const std::string& title, const Value& list) {
    if (list.empty()) return "";
    std::vector<std::string> lines;
    for (const auto& member : list.members())
        lines.push_back("      " + member.key + ":\t" + scalar(member.value) + "\n");
    std::sort(lines.begin(), lines.end());
    return "    " + title + ":\n" + join(lines, "");
}

/// What a field of the pod gives a variable, where kubectl knows it too.
std::string field_text(const Value& pod, const std::string& path) {
    if (path == "metadata.name" || path == "metadata.namespace" || path == "metadata.uid" ||
        path == "spec.nodeName" || path == "spec.serviceAccountName")
        return pod.path(path).text();
    return "";
}

std::string environment_text(const Value& pod, const Value& variable) {
    const Value& from = variable["valueFrom"];
    if (!from.is_object()) return variable["value"].text();
    if (const Value* field = from.find("fieldRef")) {
        const std::string path = (*field)["fieldPath"].text();
        return field_text(pod, path) + " (" + (*field)["apiVersion"].text() + ":" + path + ")";
    }
    if (const Value* resource = from.find("resourceFieldRef"))
        return (*resource)["resource"].text();
    for (const auto& [field, what] :
         {std::pair{"secretKeyRef", "in secret"}, std::pair{"configMapKeyRef", "of config map"}}) {
        const Value* source = from.find(field);
        if (!source) continue;
        const bool optional = (*source)["optional"].boolean_or(false);
        return "<set to the key '" + (*source)["key"].text() + "' " + what + " '" +
               (*source)["name"].text() + "'>\tOptional: " + (optional ? "true" : "false");
    }
    return "";
}

std::string environment_lines(const Value& pod, const Value& container) {
    const Value& variables = container["env"];
    if (variables.empty()) return "    Environment:\t<none>\n";
    std::string out = "    Environment:\n";
    for (const Value& variable : variables.items())
        out += "      " + variable["name"].text() + ":\t" + environment_text(pod, variable) + "\n";
    return out;
}

std::string mount_lines(const Value& container) {
    if (container["volumeMounts"].empty()) return "    Mounts:\t<none>\n";
    std::string out = "    Mounts:\n";
    for (const Value& mount : container["volumeMounts"].items()) {
        const bool read_only = mount["readOnly"].boolean_or(false);
        out += "      " + mount["mountPath"].text() + " from " + mount["name"].text() +
               (read_only ? " (ro)\n" : " (rw)\n");
    }
    return out;
}

std::string port_line(const std::string& title, const Value& ports, const char* field) {
    std::vector<std::string> texts;
    for (const Value& port : ports.items()) {
        const std::string protocol = port["protocol"].text();
        const std::string name = port["name"].text();
        texts.push_back(std::to_string(port[field].integer_or(0)) + "/" +
                        (protocol.empty() ? "TCP" : protocol) +
                        (name.empty() ? "" : " (" + name + ")"));
    }
    return "    " + title + (texts.size() > 1 ? "s:\t" : ":\t") +
           (texts.empty() ? "<none>" : join(texts, ", ")) + "\n";
}

/// "Liveness:  http-get http://:8080/healthz delay=0s timeout=1s period=10s #success=1 #failure=3"
std::string probe_line(const std::string& title, const Value& probe) {
    if (!probe.is_object()) return "";
    std::string what = "unknown";
    if (const Value* get = probe.find("httpGet")) {
        what = "http-get " + to_lower((*get)["scheme"].text_or("HTTP")) + "://" +
               (*get)["host"].text() + ":" + scalar((*get)["port"]) + (*get)["path"].text();
    } else if (const Value* command = probe.find("exec")) {
        std::vector<std::string> words;
        for (const Value& word : (*command)["command"].items())
            words.push_back(word.text());
        what = "exec [" + join(words, " ") + "]";
    } else if (const Value* socket = probe.find("tcpSocket")) {
        what = "tcp-socket " + (*socket)["host"].text() + ":" + scalar((*socket)["port"]);
    } else if (const Value* grpc = probe.find("grpc")) {
        what = "grpc <pod>:" + scalar((*grpc)["port"]) + " " + (*grpc)["service"].text();
    }
    const auto number = [&](const char* field) {
        return std::to_string(probe[field].integer_or(0));
    };
    return "    " + title + ":\t" + what + " delay=" + number("initialDelaySeconds") +
           "s timeout=" + number("timeoutSeconds") + "s period=" + number("periodSeconds") +
           "s #success=" + number("successThreshold") + " #failure=" + number("failureThreshold") +
           "\n";
}

std::string container_lines(const std::string& title, const Value& pod, const Value& containers,
                            const Value& statuses, const std::string& name_indent = "") {
    if (containers.empty()) return "";
    std::string out = title + ":\n";
    for (const Value& container : containers.items()) {
        const std::string name = container["name"].text();
        const Value& status = status_of(statuses, name);
        out += "  " + name_indent + name + ":\n";
        if (!status.is_null()) out += "    Container ID:\t" + status["containerID"].text() + "\n";
        out += "    Image:\t" + container["image"].text() + "\n";
        if (!status.is_null()) out += "    Image ID:\t" + status["imageID"].text() + "\n";
        out += port_line("Port", container["ports"], "containerPort");
        out += port_line("Host Port", container["ports"], "hostPort");
        out += list_lines("Command", container["command"]) + list_lines("Args", container["args"]);
        if (!status.is_null()) {
            out += state_lines("State", status["state"]);
            if (!status["lastState"].empty()) out += state_lines("Last State", status["lastState"]);
            out += std::string("    Ready:\t") +
                   (status["ready"].boolean_or(false) ? "True" : "False") +
                   "\n    Restart Count:\t" + std::to_string(status["restartCount"].integer_or(0)) +
                   "\n";
        }
        out += resource_lines("Limits", container["resources"]["limits"]);
        out += resource_lines("Requests", container["resources"]["requests"]);
        out += probe_line("Liveness", container["livenessProbe"]);
        out += probe_line("Readiness", container["readinessProbe"]);
        out += probe_line("Startup", container["startupProbe"]);
        out += environment_lines(pod, container) + mount_lines(container);
    }
    return out;
}

std::string condition_lines(const Value& conditions) {
    if (conditions.empty()) return "";
    std::string out = "Conditions:\n  Type\tStatus\n";
    for (const Value& condition : conditions.items())
        out += "  " + condition["type"].text() + " \t" + condition["status"].text() + " \n";
    return out;
}

std::string owner_text(const Value& metadata) {
    for (const Value& owner : metadata["ownerReferences"].items()) {
        if (owner["controller"].boolean_or(false))
            return owner["kind"].text() + "/" + owner["name"].text();
    }
    return "";
}

/// Each line further in.
std::string indented(const std::string& text) {
    std::string out;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end + 1);
        out += (line.starts_with('\t') ? "" : "  ") + std::string(line);
        rest.remove_prefix(line.size());
    }
    return out;
}

}  // namespace

std::string toleration_lines(const Value& tolerations) {
    if (tolerations.empty()) return "Tolerations:\t<none>\n";
    std::string out = "Tolerations:";
    std::vector<Value> sorted(tolerations.items().begin(), tolerations.items().end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const Value& a, const Value& b) {
        return a["key"].text_or("") < b["key"].text_or("");
    });
    for (const Value& toleration : sorted) {
        std::string text = toleration["key"].text();
        if (const std::string value = toleration["value"].text(); !value.empty())
            text += "=" + value;
        if (const std::string effect = toleration["effect"].text(); !effect.empty())
            text += ":" + effect;
        if (toleration["operator"].text_or("") == "Exists") text += " op=Exists";
        if (toleration["tolerationSeconds"].is_integer())
            text += " for " + scalar(toleration["tolerationSeconds"]) + "s";
        out += "\t" + text + "\n";
    }
    return out;
}

std::string template_lines(const Value& pod_template) {
    const Value& spec = pod_template["spec"];
    std::string out = "Pod Template:\n";
    out += indented(label_lines("Labels", pod_template["metadata"]["labels"]));
    if (!pod_template["metadata"]["annotations"].empty())
        out += indented(annotation_lines(pod_template["metadata"]["annotations"]));
    if (const std::string account = spec["serviceAccountName"].text(); !account.empty())
        out += "  Service Account:\t" + account + "\n";
    out += container_lines("  Init Containers", pod_template, spec["initContainers"], Value(), " ");
    out += container_lines("  Containers", pod_template, spec["containers"], Value(), " ");
    out += volume_lines(spec["volumes"], "  ");
    if (const std::string name = spec["priorityClassName"].text(); !name.empty())
        out += "  Priority Class Name:\t" + name + "\n";
    return out + indented(label_lines("Node-Selectors", spec["nodeSelector"])) +
           indented(toleration_lines(spec["tolerations"]));
}

std::string describe_pod(const Value& pod, const std::vector<Value>& events, Time now) {
    const Value& metadata = pod["metadata"];
    const Value& spec = pod["spec"];
    const Value& status = pod["status"];
    std::string out = "Name:\t" + metadata["name"].text() + "\nNamespace:\t" +
                      metadata["namespace"].text() + "\n";
    out += "Priority:\t" + std::to_string(spec["priority"].integer_or(0)) + "\n";
    if (const std::string name = spec["priorityClassName"].text(); !name.empty())
        out += "Priority Class Name:\t" + name + "\n";
    out += "Service Account:\t" + spec["serviceAccountName"].text() + "\n";
    const std::string node = spec["nodeName"].text();
    out += "Node:\t" + (node.empty() ? "<none>" : node + "/" + status["hostIP"].text()) + "\n";
    if (status["startTime"].is_string())
        out += "Start Time:\t" + long_time(status["startTime"]) + "\n";
    out += label_lines("Labels", metadata["labels"]) + annotation_lines(metadata["annotations"]);
    if (metadata["deletionTimestamp"].is_string()) {
        out += "Status:\tTerminating (lasts " + age_of(metadata["deletionTimestamp"], now) + ")\n";
    } else {
        out += "Status:\t" + status["phase"].text() + "\n";
    }
    if (const std::string reason = status["reason"].text(); !reason.empty())
        out += "Reason:\t" + reason + "\n";
    if (const std::string message = status["message"].text(); !message.empty())
        out += "Message:\t" + message + "\n";
    out += "IP:\t" + status["podIP"].text() + "\n";
    if (status["podIPs"].empty()) {
        out += "IPs:\t<none>\n";
    } else {
        out += "IPs:\n";
        for (const Value& ip : status["podIPs"].items())
            out += "  IP:\t" + ip["ip"].text() + "\n";
    }
    if (const std::string owner = owner_text(metadata); !owner.empty())
        out += "Controlled By:\t" + owner + "\n";
    out += container_lines("Init Containers", pod, spec["initContainers"],
                           status["initContainerStatuses"]);
    out += container_lines("Containers", pod, spec["containers"], status["containerStatuses"]);
    out += condition_lines(status["conditions"]) + volume_lines(spec["volumes"]);
    out += "QoS Class:\t" + text_or_none(status["qosClass"]) + "\n";
    out += label_lines("Node-Selectors", spec["nodeSelector"]);
    out += toleration_lines(spec["tolerations"]);
    return align_blocks(out + event_lines(events, now));
}

}  // namespace muster::cli

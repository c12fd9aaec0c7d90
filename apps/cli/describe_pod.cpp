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
    static const Value none;
    for (const Value& status : statuses.items()) {
        if (status["name"].text_or("") == name) return status;
    }
    return none;
}

std::string scalar(const Value& value) {
    return value.is_string() ? value.as_string() : api::to_json(value);
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

std::string environment_text(const Value& variable) {
    const Value& from = variable["valueFrom"];
    if (!from.is_object()) return variable["value"].text();
    if (const Value* field = from.find("fieldRef"))
        return "(" + (*field)["apiVersion"].text() + ":" + (*field)["fieldPath"].text() + ")";
    if (const Value* resource = from.find("resourceFieldRef"))
        return (*resource)["resource"].text();
    for (const auto& [field, what] :
         {std::pair{"secretKeyRef", "secret"}, std::pair{"configMapKeyRef", "config map"}}) {
        const Value* source = from.find(field);
        if (!source) continue;
        const bool optional = (*source)["optional"].boolean_or(false);
        return "<set to the key '" + (*source)["key"].text() + "' in " + what + " '" +
               (*source)["name"].text() + "'>\tOptional: " + (optional ? "true" : "false");
    }
    return "";
}

std::string environment_lines(const Value& container) {
    const Value& variables = container["env"];
    if (variables.empty()) return "    Environment:\t<none>\n";
    std::string out = "    Environment:\n";
    for (const Value& variable : variables.items())
        out += "      " + variable["name"].text() + ":\t" + environment_text(variable) + "\n";
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

std::string container_lines(const std::string& title, const Value& containers,
                            const Value& statuses) {
    if (containers.empty()) return "";
    std::string out = title + ":\n";
    for (const Value& container : containers.items()) {
        const std::string name = container["name"].text();
        const Value& status = status_of(statuses, name);
        out += "  " + name + ":\n    Container ID:\t" + status["containerID"].text() + "\n";
        out += "    Image:\t" + container["image"].text() + "\n    Image ID:\t" +
               status["imageID"].text() + "\n";
        std::vector<std::string> ports;
        for (const Value& port : container["ports"].items()) {
            const std::string protocol = port["protocol"].text();
            ports.push_back(scalar(port["containerPort"]) + "/" +
                            (protocol.empty() ? "TCP" : protocol));
        }
        out += std::string(ports.size() > 1 ? "    Ports:\t" : "    Port:\t") +
               (ports.empty() ? "<none>" : join(ports, ", ")) + "\n";
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
        out += environment_lines(container) + mount_lines(container);
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

/// Each volume with the one source that it has, its fields spelled out.
std::string volume_lines(const Value& volumes) {
    if (volumes.empty()) return "Volumes:\t<none>\n";
    std::string out = "Volumes:\n";
    for (const Value& volume : volumes.items()) {
        out += "  " + volume["name"].text() + ":\n";
        for (const auto& source : volume.members()) {
            if (source.key == "name") continue;
            out += "    Type:\t" + spelled_out(source.key) + "\n";
            for (const auto& field : source.value.members()) {
                if (!field.value.is_array() && !field.value.is_object())
                    out += "    " + spelled_out(field.key) + ":\t" + scalar(field.value) + "\n";
            }
        }
    }
    return out;
}

std::string toleration_lines(const Value& tolerations) {
    if (tolerations.empty()) return "Tolerations:\t<none>\n";
    std::string out = "Tolerations:";
    for (const Value& toleration : tolerations.items()) {
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

std::string owner_text(const Value& metadata) {
    for (const Value& owner : metadata["ownerReferences"].items()) {
        if (owner["controller"].boolean_or(false))
            return owner["kind"].text() + "/" + owner["name"].text();
    }
    return "";
}

}  // namespace

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
    if (!status["podIPs"].empty()) {
        out += "IPs:\n";
        for (const Value& ip : status["podIPs"].items())
            out += "  IP:\t" + ip["ip"].text() + "\n";
    }
    if (const std::string owner = owner_text(metadata); !owner.empty())
        out += "Controlled By:\t" + owner + "\n";
    out +=
        container_lines("Init Containers", spec["initContainers"], status["initContainerStatuses"]);
    out += container_lines("Containers", spec["containers"], status["containerStatuses"]);
    out += condition_lines(status["conditions"]) + volume_lines(spec["volumes"]);
    out += "QoS Class:\t" + text_or_none(status["qosClass"]) + "\n";
    out += label_lines("Node-Selectors", spec["nodeSelector"]);
    out += toleration_lines(spec["tolerations"]);
    return align_blocks(out + event_lines(events, now));
}

}  // namespace muster::cli

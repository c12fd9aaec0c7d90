// apps/cli/pod_target.cpp - finds pods by the selector of their owner.
#include "apps/cli/pod_target.h"

#include <algorithm>

#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

/// An owner's pods as a label selector; "" when it has none of its own.
std::string selector_of(const Value& owner) {
    const std::string kind = owner["kind"].text();
    const std::string name = owner["metadata"]["name"].text();
    if (kind == "RayCluster") return "ray.io/cluster=" + name;
    if (kind == "RayJob") {
        // The submitter's pod prints what the job prints.
        return "job-name=" + name;
    }
    const Value& selector = owner["spec"]["selector"];
    const Value& labels = selector["matchLabels"].is_object() ? selector["matchLabels"] : selector;
    std::vector<std::string> parts;
    for (const auto& label : labels.members()) {
        if (label.value.is_string()) parts.push_back(label.key + "=" + label.value.text());
    }
    return join(parts, ",");
}

/// Running before pending, pending before ended; then by name.
int rank_of(const Value& pod) {
    const std::string_view phase = pod["status"]["phase"].text_or("");
    return phase == "Running" ? 0 : phase == "Pending" ? 1 : 2;
}

std::vector<Value> pods_with(Command& command, const std::string& selector) {
    const Value list = command.session().get("/api/v1/namespaces/" + command.ns() + "/pods" +
                                             selector_query(selector, ""));
    std::vector<Value> pods(list["items"].items().begin(), list["items"].items().end());
    std::sort(pods.begin(), pods.end(), [](const Value& a, const Value& b) {
        const auto key = [](const Value& pod) {
            return std::pair(rank_of(pod), pod["metadata"]["name"].text());
        };
        return key(a) < key(b);
    });
    return pods;
}

}  // namespace

std::vector<std::string> pods_selected(Command& command, const std::string& selector) {
    std::vector<std::string> names;
    for (const Value& pod : pods_with(command, selector))
        names.push_back(pod["metadata"]["name"].text());
    std::sort(names.begin(), names.end());
    return names;
}

std::string container_of(Command& command, const std::string& pod, const std::string& named) {
    const auto object =
        command.session().find("/api/v1/namespaces/" + command.ns() + "/pods/" + pod);
    if (!object) return named;  // The request itself says what is wrong.
    const Value& containers = (*object)["spec"]["containers"];
    std::vector<std::string> names;
    bool present = false;
    for (const Value& container : containers.items()) {
        names.push_back(container["name"].text());
        present = present || names.back() == named;
    }
    for (const Value& container : (*object)["spec"]["initContainers"].items()) {
        present = present || container["name"].text() == named;
        names.push_back(container["name"].text() + " (init)");
    }
    if (present) return named;
    if (!named.empty())
        throw Error(Reason::bad_request, "error: container " + named + " is not valid for pod " +
                                             pod + " out of: " + join(names, ", "));
    const Value& wanted =
        (*object)["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"];
    const std::string chosen = wanted.is_string() ? wanted.text() : containers[0]["name"].text();
    if (names.size() > 1)
        print_error("Defaulted container \"" + chosen + "\" out of: " + join(names, ", ") + "\n");
    return chosen;
}

std::string pod_of(Command& command, const std::string& target) {
    const auto halves = split_first(target, '/');
    if (!halves) return target;
    const Resource& resource = command.resources().named(std::string(halves->before));
    const std::string name(halves->after);
    if (resource.kind == "Pod") return name;
    const Value owner =
        command.session().get(resource.path(resource.namespaced ? command.ns() : "", name));
    const std::string selector = selector_of(owner);
    if (selector.empty())
        throw Error(Reason::bad_request, "error: a " + resource.kind + " has no pods of its own");
    const std::vector<Value> pods = pods_with(command, selector);
    if (pods.empty())
        throw Error(Reason::not_found,
                    "error: no pods of " + resource.full_singular() + "/" + name + " yet");
    const std::string pod = pods.front()["metadata"]["name"].text();
    if (pods.size() > 1)
        print_error("Found " + std::to_string(pods.size()) + " pods, using pod/" + pod + "\n");
    return pod;
}

}  // namespace muster::cli

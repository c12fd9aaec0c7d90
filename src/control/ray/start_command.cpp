// control/ray/start_command.cpp - which flags `ray start` gets, and how they are written.
#include "control/ray/start_command.h"

#include <algorithm>
#include <array>
#include <optional>

#include "api/json.h"
#include "base/quantity.h"

namespace muster::control::ray {
namespace {

using Parameters = std::map<std::string, std::string>;

std::optional<Quantity> quantity_of(const api::Value& value) {
    if (value.is_integer()) return Quantity::from_units(value.as_integer());
    if (value.is_string()) return Quantity::parse(value.as_string());
    return std::nullopt;
}

bool is_gpu(std::string_view resource) {
    return resource.ends_with("gpu") || resource.starts_with("nvidia.com/mig-");
}

/// The first of these that a container limits is told to Ray as a custom resource.
struct Accelerator {
    std::string_view resource;
    std::string_view ray_name;
};
constexpr std::array<Accelerator, 2> accelerators{
    {{"aws.amazon.com/neuroncore", "neuron_cores"}, {"google.com/tpu", "TPU"}}};

void add_from_container(Parameters& parameters, const api::Value& container) {
    const api::Value& limits = container["resources"]["limits"];
    const api::Value& requests = container["resources"]["requests"];
    if (!parameters.contains("num-cpus")) {
        auto cpu = quantity_of(limits["cpu"]);
        if (!cpu) cpu = quantity_of(requests["cpu"]);
        if (cpu && !cpu->is_zero()) parameters["num-cpus"] = std::to_string(cpu->units());
    }
    if (!parameters.contains("memory")) {
        const auto memory = quantity_of(limits["memory"]);
        if (memory && !memory->is_zero()) parameters["memory"] = std::to_string(memory->units());
    }
    if (!parameters.contains("num-gpus")) {
        for (const auto& [resource, amount] : limits.members()) {
            const auto gpus = quantity_of(amount);
            if (!is_gpu(resource) || !gpus || gpus->is_zero()) continue;
            parameters["num-gpus"] = std::to_string(gpus->units());
            break;
        }
    }
    if (parameters.contains("resources")) return;
    for (const Accelerator& accelerator : accelerators) {
        const auto amount = quantity_of(limits[accelerator.resource]);
        if (!amount || amount->is_zero()) continue;
        const api::Value told = api::Value::object({{accelerator.ray_name, amount->units()}});
        parameters["resources"] = "'" + api::to_json(told) + "'";
        return;
    }
}

void add_from_group(Parameters& parameters, const api::Value& group) {
    api::Value custom = api::Value::object();
    for (const auto& [resource, text] : group["resources"].members()) {
        const auto amount = quantity_of(text);
        if (!amount) continue;
        if (resource == "cpu") {
            parameters["num-cpus"] = std::to_string(amount->units());
        } else if (resource == "memory") {
            parameters["memory"] = std::to_string(amount->units());
        } else if (is_gpu(resource) || resource == "GPU") {
            parameters["num-gpus"] = std::to_string(amount->units());
        } else {
            custom.set(resource, amount->units());
        }
    }
    if (!custom.empty()) parameters["resources"] = "'" + api::to_json(custom) + "'";
    std::string labels;
    for (const auto& [name, value] : group["labels"].members()) {
        if (!labels.empty()) labels += ",";
        labels += name + "=" + value.text();
    }
    if (!labels.empty()) parameters["labels"] = labels;
}

}  // namespace

std::map<std::string, std::string> start_parameters(NodeType type, const api::Value& group,
                                                    std::string_view head_address) {
    Parameters parameters;
    for (const auto& [name, value] : group["rayStartParams"].members())
        parameters[name] = value.text();
    if (type == NodeType::head) {
        parameters.emplace("dashboard-host", "0.0.0.0");
    } else {
        parameters.emplace("address", head_address);
    }
    parameters.emplace("metrics-export-port", "8080");
    parameters.emplace("dashboard-agent-listen-port", "52365");
    parameters["block"] = "true";
    add_from_container(parameters, group["template"]["spec"]["containers"][0]);
    add_from_group(parameters, group);
    return parameters;
}

std::string start_command(NodeType type, const std::map<std::string, std::string>& parameters) {
    static constexpr std::array<std::string_view, 3> always_with_value{
        "log-color", "include-dashboard", "include-log-monitor"};
    std::string line = type == NodeType::head ? "ray start --head " : "ray start ";
    for (const auto& [name, value] : parameters) {
        const bool is_switch = std::find(always_with_value.begin(), always_with_value.end(),
                                         name) == always_with_value.end();
        if (is_switch && value == "false") continue;
        line += " --" + name;
        if (!(is_switch && value == "true")) line += "=" + value;
        line += " ";
    }
    return line;
}

std::string gcs_port(const api::Value& head_group) {
    const std::string named = head_group["rayStartParams"]["port"].text();
    if (!named.empty()) return named;
    for (const api::Value& port :
         head_group["template"]["spec"]["containers"][0]["ports"].items()) {
        if (port["name"].text_or("") == "gcs-server" || port["name"].text_or("") == "gcs") {
            return std::to_string(port["containerPort"].integer_or(6379));
        }
    }
    return "6379";
}

}  // namespace muster::control::ray

// apps/up/config.cpp - takes the images out of the configuration and leaves the rest to the queues.
#include "apps/up/config.h"

#include <set>
#include <utility>
#include <variant>

#include "api/denial.h"
#include "api/yaml.h"
#include "base/error.h"
#include "control/queue/configuration.h"

namespace muster::up {
namespace {

using api::Value;

[[noreturn]] void refuse(const std::string& path, const std::string& text) {
    throw Error(Reason::invalid,
                "error: " + (path.empty() ? "" : "--config " + path + ": ") + text);
}

std::vector<std::string> words_of(const std::string& path, const Value& list, const char* field) {
    std::vector<std::string> words;
    bool good = list.is_null() || list.is_array();
    for (const Value& word : list.items()) {
        good = good && word.is_string();
        words.push_back(word.text());
    }
    if (!good) refuse(path, "images: " + std::string(field) + " is a list of words");
    return words;
}

agent::ImageMapping image_of(const std::string& path, const Value& image) {
    for (const auto& member : image.members()) {
        static const std::set<std::string_view> known = {"pattern", "environment", "variables",
                                                         "command", "args"};
        if (!known.contains(member.key))
            refuse(path, "images: no such field \"" + member.key +
                             "\"; there are pattern, environment, variables, command and args");
    }
    const bool good = image["pattern"].is_string() && !image["pattern"].as_string().empty() &&
                      (image["environment"].is_null() || image["environment"].is_string());
    if (!good) refuse(path, "images: each has a pattern and the folder of its environment");
    agent::ImageMapping mapping{image["pattern"].text(), image["environment"].text(), {}};
    mapping.command = words_of(path, image["command"], "command");
    mapping.args = words_of(path, image["args"], "args");
    for (const auto& variable : image["variables"].members())
        mapping.variables.emplace_back(variable.key, variable.value.text());
    return mapping;
}

agent::HostPath host_path_of(const std::string& path, const Value& value) {
    for (const auto& member : value.members())
        if (member.key != "path" && member.key != "writable")
            refuse(path,
                   "hostPaths: no such field \"" + member.key + "\"; there are path and writable");
    const Value& writable = value["writable"];
    if (!value["path"].is_string() || !(writable.is_null() || writable.is_boolean()))
        refuse(path, "hostPaths: each has a path, and may have `writable: true`");
    return {value["path"].text(), writable.boolean_or(false)};
}

void read_event_bounds(const std::string& path, const Value& events, Config& config) {
    if (events.is_null()) return;
    if (!events.is_object()) refuse(path, "events has maxCount and maxBytes, both numbers");
    for (const Value::Member& member : events.members()) {
        const std::string name(member.key);
        const Value& value = member.value;
        if (name != "maxCount" && name != "maxBytes")
            refuse(path, "events." + name + " is not known; there are maxCount and maxBytes");
        const std::int64_t least = name == "maxCount" ? 100 : 1 << 20;
        const std::int64_t most = name == "maxCount" ? 10'000'000 : std::int64_t{16} << 30;
        if (!value.is_integer() || value.as_integer() < least || value.as_integer() > most) {
            refuse(path, "events." + name + " is a number between " + std::to_string(least) +
                             " and " + std::to_string(most));
        }
        const auto bound = static_cast<std::size_t>(value.as_integer());
        (name == "maxCount" ? config.event_bounds.events : config.event_bounds.bytes) = bound;
    }
}

void read_object_bounds(const std::string& path, const Value& objects, Config& config) {
    if (objects.is_null()) return;
    constexpr std::int64_t least = 1 << 20;
    constexpr std::int64_t most = std::int64_t{1} << 40;
    const Value& bound = objects["maxBytesPerNamespace"];
    if (!objects.is_object() || objects.size() != 1 || !bound.is_integer() ||
        bound.as_integer() < least || bound.as_integer() > most) {
        refuse(path, "objects has maxBytesPerNamespace, a number between " + std::to_string(least) +
                         " and " + std::to_string(most));
    }
    config.bytes_per_namespace = static_cast<std::size_t>(bound.as_integer());
}

void read_limits(const std::string& path, const Value& document, Config& config) {
    const Value& limit = document["podPidsLimit"];
    if (!limit.is_null()) {
        if (!limit.is_integer() || limit.as_integer() < 1 || limit.as_integer() > 4'194'304)
            refuse(path, "podPidsLimit is a number of processes between 1 and 4194304");
        config.pids_limit = limit.as_integer();
    }
    read_event_bounds(path, document["events"], config);
    read_object_bounds(path, document["objects"], config);
}

}  // namespace

Config parse_config(const std::string& path, const std::string& text, const std::string& gates) {
    auto parsed = api::parse_yaml(text);
    if (const auto* error = std::get_if<api::ParseError>(&parsed)) refuse(path, error->text);
    Config config;
    for (const api::Parsed& document : std::get<std::vector<api::Parsed>>(parsed)) {
        if (document.value["apiVersion"].text_or("") != "muster.dev/v1alpha1") continue;
        for (const Value& image : document.value["images"].items())
            config.images.push_back(image_of(path, image));
        for (const Value& each : document.value["hostPaths"].items())
            config.host_paths.push_back(host_path_of(path, each));
        read_limits(path, document.value, config);
        if (const Value& section = document.value["podSecurity"]; !section.is_null()) {
            std::vector<api::FieldError> faults;
            config.pod_security = api::read_pod_security(section, faults);
            if (!faults.empty()) refuse(path, api::joined(faults));
        }
    }
    const auto read = control::queue::read_configuration(text, gates);
    if (const auto* wrong = std::get_if<control::queue::WrongConfiguration>(&read)) {
        const bool several = wrong->faults.size() > 1;
        refuse(path, (several ? std::to_string(wrong->faults.size()) + " faults:\n" : "") +
                         wrong->text());
    }
    config.queues = std::get<control::queue::Settings>(read);
    config.process = control::queue::read_process_settings(text);
    return config;
}

}  // namespace muster::up

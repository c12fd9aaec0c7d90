// control/queue/configuration.cpp - reading configuration files: every fault with its line, then
// the settings.
#include "control/queue/configuration.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "api/json.h"
#include "api/yaml.h"
#include "api/yaml_lines.h"
#include "base/text.h"
#include "control/queue/configuration_rules.h"
#include "control/queue/configuration_sections.h"
#include "control/queue/feature_gates.h"

namespace muster::control::queue {
namespace {

using api::Value;
using Fault = WrongConfiguration::Fault;
using State = FeatureGate::State;

/// One reading: settings and faults as they are found.
struct Reading {
    Settings settings = usual_settings();
    Gates gates;
    std::vector<Fault> faults;
    bool has_kueue = false;
};

std::optional<ConfigurationVersion> version_of(const Value& document) {
    const std::string_view version = document["apiVersion"].text_or("");
    if (version == "config.kueue.x-k8s.io/v1beta1") return ConfigurationVersion::v1beta1;
    if (version == "config.kueue.x-k8s.io/v1beta2") return ConfigurationVersion::v1beta2;
    return std::nullopt;
}

void set_gate(Reading& reading, std::size_t line, const std::string& name, State state) {
    const std::string why = reading.gates.set(name, state);
    if (!why.empty()) reading.faults.push_back({line, "featureGates", why});
}

// "A=true,B=false", as Kueue's own flag.
void read_gates_flag(Reading& reading, std::string_view flag) {
    for (const std::string_view piece : split(flag, ',')) {
        const std::string part(piece);
        if (part.empty()) continue;
        const std::size_t equals = part.find('=');
        const std::string name = part.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
        if (value.empty()) {
            reading.faults.push_back({0, "--feature-gates", "missing bool value for " + name});
        } else if (value != "true" && value != "false") {
            reading.faults.push_back(
                {0, "--feature-gates",
                 "invalid value of " + name + "=" + value + ": give true or false"});
        } else {
            set_gate(reading, 0, name, value == "true" ? State::on : State::off);
        }
    }
}

void read_gates(Reading& reading, const Value& document, const api::YamlLines& lines,
                std::string_view flag) {
    const Value& gates = document["featureGates"];
    if (gates.is_null()) return;
    if (!flag.empty()) {
        reading.faults.push_back({lines.of("featureGates"), "featureGates",
                                  "feature gates for CLI and configuration cannot both specified"});
        return;
    }
    for (const auto& [name, value] : gates.members()) {
        set_gate(reading, lines.of("featureGates." + name), name,
                 value.boolean_or(false) ? State::on : State::off);
    }
}

void read_kueue(Reading& reading, const Value& document, const api::YamlLines& lines,
                ConfigurationVersion version, std::string_view flag) {
    const bool old = version == ConfigurationVersion::v1beta1;
    const auto schema = api::schema_of(old ? "kueueconfig.v1beta1.Configuration"
                                           : "kueueconfig.v1beta2.Configuration");
    const std::size_t before = reading.faults.size();
    for (const std::string& field : api::unknown_fields(*schema, document))
        reading.faults.push_back({lines.of(field), field, "unknown field"});
    for (const api::FieldError& error : api::validate(*schema, document))
        reading.faults.push_back({lines.of(error.field), error.field, error.text});
    const bool typed = std::none_of(
        reading.faults.begin() + static_cast<std::ptrdiff_t>(before), reading.faults.end(),
        [](const Fault& fault) { return fault.text.find("must be of type") != std::string::npos; });
    if (!typed) return;
    for (const api::FieldError& error : configuration_faults(document, version))
        reading.faults.push_back({lines.of(error.field), error.field, error.text});
    read_gates(reading, document, lines, flag);
    if (reading.has_kueue) {
        reading.faults.push_back(
            {lines.of("kind"), "", "a second Configuration of Kueue; there may be one"});
    }
    reading.has_kueue = true;
    if (reading.faults.empty()) read_sections(reading.settings, document, version);
}

void read_own(Reading& reading, const Value& document, const api::YamlLines& lines) {
    const auto wrong = [&](const std::string& field, const std::string& why) {
        reading.faults.push_back({lines.of(field), field, why});
    };
    for (const auto& [name, value] : document.members()) {
        static const std::set<std::string_view> known = {"apiVersion",  "kind",      "images",
                                                         "appWrappers", "hostPaths", "podPidsLimit",
                                                         "events",      "objects",   "podSecurity"};
        if (!known.contains(name))
            wrong(name,
                  "unknown field; there are appWrappers, events, hostPaths, images, objects, "
                  "podPidsLimit and "
                  "podSecurity");
    }
    const Value& section = document["appWrappers"];
    if (!section.is_null() && !section.is_object())
        wrong("appWrappers", "holds capacity and order");
    decide::Options& options = reading.settings.decisions;
    for (const auto& [name, value] : section.members()) {
        const std::string_view text = value.text_or("");
        if (name == "capacity" && (text == "PerNode" || text == "Aggregate")) {
            options.capacity = text == "PerNode" ? decide::Options::Capacity::per_node
                                                 : decide::Options::Capacity::aggregate;
        } else if (name == "order" && (text == "Priority" || text == "FIFO")) {
            options.order = text == "Priority" ? decide::Options::Order::priority
                                               : decide::Options::Order::fifo;
        } else {
            wrong("appWrappers." + name,
                  api::to_json(value) +
                      " is none of capacity: PerNode | Aggregate, order: Priority | FIFO");
        }
    }
}

void read_document(Reading& reading, const api::Parsed& document, const api::YamlLines& lines,
                   std::string_view flag) {
    for (const std::string& twice : document.duplicates)
        reading.faults.push_back({lines.of(twice), twice, "stands twice"});
    const std::string_view version = document.value["apiVersion"].text_or("");
    const std::string_view kind = document.value["kind"].text_or("");
    const auto kueue = version_of(document.value);
    if (kind == "Configuration" && kueue) {
        read_kueue(reading, document.value, lines, *kueue, flag);
    } else if (kind == "Configuration" && version == "muster.dev/v1alpha1") {
        read_own(reading, document.value, lines);
    } else {
        reading.faults.push_back(
            {lines.of(""), "",
             "a configuration is of kind Configuration in config.kueue.x-k8s.io/v1beta1, "
             "config.kueue.x-k8s.io/v1beta2 or muster.dev/v1alpha1, not " +
                 quoted(kind) + " in " + quoted(version)});
    }
}

}  // namespace

std::string WrongConfiguration::text() const {
    std::string all;
    for (const Fault& fault : faults) {
        if (!all.empty()) all += "\n";
        if (fault.line != 0) all += "line " + std::to_string(fault.line) + ": ";
        if (!fault.field.empty()) all += fault.field + ": ";
        all += fault.text;
    }
    return all;
}

std::variant<Settings, WrongConfiguration> read_configuration(std::string_view yaml,
                                                              std::string_view flag) {
    auto parsed = api::parse_yaml(yaml);
    if (const auto* error = std::get_if<api::ParseError>(&parsed))
        return WrongConfiguration{{{0, "", error->text}}};
    const auto& documents = std::get<std::vector<api::Parsed>>(parsed);
    const std::vector<api::YamlLines> lines = api::yaml_lines(yaml);
    Reading reading;
    read_gates_flag(reading, flag);
    for (std::size_t i = 0; i < documents.size(); ++i) {
        static const api::YamlLines nowhere;
        read_document(reading, documents[i], i < lines.size() ? lines[i] : nowhere, flag);
    }
    for (const auto& [gate, why] : reading.gates.contradictions())
        reading.faults.push_back({0, "featureGates", "Invalid value: \"" + gate + "\": " + why});
    if (!reading.faults.empty()) {
        std::stable_sort(reading.faults.begin(), reading.faults.end(),
                         [](const Fault& a, const Fault& b) { return a.line < b.line; });
        return WrongConfiguration{std::move(reading.faults)};
    }
    obey_gates(reading.settings, reading.gates);
    return std::move(reading.settings);
}

}  // namespace muster::control::queue

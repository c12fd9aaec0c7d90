// control/queue/configuration.cpp - reading configuration files.
#include "control/queue/configuration.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "api/json.h"
#include "api/yaml.h"
#include "base/text.h"

namespace muster::control::queue {
namespace {

using api::Value;

/// How Kueue's own process is run. Muster has other words for it, or no need.
constexpr std::array<std::string_view, 14> without_effect{
    "apiVersion",       "kind",
    "metadata",         "namespace",
    "health",           "metrics",
    "webhook",          "leaderElection",
    "controller",       "tls",
    "clientConnection", "internalCertManagement",
    "visibilityServer", "pprofBindAddress"};

/// What would change decisions, with the values that are as good as absent.
struct NotYet {
    std::string_view path;
    std::vector<std::string_view> fine;
    std::string_view what;
};
const std::vector<NotYet>& not_yet() {
    static const std::vector<NotYet> table = {
        {"manageJobsWithoutQueueName", {"false"}, "managing jobs without a queue name"},
        {"managedJobsNamespaceSelector", {}, "a selector of managed namespaces"},
        {"waitForPodsReady.enable", {"false"}, "waitForPodsReady"},
        {"waitForPodsReady.timeout", {"\"30m\"", "\"30m0s\""}, "waitForPodsReady"},
        {"waitForPodsReady.recoveryTimeout", {}, "waitForPodsReady"},
        {"waitForPodsReady.blockAdmission", {"false"}, "waitForPodsReady"},
        {"waitForPodsReady.requeuingStrategy", {}, "waitForPodsReady"},
        {"integrations.externalFrameworks", {"[]"}, "an external framework"},
        {"integrations.labelKeysToCopy", {"[]"}, "copying labels to Workloads"},
        {"integrations.podOptions", {"{}"}, "the integration of plain pods"},
        {"multiKueue", {"{}"}, "MultiKueue"},
        {"admissionFairSharing", {}, "admission fair sharing"},
        {"resources.excludeResourcePrefixes", {"[]"}, "leaving out resources"},
        {"resources.transformations", {"[]"}, "transforming resources"},
        {"resources.deviceClassMappings", {"[]"}, "dynamic resource allocation"},
        {"objectRetentionPolicies", {"{}"}, "removing finished Workloads"},
    };
    return table;
}

/// Top-level members that `not_yet` and the frameworks speak about.
bool is_known_section(std::string_view name) {
    if (name == "integrations" || name == "fairSharing" || name == "featureGates") return true;
    return std::any_of(not_yet().begin(), not_yet().end(), [&](const NotYet& row) {
        return row.path.substr(0, row.path.find('.')) == name;
    });
}

constexpr std::array<std::string_view, 4> frameworks{
    "batch/job", "ray.io/raycluster", "ray.io/rayjob", "workload.codeflare.dev/appwrapper"};

/// The gates that choose between what both are there.
std::optional<std::string> read_gates(const Value& gates, decide::Options& options) {
    using decide::TopologyProfile;
    for (const auto& [name, value] : gates.members()) {
        if (name == "TASBalancedPlacement" && value.is_boolean()) {
            options.topologies.spread = value.boolean_or(false) ? TopologyProfile::Spread::balanced
                                                                : TopologyProfile::Spread::packed;
        } else if (name == "TASProfileMixed" && value.is_boolean()) {
            options.topologies.choice = value.boolean_or(true) ? TopologyProfile::Choice::mixed
                                                               : TopologyProfile::Choice::best_fit;
        } else {
            return "featureGates." + name + ": " + api::to_json(value) +
                   " is not supported by this version of Muster; there are TASBalancedPlacement "
                   "and TASProfileMixed, true or false";
        }
    }
    return std::nullopt;
}

/// v1beta1 has a switch, v1beta2 the section itself.
std::optional<std::string> read_fair_sharing(const Value& document, decide::Options& options) {
    using Strategy = decide::Options::Strategy;
    const Value& section = document["fairSharing"];
    for (const auto& [name, value] : section.members()) {
        if (name != "enable" && name != "preemptionStrategies")
            return "fairSharing." + name + ": no such field";
    }
    const bool old = document["apiVersion"].text_or("").ends_with("/v1beta1");
    if (!section.is_object() || !section["enable"].boolean_or(!old)) return std::nullopt;
    std::vector<Strategy> strategies;
    for (const Value& strategy : section["preemptionStrategies"].items()) {
        if (strategy.text_or("") == "LessThanOrEqualToFinalShare") {
            strategies.push_back(Strategy::less_than_or_equal_to_final_share);
        } else if (strategy.text_or("") == "LessThanInitialShare") {
            strategies.push_back(Strategy::less_than_initial_share);
        } else {
            return "fairSharing.preemptionStrategies: " + api::to_json(strategy) +
                   " is neither LessThanOrEqualToFinalShare nor LessThanInitialShare";
        }
    }
    options.fair_sharing = std::move(strategies);
    return std::nullopt;
}

std::optional<std::string> read_quota_check(const Value& document, decide::Options& options) {
    const Value& strategy = document.path("resources.quotaCheckStrategy");
    if (strategy.is_null() || strategy.text_or("") == "BlockUndeclared") return std::nullopt;
    if (strategy.text_or("") != "IgnoreUndeclared") {
        return "resources.quotaCheckStrategy: " + api::to_json(strategy) +
               " is neither BlockUndeclared nor IgnoreUndeclared";
    }
    options.undeclared = decide::Options::Undeclared::ignore;
    return std::nullopt;
}

std::optional<std::string> fault_of_kueue(const Value& document) {
    for (const auto& [name, value] : document.members()) {
        const bool harmless =
            std::find(without_effect.begin(), without_effect.end(), name) != without_effect.end();
        if (!harmless && !is_known_section(name)) return name + ": no such field";
    }
    for (const NotYet& row : not_yet()) {
        const Value& value = document.path(row.path);
        if (value.is_null()) continue;
        const std::string text = api::to_json(value);
        if (std::find(row.fine.begin(), row.fine.end(), text) != row.fine.end()) continue;
        return std::string(row.path) + ": " + std::string(row.what) +
               " is not supported yet by this version of Muster; leave the field out";
    }
    for (const Value& framework : document.path("integrations.frameworks").items()) {
        if (std::find(frameworks.begin(), frameworks.end(), framework.text_or("")) ==
            frameworks.end()) {
            return "integrations.frameworks: " + quoted(framework.text_or("")) +
                   " is not supported yet by this version of Muster; supported are batch/job, "
                   "ray.io/raycluster, ray.io/rayjob, workload.codeflare.dev/appwrapper";
        }
    }
    return std::nullopt;
}

std::optional<std::string> read_own(const Value& document, decide::Options& options) {
    for (const auto& [name, value] : document.members()) {
        if (name != "apiVersion" && name != "kind" && name != "metadata" && name != "appWrappers")
            return name + ": no such field; there is appWrappers";
    }
    for (const auto& [name, value] : document["appWrappers"].members()) {
        const std::string_view text = value.text_or("");
        if (name == "capacity" && (text == "PerNode" || text == "Aggregate")) {
            options.capacity = text == "PerNode" ? decide::Options::Capacity::per_node
                                                 : decide::Options::Capacity::aggregate;
        } else if (name == "order" && (text == "Priority" || text == "FIFO")) {
            options.order = text == "Priority" ? decide::Options::Order::priority
                                               : decide::Options::Order::fifo;
        } else {
            return "appWrappers." + name + ": " + api::to_json(value) +
                   " is none of capacity: PerNode | Aggregate, order: Priority | FIFO";
        }
    }
    return std::nullopt;
}

}  // namespace

std::variant<decide::Options, WrongConfiguration> read_configuration(std::string_view yaml) {
    auto parsed = api::parse_yaml(yaml);
    if (const auto* error = std::get_if<api::ParseError>(&parsed))
        return WrongConfiguration{error->text};
    decide::Options options;
    for (const api::Parsed& document : std::get<std::vector<api::Parsed>>(parsed)) {
        const std::string_view version = document.value["apiVersion"].text_or("");
        const bool right_kind = document.value["kind"].text_or("") == "Configuration";
        std::optional<std::string> fault;
        if (right_kind && (version == "config.kueue.x-k8s.io/v1beta1" ||
                           version == "config.kueue.x-k8s.io/v1beta2")) {
            fault = fault_of_kueue(document.value);
            if (!fault) fault = read_gates(document.value["featureGates"], options);
            if (!fault) fault = read_fair_sharing(document.value, options);
            if (!fault) fault = read_quota_check(document.value, options);
        } else if (right_kind && version == "muster.dev/v1alpha1") {
            fault = read_own(document.value, options);
        } else {
            fault =
                "a configuration is of kind Configuration in config.kueue.x-k8s.io/v1beta1, "
                "config.kueue.x-k8s.io/v1beta2 or muster.dev/v1alpha1, not " +
                quoted(document.value["kind"].text_or("")) + " in " + quoted(version);
        }
        if (fault) return WrongConfiguration{*fault};
    }
    return options;
}

}  // namespace muster::control::queue

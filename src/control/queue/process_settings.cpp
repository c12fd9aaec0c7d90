// control/queue/process_settings.cpp - the sections of Kueue's Configuration that are about the
// process.
#include "control/queue/process_settings.h"

#include <array>
#include <variant>

#include "api/yaml.h"
#include "base/text.h"
#include "base/verify.h"
#include "control/queue/configuration_rules.h"

namespace muster::control::queue {
namespace {

using api::Value;

constexpr std::array<std::string_view, 11> of_the_process{"webhook",
                                                          "leaderElection",
                                                          "health",
                                                          "pprofBindAddress",
                                                          "controller",
                                                          "tls",
                                                          "clientConnection",
                                                          "internalCertManagement",
                                                          "visibilityServer",
                                                          "queueVisibility",
                                                          "metrics.bindAddress"};

std::optional<Duration> span_of(const Value& text) {
    if (text.is_null()) return std::nullopt;
    return duration_of(text);
}

void read_process(ProcessSettings& process, const Value& document) {
    for (const std::string_view path : of_the_process) {
        if (!document.path(path).is_null()) process.given.emplace_back(path);
    }
    const Value& health = document["health"];
    process.health_address = health["healthProbeBindAddress"].text();
    process.readiness_name = health["readinessEndpointName"].text();
    process.liveness_name = health["livenessEndpointName"].text();
    process.metrics_address = document["metrics"]["bindAddress"].text();
    process.profile_address = document["pprofBindAddress"].text();
    const Value& tls = document["tls"];
    process.tls.only_1_3 = tls["minVersion"].text_or("") == "VersionTLS13";
    for (const Value& suite : tls["cipherSuites"].items())
        process.tls.cipher_suites.push_back(suite.text());
    for (const Value& curve : tls["curvePreferences"].items())
        process.tls.curves.push_back(curve.text());
    const Value& election = document["leaderElection"];
    if (!election.is_object()) return;
    using Wanted = ProcessSettings::Election::Wanted;
    const std::string usual(document["namespace"].text_or("kueue-system"));
    process.election = ProcessSettings::Election{
        election["leaderElect"].boolean_or(true) ? Wanted::yes : Wanted::no,
        std::string(election["resourceNamespace"].text_or(usual)),
        std::string(election["resourceName"].text_or("c1f6bfd2.kueue.x-k8s.io")),
        span_of(election["leaseDuration"]),
        span_of(election["renewDeadline"]),
        span_of(election["retryPeriod"])};
}

}  // namespace

ProcessSettings read_process_settings(std::string_view yaml) {
    const auto parsed = api::parse_yaml(yaml);
    VERIFY(std::holds_alternative<std::vector<api::Parsed>>(parsed));
    ProcessSettings process;
    for (const api::Parsed& document : std::get<std::vector<api::Parsed>>(parsed)) {
        if (document.value["apiVersion"].text_or("").starts_with("config.kueue.x-k8s.io/"))
            read_process(process, document.value);
    }
    return process;
}

}  // namespace muster::control::queue

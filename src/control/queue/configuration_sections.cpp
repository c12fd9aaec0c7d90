// control/queue/configuration_sections.cpp - Kueue's Configuration, section by section.
#include "control/queue/configuration_sections.h"

#include <cmath>

#include "control/fold_pod.h"
#include "control/queue/integration.h"

namespace muster::control::queue {
namespace {

using api::Value;
using Version = ConfigurationVersion;

/// By which Kueue means AppWrappers of v1beta2.
constexpr std::string_view app_wrapper_framework = "workload.codeflare.dev/appwrapper";

/// What would change what is done.
struct NotObeyed {
    std::string_view path;
    std::string_view what;
};
constexpr NotObeyed not_obeyed[] = {
    {"metrics.customLabels", "metrics have no custom labels"},
    {"waitForPodsReady.maxTimeoutOnWorkload", "workloads have no timeouts of their own"},
    {"integrations.externalFrameworks", "only built-in kinds of jobs are managed"},
    {"integrations.podOptions", "the selector of namespaces is managedJobsNamespaceSelector"},
    {"multiKueue", "there is no MultiKueue"},
    {"resources.deviceClassMappings", "there is no dynamic resource allocation"},
};

void warn_of_the_rest(Settings& settings, const Value& document, Version version) {
    for (const NotObeyed& row : not_obeyed) {
        if (document.path(row.path).is_null()) continue;
        settings.warnings.push_back(std::string(row.path) +
                                    ": not obeyed: " + std::string(row.what));
    }
    for (const char* section : {"waitForPodsReady", "fairSharing"}) {
        const bool off = version == Version::v1beta1 && document[section].size() > 0 &&
                         !document[section]["enable"].boolean_or(false);
        if (off && (document[section].size() > 1 || !document[section].has("enable"))) {
            settings.warnings.push_back("enable is set to false in " + std::string(section) +
                                        ", ignoring the rest of its configuration");
        }
    }
}

void read_metrics(MetricsSettings& metrics, const Value& section) {
    using Series = MetricsSettings::Series;
    if (section["enableClusterQueueResources"].boolean_or(false)) metrics.resources = Series::shown;
    const Value& local = section["localQueueMetrics"];
    if (local.is_null()) return;
    metrics.local_queues = local["enable"].boolean_or(false) ? Series::shown : Series::hidden;
    if (local["localQueueSelector"].is_object())
        metrics.selected = fold_selector(local["localQueueSelector"]);
}

void read_resources(Settings& settings, const Value& section) {
    if (section["quotaCheckStrategy"].text_or("") == "IgnoreUndeclared")
        settings.decisions.undeclared = decide::Options::Undeclared::ignore;
    for (const Value& prefix : section["excludeResourcePrefixes"].items())
        settings.resources.excluded_prefixes.push_back(prefix.text());
    for (const Value& each : section["transformations"].items()) {
        Transformation made;
        made.input = each["input"].text();
        if (each["strategy"].text_or("") == "Replace") made.kept = Transformation::Input::replaced;
        made.multiply_by = each["multiplyBy"].text();
        for (const auto& [resource, quantity] : each["outputs"].members()) {
            const std::string text =
                quantity.is_integer() ? std::to_string(quantity.as_integer()) : quantity.text();
            made.outputs.emplace_back(resource, Quantity::parse(text).value_or(Quantity()));
        }
        settings.resources.transformations.push_back(std::move(made));
    }
}

void read_jobs(Settings& settings, const Value& document) {
    JobRules& jobs = settings.jobs;
    if (document["manageJobsWithoutQueueName"].boolean_or(false))
        jobs.unlabelled = JobRules::Unlabelled::managed;
    const std::string own(document["namespace"].text_or("kueue-system"));
    jobs.namespaces = JobRules::usual_namespaces(own);
    if (document["managedJobsNamespaceSelector"].is_object())
        jobs.namespaces = fold_selector(document["managedJobsNamespaceSelector"]);
    for (const Value& key : document["integrations"]["labelKeysToCopy"].items())
        jobs.labels_to_copy.push_back(key.text());
    const Value& frameworks = document["integrations"]["frameworks"];
    if (frameworks.empty()) return;
    jobs.frameworks.emplace();
    for (const Value& name : frameworks.items()) {
        jobs.frameworks->insert(name.text());
        if (name.text_or("") == app_wrapper_framework) {
            settings.warnings.push_back("integrations.frameworks: " + name.text() +
                                        ": obeyed of AppWrappers of v1beta1: this version of "
                                        "Muster does not manage those of v1beta2");
        }
        if (has_framework(name.text_or(""))) continue;
        settings.warnings.push_back("integrations.frameworks: " + name.text() +
                                    ": not obeyed: this version of Muster does not manage it");
    }
}

void read_life(LifePolicy& life, const Value& document, Version version) {
    life.wait_for_pods_ready.reset();
    const Value& retention = document["objectRetentionPolicies"]["workloads"];
    if (!retention["afterFinished"].is_null())
        life.retention.after_finished = duration_of(retention["afterFinished"]);
    if (!retention["afterDeactivatedByKueue"].is_null())
        life.retention.after_deactivated = duration_of(retention["afterDeactivatedByKueue"]);
    if (!waits_for_pods(document, version)) return;
    const Value& section = document["waitForPodsReady"];
    WaitForPodsReady wait;
    const Duration timeout = duration_of(section["timeout"]);
    if (timeout != Duration{}) wait.timeout = timeout;
    wait.recovery_timeout = wait.timeout;
    if (!section["recoveryTimeout"].is_null()) {
        wait.recovery_timeout = duration_of(section["recoveryTimeout"]);
        if (*wait.recovery_timeout == Duration{}) wait.recovery_timeout.reset();
    } else if (version == Version::v1beta1) {
        wait.recovery_timeout.reset();
    }
    const bool blocks = section["blockAdmission"].boolean_or(version == Version::v1beta1);
    if (blocks) wait.admission = WaitForPodsReady::Admission::blocked;
    const Value& again = section["requeuingStrategy"];
    if (again["timestamp"].text_or("") == "Creation")
        wait.timestamp = WaitForPodsReady::Timestamp::creation;
    if (again["backoffLimitCount"].is_integer())
        wait.backoff_limit = again["backoffLimitCount"].as_integer();
    wait.backoff_base_seconds = again["backoffBaseSeconds"].integer_or(wait.backoff_base_seconds);
    wait.backoff_max_seconds = again["backoffMaxSeconds"].integer_or(wait.backoff_max_seconds);
    life.wait_for_pods_ready = wait;
}

void read_sharing(decide::Options& options, const Value& document, Version version) {
    using Strategy = decide::Options::Strategy;
    if (shares_fairly(document, version)) {
        options.fair_sharing.emplace();
        for (const Value& strategy : document["fairSharing"]["preemptionStrategies"].items()) {
            options.fair_sharing->push_back(strategy.text_or("") == "LessThanInitialShare"
                                                ? Strategy::less_than_initial_share
                                                : Strategy::less_than_or_equal_to_final_share);
        }
    }
    const Value& section = document["admissionFairSharing"];
    if (!section.is_object()) return;
    decide::AdmissionSharing sharing;
    sharing.half_life = duration_of(section["usageHalfLifeTime"]);
    const Duration sampling = duration_of(section["usageSamplingInterval"]);
    if (sampling != Duration{}) sharing.sampling = sampling;
    for (const auto& [resource, weight] : section["resourceWeights"].members()) {
        constexpr double most = 1e9;  // Times a billion it still fits.
        const double given = weight.is_number() ? weight.as_real() : 0;  // Null, as Go reads it.
        sharing.weight_nanos[resource] = std::llround(std::min(given, most) * 1e9);
    }
    options.admission_sharing = std::move(sharing);
}

}  // namespace

void read_sections(Settings& settings, const Value& document, Version version) {
    warn_of_the_rest(settings, document, version);
    read_metrics(settings.metrics, document["metrics"]);
    read_resources(settings, document["resources"]);
    read_jobs(settings, document);
    read_life(settings.life, document, version);
    read_sharing(settings.decisions, document, version);
}

void obey_gates(Settings& settings, const Gates& gates) {
    using decide::TopologyProfile;
    using Obeyed = WorkloadRules::Obeyed;
    const auto obeyed = [&](std::string_view gate) {
        return gates.is_on(gate) ? Obeyed::yes : Obeyed::no;
    };
    TopologyProfile& profile = settings.decisions.topologies;
    profile.spread = gates.is_on("TASBalancedPlacement") ? TopologyProfile::Spread::balanced
                                                         : TopologyProfile::Spread::packed;
    profile.choice = gates.is_on("TASProfileMixed") ? TopologyProfile::Choice::mixed
                                                    : TopologyProfile::Choice::best_fit;
    settings.workloads.min_count = obeyed("PartialAdmission");
    settings.workloads.reclaimable = obeyed("ReclaimablePods");
    settings.workloads.priority_boost = obeyed("PriorityBoost");
    if (!gates.is_on("LocalQueueMetrics"))
        settings.metrics.local_queues = MetricsSettings::Series::hidden;
    if (!gates.is_on("QuotaCheckStrategy"))
        settings.decisions.undeclared = decide::Options::Undeclared::block;
    if (!gates.is_on("AdmissionFairSharing")) settings.decisions.admission_sharing.reset();
    if (gates.is_on("DisableWaitForPodsReady")) settings.life.wait_for_pods_ready.reset();
    const auto& wait = settings.life.wait_for_pods_ready;
    settings.decisions.blocking = wait && wait->admission == WaitForPodsReady::Admission::blocked
                                      ? decide::Options::Blocking::until_pods_ready
                                      : decide::Options::Blocking::never;
    for (const std::string& gate : gates.not_obeyed())
        settings.warnings.push_back("featureGates." + gate + ": not obeyed");
}

decide::Selector JobRules::usual_namespaces(const std::string& own) {
    return {
        {},
        {{"kubernetes.io/metadata.name", decide::Requirement::Op::not_in, {"kube-system", own}}}};
}

Settings usual_settings() {
    Settings settings;
    WaitForPodsReady wait;
    wait.recovery_timeout = wait.timeout;
    settings.life.wait_for_pods_ready = wait;
    return settings;
}

}  // namespace muster::control::queue

// control/queue/configuration_test.cpp - configuration files: what is taken, what is refused, what
// is obeyed and what is told not to be.
#include "control/queue/configuration.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "control/queue/feature_gates.h"
#include "control/queue/process_settings.h"

namespace muster::control::queue {
namespace {

const std::string v1beta1 = "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n";
const std::string v1beta2 = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";

std::string fault(const std::string& yaml, std::string_view gates = {}) {
    const auto read = read_configuration(yaml, gates);
    const auto* wrong = std::get_if<WrongConfiguration>(&read);
    return wrong == nullptr ? "" : wrong->text();
}

Settings taken(const std::string& yaml, std::string_view gates = {}) {
    const auto read = read_configuration(yaml, gates);
    if (const auto* wrong = std::get_if<WrongConfiguration>(&read)) FAIL(wrong->text());
    return std::get<Settings>(read);
}

bool warns_of(const Settings& settings, const std::string& start) {
    return std::any_of(settings.warnings.begin(), settings.warnings.end(),
                       [&](const std::string& warning) { return warning.starts_with(start); });
}

TEST_CASE("what Kueue ships as its configuration is taken, and what has no effect is told") {
    const Settings settings = taken(v1beta2 + R"(
health: {healthProbeBindAddress: ":8081"}
metrics: {bindAddress: ":8443", enableClusterQueueResources: true}
webhook: {port: 9443}
leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}
controller: {groupKindConcurrency: {Job.batch: 5, Pod: 5}}
clientConnection: {qps: 50, burst: 100}
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, ray.io/rayservice]}
)");
    REQUIRE(settings.warnings.size() == 1);
    CHECK(
        settings.warnings[0].starts_with("integrations.frameworks: ray.io/rayservice: not obeyed"));
    CHECK(settings.metrics.resources == MetricsSettings::Series::shown);
    CHECK(settings.jobs.frameworks->contains("jobset.x-k8s.io/jobset"));
    CHECK(settings.life.wait_for_pods_ready->timeout == minutes(30));
    CHECK(settings.life.wait_for_pods_ready->admission == WaitForPodsReady::Admission::goes_on);
}

TEST_CASE("of AppWrappers Kueue means another version than is managed") {
    const Settings settings = taken(v1beta2 + R"(
integrations: {frameworks: [batch/job, workload.codeflare.dev/appwrapper]}
)");
    REQUIRE(settings.warnings.size() == 1);
    CHECK(settings.warnings[0] ==
          "integrations.frameworks: workload.codeflare.dev/appwrapper: obeyed of AppWrappers of "
          "v1beta1: this version of Muster does not manage those of v1beta2");
    CHECK(settings.jobs.frameworks->contains("workload.codeflare.dev/appwrapper"));
}

TEST_CASE("what concerns the process is read for who starts it") {
    const std::string text = v1beta2 + R"(
namespace: queues
health: {healthProbeBindAddress: ":8081", readinessEndpointName: ready, livenessEndpointName: live}
metrics: {bindAddress: ":8443"}
pprofBindAddress: 127.0.0.1:6060
leaderElection: {leaseDuration: 20s, renewDeadline: 15s, retryPeriod: 1s}
webhook: {port: 9443}
)";
    CHECK(taken(text).warnings.empty());
    const ProcessSettings process = read_process_settings(text);
    CHECK(process.given == std::vector<std::string>{"webhook", "leaderElection", "health",
                                                    "pprofBindAddress", "metrics.bindAddress"});
    CHECK(process.health_address == ":8081");
    CHECK(process.readiness_name == "ready");
    CHECK(process.liveness_name == "live");
    CHECK(process.metrics_address == ":8443");
    CHECK(process.profile_address == "127.0.0.1:6060");
    REQUIRE(process.election);
    CHECK(process.election->wanted == ProcessSettings::Election::Wanted::yes);
    CHECK(process.election->ns == "queues");
    CHECK(process.election->name == "c1f6bfd2.kueue.x-k8s.io");
    CHECK(process.election->lease == seconds(20));
    CHECK(process.election->renew_within == seconds(15));
    CHECK(process.election->retry == seconds(1));
    CHECK(!read_process_settings(v1beta2).election);
    const auto off =
        read_process_settings(v1beta2 + "leaderElection: {leaderElect: false}\n").election;
    CHECK(off->wanted == ProcessSettings::Election::Wanted::no);
}

TEST_CASE("every fault is told at once, with its line and its path") {
    CHECK(fault(v1beta2 + R"(
quotas: 1
resources:
  quotaCheckStrategy: Sometimes
  transformations:
  - input: nvidia.com/mig
    strategy: Replace
  - input: nvidia.com/mig
    strtegy: Retain
waitForPodsReady:
  timeout: soon
  requeuingStrategy: {backoffLimitCount: -1}
)") == R"(line 4: quotas: unknown field
line 6: resources.quotaCheckStrategy: Unsupported value: "Sometimes": supported values: "IgnoreUndeclared", "BlockUndeclared"
line 10: resources.transformations[1].input: Duplicate value: "nvidia.com/mig"
line 11: resources.transformations[1].strtegy: unknown field
line 13: waitForPodsReady.timeout: Invalid value: "soon": must be a duration such as 90s, 5m or 1h30m
line 14: waitForPodsReady.requeuingStrategy.backoffLimitCount: Invalid value: -1: must be greater than or equal to 0)");
    CHECK(fault(v1beta2 + "manageJobsWithoutQueueName: 'yes'")
              .starts_with("line 3: manageJobsWithoutQueueName: Invalid value: \"string\""));
    CHECK(fault("apiVersion: v1\nkind: ConfigMap").find("not \"ConfigMap\"") != std::string::npos);
    CHECK(fault(v1beta2 + "---\n" + v1beta2).find("there may be one") != std::string::npos);
    CHECK(fault("a: [").find("line") != std::string::npos);
    CHECK(fault(v1beta2 + "namespace: a\nnamespace: b") == "line 3: namespace: stands twice");
}

TEST_CASE("values are checked as Kueue checks them, in its words") {
    const auto says = [](const std::string& yaml, const std::string& words) {
        const std::string text = fault(v1beta2 + yaml);
        INFO(text);
        CHECK(text.find(words) != std::string::npos);
    };
    says("fairSharing: {}", "fairSharing.preemptionStrategies: Required value: must be specified");
    says("fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanInitialShare]}",
         "supported values: \"LessThanOrEqualToFinalShare\", \"LessThanInitialShare\", "
         "\"LessThanOrEqualToFinalShare,LessThanInitialShare\"");
    says("integrations: {frameworks: [batch/job, batch/job]}",
         "integrations.frameworks[1]: Duplicate value: \"batch/job\"");
    says("integrations: {frameworks: [batch/cronjob]}",
         "integrations.frameworks[0]: Unsupported value: \"batch/cronjob\"");
    says("integrations: {externalFrameworks: [Foo]}", "must be format, 'Kind.version.group.com'");
    says("managedJobsNamespaceSelector: {}", "should not match the \"kube-system\" namespace");
    says("resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [a.b/]}",
         "excludeResourcePrefixes is not allowed when quotaCheckStrategy is IgnoreUndeclared");
    says("admissionFairSharing: {usageHalfLifeTime: 1h, resourceWeights: {cpu: -1}}",
         "admissionFairSharing.resourceWeights[cpu]: Invalid value: -1: must be greater than or "
         "equal to 0");
    says("admissionFairSharing: {usageHalfLifeTime: 1h, usageSamplingInterval: -5m}",
         "must be greater than 0");
    says("objectRetentionPolicies: {workloads: {afterFinished: -1m}}",
         "objectRetentionPolicies.workloads.afterFinished: Invalid value: \"-1m\": must be greater "
         "than or equal to 0");
    says("multiKueue: {incrementalDispatcherConfig: {stepSize: 0}}",
         "must be greater than or equal to 1");
    says("visibilityServer: {bindPort: 70000}", "must be a valid port number (1-65535)");
    says("tls: {minVersion: VersionTLS13, cipherSuites: [a]}", "may not be specified when");
    says("internalCertManagement: {webhookServiceName: Bad_Name}", "webhookServiceName");
}

TEST_CASE("gates are known by name; those that change something are obeyed or told") {
    CHECK(
        std::is_sorted(feature_gates().begin(), feature_gates().end(),
                       [](const FeatureGate& a, const FeatureGate& b) { return a.name < b.name; }));
    const Settings settings = taken(
        v1beta2 +
        "featureGates: {TASBalancedPlacement: true, TASProfileMixed: false, PriorityBoost: true, "
        "ConcurrentAdmission: true, PartialAdmission: false, TASCacheTopologyTree: false}");
    CHECK(settings.decisions.topologies.spread == decide::TopologyProfile::Spread::balanced);
    CHECK(settings.decisions.topologies.choice == decide::TopologyProfile::Choice::best_fit);
    CHECK(settings.workloads.priority_boost == WorkloadRules::Obeyed::yes);
    CHECK(settings.workloads.min_count == WorkloadRules::Obeyed::no);
    REQUIRE(settings.warnings.size() == 1);
    CHECK(settings.warnings[0] == "featureGates.ConcurrentAdmission: true: not obeyed");
    CHECK(fault(v1beta2 + "featureGates:\n  PriorityBoost: true\n  Magic: true") ==
          "line 5: featureGates: unrecognized feature gate: Magic");
    CHECK(fault(v1beta2 + "featureGates: {TLSOptions: false}")
              .find("cannot set feature gate TLSOptions to false, feature is locked to true") !=
          std::string::npos);
    CHECK(fault(v1beta2 + "featureGates: {TASFailedNodeReplacement: false}")
              .find("TASFailedNodeReplacementFailFast requires TASFailedNodeReplacement to be "
                    "enabled") != std::string::npos);
    CHECK(taken(v1beta2, "DisableWaitForPodsReady=true").life.wait_for_pods_ready == std::nullopt);
    CHECK(fault(v1beta2 + "featureGates: {PriorityBoost: true}", "PriorityBoost=true")
              .find("feature gates for CLI and configuration cannot both specified") !=
          std::string::npos);
    CHECK(fault(v1beta2, "PriorityBoost") ==
          "--feature-gates: missing bool value for PriorityBoost");
    CHECK(fault(v1beta2, "Magic=true") == "featureGates: unrecognized feature gate: Magic");
}

TEST_CASE("both versions mean what they mean in Kueue") {
    using Strategy = decide::Options::Strategy;
    CHECK_FALSE(taken(v1beta1 + "fairSharing: {enable: false}").decisions.fair_sharing);
    CHECK(taken(v1beta1 + "fairSharing: {enable: true}").decisions.fair_sharing->empty());
    CHECK(*taken(v1beta2 + "fairSharing: {preemptionStrategies: [LessThanInitialShare]}")
               .decisions.fair_sharing == std::vector{Strategy::less_than_initial_share});
    CHECK(fault(v1beta2 + "fairSharing: {enable: true}").find("enable: unknown field") !=
          std::string::npos);
    CHECK_FALSE(taken(v1beta1).life.wait_for_pods_ready);
    CHECK(warns_of(taken(v1beta1 + "waitForPodsReady: {enable: false, timeout: 5m}"),
                   "enable is set to false in waitForPodsReady"));
    const Settings old = taken(v1beta1 + "waitForPodsReady: {enable: true, timeout: 5m}");
    CHECK(old.life.wait_for_pods_ready->admission == WaitForPodsReady::Admission::blocked);
    CHECK_FALSE(old.life.wait_for_pods_ready->recovery_timeout);
    const Settings now = taken(v1beta2 + R"(
waitForPodsReady:
  timeout: 5m
  blockAdmission: true
  recoveryTimeout: 0s
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 3, backoffBaseSeconds: 10}
objectRetentionPolicies: {workloads: {afterFinished: 1h, afterDeactivatedByKueue: 0s}}
)");
    const WaitForPodsReady& wait = *now.life.wait_for_pods_ready;
    CHECK(wait.timeout == minutes(5));
    CHECK(now.decisions.blocking == decide::Options::Blocking::until_pods_ready);
    CHECK_FALSE(wait.recovery_timeout);
    CHECK(wait.timestamp == WaitForPodsReady::Timestamp::creation);
    CHECK(wait.backoff_limit == 3);
    CHECK(wait.backoff_base_seconds == 10);
    CHECK(now.life.retention.after_finished == hours(1));
    CHECK(now.life.retention.after_deactivated == Duration{});
}

TEST_CASE("resources, jobs and sharing by usage are read") {
    const Settings settings = taken(v1beta2 + R"(
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {queued: "yes"}}
integrations: {labelKeysToCopy: [team]}
metrics: {localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {a: b}}}}
admissionFairSharing: {usageHalfLifeTime: 2h, resourceWeights: {cpu: 2.5, memory: 0, pods: }}
resources:
  excludeResourcePrefixes: [example.com/]
  transformations:
  - {input: nvidia.com/mig-1g.5gb, strategy: Replace, outputs: {accelerator-memory: 5Gi}}
  - {input: cpu, multiplyBy: nvidia.com/gpu, outputs: {credits: 1500m}}
)");
    CHECK(settings.warnings.empty());
    CHECK(settings.jobs.unlabelled == JobRules::Unlabelled::managed);
    CHECK(settings.jobs.namespaces.labels.at("queued") == "yes");
    CHECK(settings.jobs.labels_to_copy == std::vector<std::string>{"team"});
    CHECK(settings.metrics.selected->labels.at("a") == "b");
    REQUIRE(settings.decisions.admission_sharing);
    CHECK(settings.decisions.admission_sharing->half_life == hours(2));
    CHECK(settings.decisions.admission_sharing->sampling == minutes(5));
    CHECK(settings.decisions.admission_sharing->weight_nanos.at("cpu") == 2'500'000'000);
    CHECK(settings.decisions.admission_sharing->weight_nanos.at("memory") == 0);
    CHECK(settings.resources.excluded_prefixes == std::vector<std::string>{"example.com/"});
    REQUIRE(settings.resources.transformations.size() == 2);
    const Transformation& first = settings.resources.transformations[0];
    CHECK(first.kept == Transformation::Input::replaced);
    CHECK(first.outputs[0].second.text() == "5Gi");
    CHECK(settings.resources.transformations[1].kept == Transformation::Input::retained);
    CHECK(settings.resources.transformations[1].multiply_by == "nvidia.com/gpu");
    CHECK_FALSE(taken(v1beta2 + "admissionFairSharing: {usageHalfLifeTime: 2h}\n"
                                "featureGates: {AdmissionFairSharing: false}")
                    .decisions.admission_sharing);
}

TEST_CASE("the aggregate check of MCAD is a switch") {
    const std::string own = "apiVersion: muster.dev/v1alpha1\nkind: Configuration\n";
    const Settings settings = taken(own + "appWrappers: {capacity: Aggregate, order: FIFO}");
    CHECK(settings.decisions.capacity == decide::Options::Capacity::aggregate);
    CHECK(settings.decisions.order == decide::Options::Order::fifo);
    CHECK(fault(own + "appWrappers:\n  capacity: Some")
              .starts_with("line 4: appWrappers.capacity: "
                           "\"Some\" is none of"));
    CHECK(fault(own + "queues: {}").starts_with("line 3: queues: unknown field"));
}

}  // namespace
}  // namespace muster::control::queue

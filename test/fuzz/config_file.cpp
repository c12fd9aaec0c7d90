// test/fuzz/config_file.cpp - The file of --config.
#include "apps/up/config.h"
#include "base/error.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    try {
        up::parse_config("config.yaml", std::string(input));
    } catch (const Error& error) {
        demand(error.what()[0] != 0, "a refusal says why");
    }
}

}  // namespace

Target config_file_target() {
    return {"config_file",
            {R"(apiVersion: config.kueue.x-k8s.io/v1beta1
kind: Configuration
waitForPodsReady: {enable: false}
integrations: {frameworks: [batch/job]}
)",
             R"(apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {a: b}}
metrics: {enableClusterQueueResources: true, localQueueMetrics: {enable: true}}
waitForPodsReady: {timeout: 5m, requeuingStrategy: {timestamp: Creation, backoffLimitCount: 2}}
integrations: {frameworks: [batch/job, pod], labelKeysToCopy: [team]}
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
admissionFairSharing: {usageHalfLifeTime: 1h, resourceWeights: {cpu: 2.5}}
resources:
  excludeResourcePrefixes: [example.com/]
  transformations:
  - {input: nvidia.com/mig, strategy: Replace, multiplyBy: cpu, outputs: {memory: 5Gi}}
featureGates: {PriorityBoost: true, TASProfileMixed: false}
objectRetentionPolicies: {workloads: {afterFinished: 1h}}
)",
             R"(apiVersion: muster.dev/v1alpha1
kind: Configuration
appWrappers: {capacity: Aggregate, order: FIFO}
images: [{pattern: "ray*", environment: /opt/ray, variables: {A: b}}]
)"},
            take};
}

}  // namespace muster::fuzz

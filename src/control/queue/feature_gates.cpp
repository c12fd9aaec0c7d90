// control/queue/feature_gates.cpp - the table of feature gates, and what may be asked of it.
#include "control/queue/feature_gates.h"

#include <algorithm>

namespace muster::control::queue {
namespace {

using State = FeatureGate::State;
using Here = FeatureGate::Here;

constexpr FeatureGate table[] = {
    {"AdmissionFairSharing", State::on, Here::obeyed},
    {"AdmissionFairSharingAnchorAtQuotaReservation", State::on, Here::always},
    {"AdmissionGatedBy", State::on, Here::always},
    {"AssignQueueLabelsForPods", State::on, Here::always},
    {"CleanupProvisioningRequestsOnEviction", State::on, Here::never},
    {"ConcurrentAdmission", State::off, Here::never},
    {"ConfigurablePreemptions", State::off, Here::never},
    {"CustomMetricLabels", State::off, Here::never},
    {"DeferRayServiceFinalizationForRedisCleanup", State::off, Here::never},
    {"DeploymentJobUIDLabel", State::on, Here::no_matter},
    {"DisableWaitForPodsReady", State::off, Here::obeyed},
    {"DynamicQuotaOrchestration", State::off, Here::never},
    {"ElasticJobsViaWorkloadSlices", State::on, Here::never},
    {"ElasticJobsViaWorkloadSlicesFlavorChangeFromZero", State::off, Here::never},
    {"ElasticJobsViaWorkloadSlicesForProvisioningRequests", State::off, Here::never},
    {"ElasticJobsViaWorkloadSlicesWithPartialReplicaScaleUp", State::off, Here::never},
    {"ElasticJobsViaWorkloadSlicesWithTAS", State::off, Here::never},
    {"EnforceProvisioningPodTemplateContents", State::on, Here::never},
    {"FailureRecoveryPolicy", State::off, Here::never},
    {"FairSharingPreemptWithinNominal", State::on, Here::always},
    {"FairSharingPrioritizeNonBorrowing", State::on, Here::always},
    {"FairSharingReevaluatePreemptionCandidates", State::off, Here::never},
    {"FairSharingRefill", State::off, Here::never},
    {"FastQuotaReleaseInPodIntegration", State::off, Here::never},
    {"FinalizeTerminatingPodGroups", State::on, Here::no_matter},
    {"FinishOrphanedWorkloads", State::on, Here::always},
    {"FlavorFungibility", State::on, Here::always},
    {"FlavorFungibilityPreserveScanProgress", State::on, Here::always},
    {"HighMaxParallelismWithinReconcile", State::on, Here::no_matter},
    {"KueueDRADeviceFeasibility", State::off, Here::never},
    {"KueueDRAIntegration", State::on, Here::never},
    {"KueueDRAIntegrationConsumableCapacity", State::off, Here::never},
    {"KueueDRAIntegrationDeviceTaints", State::off, Here::never},
    {"KueueDRAIntegrationExtendedResource", State::on, Here::never},
    {"KueueDRAIntegrationPartitionableDevices", State::on, Here::never},
    {"KueueDRAIntegrationPrioritizedList", State::off, Here::never},
    {"KueueDRARejectWorkloadsWhenDRADisabled", State::on, Here::always},
    {"LWSImmutableGroupSize", State::on, Here::always},
    {"LocalQueueMetrics", State::on, Here::obeyed},
    {"ManagedJobsNamespaceSelectorAlwaysRespected", State::on, Here::always,
     FeatureGate::Lock::locked},
    {"MetricForWorkloadCreationLatency", State::on, Here::always},
    {"MetricsForCohorts", State::on, Here::always},
    {"MultiKueue", State::on, Here::never},
    {"MultiKueueAdaptersForCustomJobs", State::on, Here::never},
    {"MultiKueueBatchJobClearingTTLSecondsAfterFinishedOnWorkerCluster", State::off, Here::never},
    {"MultiKueueClusterProfile", State::off, Here::never},
    {"MultiKueueIncrementalDispatcherConfig", State::on, Here::never},
    {"MultiKueueIncrementalDispatcherRespectConfigOrder", State::on, Here::never},
    {"MultiKueueKubeConfigPathValidation", State::on, Here::never},
    {"MultiKueueManagerQuotaAutomation", State::off, Here::never},
    {"MultiKueueOrchestratedPreemption", State::off, Here::never},
    {"MultiKueueRayInTreeAutoscaling", State::off, Here::never},
    {"MultiKueueRemoteSpecSync", State::on, Here::never},
    {"MultiKueueReuseClientConnectionConfigForWorkers", State::on, Here::never},
    {"PartialAdmission", State::on, Here::obeyed},
    {"PodGroupSchedulingShapeOrdering", State::on, Here::no_matter},
    {"PodIntegrationCountSucceededPodsAsReady", State::on, Here::always},
    {"PodIntegrationValidateGroupOwner", State::on, Here::always},
    {"PrioritizePreemptorWorkloads", State::off, Here::never},
    {"PriorityBoost", State::off, Here::obeyed},
    {"PrioritySortingWithinCohort", State::on, Here::always},
    {"QuotaCheckStrategy", State::on, Here::obeyed},
    {"RayServiceValidateUpgradeStrategy", State::on, Here::never},
    {"ReclaimablePods", State::on, Here::obeyed},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap", State::on, Here::always},
    {"RejectUpdatesToCQWithInvalidOnFlavors", State::off, Here::never},
    {"RemoveFinalizersWithStrictPatch", State::on, Here::no_matter},
    {"ReservedResourceNameValidation", State::on, Here::always},
    {"SchedulerLibraryIntegration", State::off, Here::no_matter},
    {"SchedulingEquivalenceHashing", State::on, Here::no_matter},
    {"SchedulingEquivalenceHashingIgnorePodSetName", State::on, Here::no_matter},
    {"ShortWorkloadNames", State::off, Here::never},
    {"SkipAncestorCheckForDeletedWorkloads", State::on, Here::no_matter},
    {"SkipChildJobSuspension", State::off, Here::never},
    {"SkipReassignmentForPodOwnedWorkloads", State::on, Here::no_matter},
    {"SparkApplicationIntegration", State::off, Here::never},
    {"TASAssignmentsEncodingByHostnamePrefix", State::on, Here::no_matter},
    {"TASBalancedPlacement", State::off, Here::obeyed},
    {"TASCacheNodeMatchResults", State::on, Here::no_matter},
    {"TASCacheTopologyTree", State::on, Here::no_matter},
    {"TASCachingRemainingResources", State::on, Here::no_matter},
    {"TASFailedNodeReplacement", State::on, Here::always},
    {"TASFailedNodeReplacementFailFast", State::on, Here::always},
    {"TASGroupedPodSetSlicing", State::on, Here::always},
    {"TASHandleOverlappingFlavors", State::on, Here::always},
    {"TASLeaderPodSetFeasibility", State::on, Here::always},
    {"TASMultiLayerTopology", State::on, Here::always},
    {"TASNodeFeasibilityForAllLevels", State::on, Here::always},
    {"TASPartialSlices", State::on, Here::always},
    {"TASProfileMixed", State::on, Here::obeyed},
    {"TASRecomputeAssignmentWithinSchedulingCycle", State::on, Here::always},
    {"TASRejectFalseUnconstrainedTopology", State::off, Here::never},
    {"TASReplaceMultipleFailedNodes", State::off, Here::never},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", State::off, Here::never},
    {"TASReplaceNodeOnNodeTaints", State::on, Here::always},
    {"TASReplaceNodeOnPodTermination", State::on, Here::always},
    {"TASRespectNodeAffinityPreferred", State::off, Here::never},
    {"TASTopologySpreading", State::off, Here::never},
    {"TASValidateWorkloadSliceSize", State::on, Here::always},
    {"TLSOptions", State::on, Here::never, FeatureGate::Lock::locked},
    {"TopologyAwareScheduling", State::on, Here::always},
    {"UnadmittedWorkloadsExplicitStatus", State::off, Here::never},
    {"UnadmittedWorkloadsObservability", State::on, Here::always},
    {"ValidateRayAndSparkJobUpdates", State::on, Here::always},
    {"VectorizedResourceRequests", State::on, Here::no_matter},
    {"VisibilityOnDemand", State::on, Here::always},
    {"WaitForPodsReadyMaxNotReady", State::off, Here::never},
    {"WaitForPodsReadyUnscheduledTimeout", State::off, Here::never},
    {"WorkloadIdentifierAnnotations", State::on, Here::always},
    {"WorkloadLevelWaitForPodsReady", State::off, Here::never},
    {"WorkloadPriorityClassDefaulting", State::on, Here::always},
    {"WorkloadRequestUseMergePatch", State::off, Here::no_matter},
    {"WorkloadValidateResourcesAreNonNegative", State::on, Here::always},
    {"WorkloadValidationForPodSetMetadata", State::on, Here::always},
};

/// A gate that is good for nothing without another one.
struct Need {
    std::string_view gate;
    std::string_view needs;
};
constexpr Need needs[] = {
    {"TASHandleOverlappingFlavors", "TopologyAwareScheduling"},
    {"TASFailedNodeReplacement", "TopologyAwareScheduling"},
    {"TASFailedNodeReplacementFailFast", "TopologyAwareScheduling"},
    {"TASFailedNodeReplacementFailFast", "TASFailedNodeReplacement"},
    {"TASReplaceNodeOnPodTermination", "TopologyAwareScheduling"},
    {"TASReplaceNodeOnPodTermination", "TASFailedNodeReplacement"},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", "TopologyAwareScheduling"},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", "TASFailedNodeReplacement"},
    {"TASBalancedPlacement", "TopologyAwareScheduling"},
    {"TASReplaceNodeOnNodeTaints", "TopologyAwareScheduling"},
    {"TASMultiLayerTopology", "TopologyAwareScheduling"},
    {"TASRespectNodeAffinityPreferred", "TopologyAwareScheduling"},
    {"UnadmittedWorkloadsExplicitStatus", "UnadmittedWorkloadsObservability"},
    {"ElasticJobsViaWorkloadSlicesWithTAS", "ElasticJobsViaWorkloadSlices"},
    {"ElasticJobsViaWorkloadSlicesWithTAS", "TopologyAwareScheduling"},
    {"KueueDRAIntegrationExtendedResource", "KueueDRAIntegration"},
    {"KueueDRAIntegrationPartitionableDevices", "KueueDRAIntegration"},
    {"KueueDRAIntegrationConsumableCapacity", "KueueDRAIntegration"},
};

const FeatureGate* find_gate(std::string_view name) {
    const auto found =
        std::lower_bound(std::begin(table), std::end(table), name,
                         [](const FeatureGate& gate, std::string_view n) { return gate.name < n; });
    return found != std::end(table) && found->name == name ? found : nullptr;
}

const char* word(State state) {
    return state == State::on ? "true" : "false";
}

}  // namespace

std::span<const FeatureGate> feature_gates() {
    return table;
}

bool Gates::is_on(std::string_view name) const {
    const auto asked = asked_.find(name);
    if (asked != asked_.end()) return asked->second == State::on;
    const FeatureGate* gate = find_gate(name);
    return gate != nullptr && gate->usual == State::on;
}

std::string Gates::set(const std::string& name, State state) {
    const FeatureGate* gate = find_gate(name);
    if (gate == nullptr) return "unrecognized feature gate: " + name;
    if (gate->lock == FeatureGate::Lock::locked && gate->usual != state) {
        return "cannot set feature gate " + name + " to " + word(state) +
               ", feature is locked to " + word(gate->usual);
    }
    asked_[name] = state;
    return "";
}

std::vector<std::pair<std::string, std::string>> Gates::contradictions() const {
    std::vector<std::pair<std::string, std::string>> found;
    if (is_on("TASProfileMixed") && !is_on("TopologyAwareScheduling"))
        found.emplace_back("TASProfileMixed", "cannot use a TAS profile with TAS disabled");
    for (const Need& need : needs) {
        if (!is_on(need.gate) || is_on(need.needs)) continue;
        const std::string gate(need.gate);
        found.emplace_back(gate, gate + " requires " + std::string(need.needs) + " to be enabled");
    }
    return found;
}

// What is asked for as it usually is says nothing new.
std::vector<std::string> Gates::not_obeyed() const {
    std::vector<std::string> in_vain;
    for (const auto& [name, state] : asked_) {
        const FeatureGate& gate = *find_gate(name);
        const bool differs = gate.usual != state;
        const bool wrong = (gate.here == Here::always && state == State::off) ||
                           (gate.here == Here::never && state == State::on);
        if (wrong && differs) in_vain.push_back(name + ": " + word(state));
    }
    return in_vain;
}

}  // namespace muster::control::queue

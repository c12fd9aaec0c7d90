// api/kueue/schema.cpp - the fields of Kueue's kinds, in the notation of api/definition.h.
#include "api/definition.h"

namespace muster::api {

std::string_view kueue_definitions() {
    return R"(@kueue.Object
apiVersion string
kind string
metadata meta.v1.ObjectMeta
@kueue.Condition
type string required max_length=316
status string required enum=True|False|Unknown
observedGeneration int64 min=0
lastTransitionTime time required
reason string required min_length=1 max_length=1024 pattern=^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$
message string required max_length=32768
@kueue.FairSharing
weight quantity default=1 -- Standing against the other queues; twice the weight, twice the share.
@kueue.v1beta1.ResourceFlavor
include kueue.Object
spec kueue.ResourceFlavorSpec
@kueue.v1beta2.ResourceFlavor
include kueue.Object
spec kueue.ResourceFlavorSpec
@kueue.ResourceFlavorSpec
nodeLabels {string} max_properties=8 atomic -- Labels of the nodes of this flavor; added as node selector to admitted pods.
nodeTaints [core.v1.Taint] max_items=8 -- Taints of the nodes of this flavor; pods must tolerate them.
tolerations [core.v1.Toleration] max_items=8 -- Added to pods on admission.
topologyName string max_length=253
@kueue.v1beta1.ClusterQueue
include kueue.Object
spec kueue.v1beta1.ClusterQueueSpec
status kueue.v1beta1.ClusterQueueStatus
@kueue.v1beta2.ClusterQueue
include kueue.Object
spec kueue.v1beta2.ClusterQueueSpec
status kueue.ClusterQueueStatus
@kueue.v1beta1.ClusterQueueSpec
include kueue.ClusterQueueSpec
cohort string max_length=253
flavorFungibility kueue.v1beta1.FlavorFungibility default={}
admissionChecks [string] set
@kueue.v1beta2.ClusterQueueSpec
include kueue.ClusterQueueSpec
cohortName string max_length=253
flavorFungibility kueue.v1beta2.FlavorFungibility default={}
@kueue.ClusterQueueSpec
resourceGroups [kueue.ResourceGroup] max_items=16 -- Quotas, by groups of resources that get their flavors together.
queueingStrategy string enum=StrictFIFO|BestEffortFIFO default="BestEffortFIFO" -- Whether a workload that does not fit blocks younger ones.
namespaceSelector meta.v1.LabelSelector -- Namespaces that may submit; absent: none, {}: all.
preemption kueue.Preemption default={}
admissionChecksStrategy kueue.AdmissionChecksStrategy
stopPolicy string enum=None|Hold|HoldAndDrain default="None" -- Hold: no new admissions. HoldAndDrain: also evicts.
fairSharing kueue.FairSharing
admissionScope kueue.AdmissionScope
concurrentAdmissionPolicy any
quotaManagement any
@kueue.ResourceGroup
coveredResources [string] required min_items=1 max_items=64 -- Names of resources; a resource is in one group only.
flavors [kueue.FlavorQuotas] required map=name min_items=1 max_items=64 -- Tried in this order.
@kueue.FlavorQuotas
name string required max_length=253 -- Name of a ResourceFlavor.
resources [kueue.ResourceQuota] required map=name min_items=1 max_items=64 -- One for each covered resource, in the same order.
@kueue.ResourceQuota
name string required
nominalQuota quantity required -- What the workloads of this queue may use together.
borrowingLimit quantity
lendingLimit quantity
@kueue.v1beta1.FlavorFungibility
whenCanBorrow string enum=Borrow|MayStopSearch|TryNextFlavor default="Borrow"
whenCanPreempt string enum=Preempt|MayStopSearch|TryNextFlavor default="TryNextFlavor"
preference string enum=BorrowingOverPreemption|PreemptionOverBorrowing
@kueue.v1beta2.FlavorFungibility
whenCanBorrow string enum=MayStopSearch|TryNextFlavor default="MayStopSearch"
whenCanPreempt string enum=MayStopSearch|TryNextFlavor default="TryNextFlavor"
preference string enum=BorrowingOverPreemption|PreemptionOverBorrowing
@kueue.Preemption
reclaimWithinCohort string enum=Never|LowerPriority|Any default="Never"
borrowWithinCohort kueue.BorrowWithinCohort
withinClusterQueue string enum=Never|LowerPriority|LowerOrNewerEqualPriority default="Never"
@kueue.BorrowWithinCohort
policy string enum=Never|LowerPriority default="Never"
maxPriorityThreshold int32
@kueue.AdmissionChecksStrategy
admissionChecks [kueue.AdmissionCheckRule] map=name max_items=64
@kueue.AdmissionCheckRule
name string required max_length=316
onFlavors [string] set
@kueue.AdmissionScope
admissionMode string required enum=UsageBasedAdmissionFairSharing|NoAdmissionFairSharing
@kueue.v1beta1.ClusterQueueStatus
include kueue.ClusterQueueStatus
pendingWorkloadsStatus any
@kueue.ClusterQueueStatus
conditions [kueue.Condition] map=type max_items=16
flavorsReservation [kueue.FlavorUsage] map=name -- Reserved quota, admitted or not.
flavorsUsage [kueue.FlavorUsage] map=name -- Quota of admitted workloads.
pendingWorkloads int32
reservingWorkloads int32
admittedWorkloads int32
fairSharing kueue.FairSharingStatus
@kueue.FlavorUsage
name string required max_length=253
resources [kueue.ResourceUsage] required map=name
@kueue.ResourceUsage
name string required
total quantity
borrowed quantity
@kueue.FairSharingStatus
weightedShare int64
admissionFairSharingStatus any
@kueue.v1beta1.LocalQueue
include kueue.Object
spec kueue.LocalQueueSpec
status kueue.v1beta1.LocalQueueStatus
@kueue.v1beta2.LocalQueue
include kueue.Object
spec kueue.LocalQueueSpec
status kueue.v1beta2.LocalQueueStatus
@kueue.LocalQueueSpec
clusterQueue string max_length=253 -- The ClusterQueue behind this queue; cannot be changed.
stopPolicy string enum=None|Hold|HoldAndDrain default="None"
fairSharing kueue.FairSharing
@kueue.v1beta1.LocalQueueStatus
include kueue.LocalQueueStatus
flavorUsage [kueue.FlavorUsage] map=name
flavors [kueue.LocalQueueFlavor] map=name
@kueue.v1beta2.LocalQueueStatus
include kueue.LocalQueueStatus
flavorsUsage [kueue.FlavorUsage] map=name
@kueue.LocalQueueStatus
conditions [kueue.Condition] map=type max_items=16
pendingWorkloads int32
reservingWorkloads int32
admittedWorkloads int32
flavorsReservation [kueue.FlavorUsage] map=name
fairSharing kueue.FairSharingStatus
@kueue.LocalQueueFlavor
name string required
resources [string] set
nodeLabels {string} atomic
nodeTaints [core.v1.Taint]
topology any
@kueue.v1beta1.Workload
include kueue.Object
spec kueue.v1beta1.WorkloadSpec
status kueue.v1beta1.WorkloadStatus
@kueue.v1beta2.Workload
include kueue.Object
spec kueue.v1beta2.WorkloadSpec
status kueue.v1beta2.WorkloadStatus
@kueue.v1beta1.WorkloadSpec
include kueue.WorkloadSpec
priorityClassName string max_length=253
priorityClassSource string enum=kueue.x-k8s.io/workloadpriorityclass|scheduling.k8s.io/priorityclass
@kueue.v1beta2.WorkloadSpec
include kueue.WorkloadSpec
priorityClassRef kueue.PriorityClassRef
@kueue.WorkloadSpec
podSets [kueue.PodSet] map=name min_items=1 max_items=18 -- Pods of one shape each; admitted together or not at all.
queueName string max_length=253 -- The LocalQueue in the same namespace.
priority int32
active bool default=true -- false evicts the workload and keeps it out.
maximumExecutionTimeSeconds int32 min=1
preemptionGates [kueue.NamedGate] map=name max_items=8
@kueue.NamedGate
name string required max_length=316
@kueue.PriorityClassRef
group string required enum=kueue.x-k8s.io|scheduling.k8s.io
kind string required enum=WorkloadPriorityClass|PriorityClass
name string required min_length=1 max_length=253
@kueue.PodSet
name string default="main" max_length=63 pattern=^(?i)[a-z0-9]([-a-z0-9]*[a-z0-9])?$
template core.v1.PodTemplateSpec
count int32 default=1 min=0
minCount int32 min=1
topologyRequest kueue.TopologyRequest
@kueue.TopologyRequest
required string
preferred string
unconstrained bool
podIndexLabel string
subGroupIndexLabel string
subGroupCount int32
podSetGroupName string
podSetSliceRequiredTopology string
podSetSliceSize int32
podsetSliceRequiredTopologyConstraints any
@kueue.v1beta1.WorkloadStatus
include kueue.WorkloadStatus
accumulatedPastExexcutionTimeSeconds int32
@kueue.v1beta2.WorkloadStatus
include kueue.WorkloadStatus
accumulatedPastExecutionTimeSeconds int32
@kueue.WorkloadStatus
conditions [kueue.Condition] map=type max_items=16
admission kueue.Admission
requeueState kueue.RequeueState
reclaimablePods [kueue.ReclaimablePod] map=name
admissionChecks [kueue.AdmissionCheckState] map=name max_items=8
resourceRequests [kueue.PodSetRequest] map=name
schedulingStats kueue.SchedulingStats
nominatedClusterNames [string] set max_items=20
clusterName string
unhealthyNodes [kueue.NamedNode] map=name max_items=8
preemptionGates [kueue.GateState] map=name max_items=8
@kueue.Admission
clusterQueue string required max_length=253
podSetAssignments [kueue.PodSetAssignment] map=name max_items=18
@kueue.PodSetAssignment
name string default="main" max_length=63
flavors {string}
resourceUsage {quantity}
count int32 min=0
topologyAssignment any
delayedTopologyRequest string enum=Pending|Ready
@kueue.RequeueState
count int32 min=0
requeueAt time
@kueue.ReclaimablePod
name string required max_length=63
count int32 required min=0
@kueue.AdmissionCheckState
name string required max_length=316
state string required enum=Pending|Ready|Retry|Rejected
lastTransitionTime time required
message string max_length=32768
requeueAfterSeconds int32
retryCount int32
podSetUpdates [kueue.PodSetUpdate]
@kueue.PodSetUpdate
name string required max_length=63
labels {string}
annotations {string}
nodeSelector {string}
tolerations [core.v1.Toleration] max_items=8
@kueue.PodSetRequest
name string required default="main" max_length=63
resources {quantity}
@kueue.SchedulingStats
evictions [kueue.EvictionCount] map=reason,underlyingCause max_items=256
@kueue.EvictionCount
reason string required max_length=316
underlyingCause string required max_length=316
count int32 required min=0
@kueue.NamedNode
name string required
@kueue.GateState
name string required
position string required enum=Closed|Open
lastTransitionTime time
@kueue.v1beta1.WorkloadPriorityClass
include kueue.Object
value int32 required -- Higher goes first.
description string
@kueue.v1beta2.WorkloadPriorityClass
include kueue.Object
value int32 required -- Higher goes first.
description string
)";
}

}  // namespace muster::api

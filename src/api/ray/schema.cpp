// api/ray/schema.cpp - the fields of RayCluster and RayJob, in the notation of api/definition.h.
#include "api/definition.h"

namespace muster::api {

std::string_view ray_definitions() {
    return R"(@ray.v1.RayCluster
apiVersion string
kind string
metadata meta.v1.ObjectMeta
spec ray.v1.RayClusterSpec
status ray.v1.RayClusterStatus
@ray.v1.RayClusterSpec
headGroupSpec ray.v1.HeadGroupSpec required -- The head pod.
workerGroupSpecs [ray.v1.WorkerGroupSpec] -- Groups of equal worker pods.
rayVersion string -- The Ray version in the images; must be the same in all of them.
enableInTreeAutoscaling bool
autoscalerOptions ray.v1.AutoscalerOptions
suspend bool -- true deletes all pods and keeps the object.
managedBy string enum=ray.io/kuberay-operator|kueue.x-k8s.io/multikueue
headServiceAnnotations {string}
gcsFaultToleranceOptions ray.v1.GcsFaultToleranceOptions
authOptions ray.v1.AuthOptions
upgradeStrategy ray.v1.UpgradeStrategy
networkPolicy any
networkPolicyOptions any
tlsOptions any
mtlsOptions any
historyServerOptions any
@ray.v1.HeadGroupSpec
template core.v1.PodTemplateSpec required
headService core.v1.Service
serviceType string enum=ClusterIP|NodePort|LoadBalancer|ExternalName
enableIngress bool
ingressOptions any
rayStartParams {string} -- Flags of `ray start`, without the leading dashes.
resources {quantity}
labels {string}
replicas int32
@ray.v1.WorkerGroupSpec
groupName string required
replicas int32 default=0
minReplicas int32 default=0
maxReplicas int32 default=2147483647
numOfHosts int32 default=1
idleTimeoutSeconds int32
priority int32
suspend bool
rayStartParams {string}
resources {quantity}
labels {string}
template core.v1.PodTemplateSpec required
scaleStrategy ray.v1.ScaleStrategy
@ray.v1.ScaleStrategy
workersToDelete [string] -- Names of pods to delete first.
@ray.v1.AutoscalerOptions
resources core.v1.ResourceRequirements
image string
imagePullPolicy string
securityContext core.v1.SecurityContext
idleTimeoutSeconds int32
upscalingMode string enum=Default|Aggressive|Conservative
version string enum=v1|v2
env [core.v1.EnvVar]
envFrom [core.v1.EnvFromSource]
volumeMounts [core.v1.VolumeMount]
command [string]
args [string]
@ray.v1.GcsFaultToleranceOptions
backend string
redisAddress string
redisUsername ray.v1.RedisCredential
redisPassword ray.v1.RedisCredential
externalStorageNamespace string
storage any
@ray.v1.RedisCredential
value string
valueFrom core.v1.EnvVarSource
@ray.v1.AuthOptions
mode string enum=disabled|token
secretName string
enableK8sTokenAuth bool
@ray.v1.UpgradeStrategy
type string enum=None|Recreate
@ray.v1.RayClusterStatus
state string
reason string
desiredCPU quantity
desiredMemory quantity
desiredGPU quantity
desiredTPU quantity
desiredWorkerReplicas int32
minWorkerReplicas int32
maxWorkerReplicas int32
readyWorkerReplicas int32
availableWorkerReplicas int32
endpoints {string}
head ray.v1.HeadInfo
stateTransitionTimes {time}
lastUpdateTime time nullable
observedGeneration int64
conditions [kueue.Condition] map=type
@ray.v1.HeadInfo
podIP string
podName string
serviceIP string
serviceName string
@ray.v1.RayJob
apiVersion string
kind string
metadata meta.v1.ObjectMeta
spec ray.v1.RayJobSpec
status ray.v1.RayJobStatus
@ray.v1.RayJobSpec
entrypoint string -- The command that is the job.
submissionMode string enum=K8sJobMode|HTTPMode|InteractiveMode|SidecarMode default="K8sJobMode"
rayClusterSpec ray.v1.RayClusterSpec
clusterSelector {string}
runtimeEnvYAML string
runtimeEnv string
metadata {string}
jobId string
suspend bool
shutdownAfterJobFinishes bool
ttlSecondsAfterFinished int32 default=0
activeDeadlineSeconds int32
preRunningDeadlineSeconds int32
waitingTtlSeconds int32
backoffLimit int32 default=0
submitterPodTemplate core.v1.PodTemplateSpec
submitterConfig ray.v1.SubmitterConfig
entrypointNumCpus float64
entrypointNumGpus float64
entrypointResources string
deletionStrategy ray.v1.DeletionStrategy
managedBy string enum=ray.io/kuberay-operator|kueue.x-k8s.io/multikueue
@ray.v1.SubmitterConfig
backoffLimit int32
@ray.v1.DeletionStrategy
onSuccess ray.v1.DeletionPolicy
onFailure ray.v1.DeletionPolicy
deletionRules [ray.v1.DeletionRule]
@ray.v1.DeletionPolicy
policy string enum=DeleteCluster|DeleteWorkers|DeleteSelf|DeleteNone
@ray.v1.DeletionRule
policy string required enum=DeleteCluster|DeleteWorkers|DeleteSelf|DeleteNone
condition ray.v1.DeletionCondition required
@ray.v1.DeletionCondition
jobStatus string enum=SUCCEEDED|FAILED
jobDeploymentStatus string enum=Failed
ttlSeconds int32 default=0 min=0
@ray.v1.RayJobStatus
jobId string
rayClusterName string
dashboardURL string
jobStatus string
jobDeploymentStatus string
reason string
message string
startTime time
endTime time
succeeded int32 default=0
failed int32 default=0
rayJobInfo ray.v1.RayJobInfo
rayClusterStatus ray.v1.RayClusterStatus
jobStatusCheckFailureStartTime time
observedGeneration int64
@ray.v1.RayJobInfo
startTime time
endTime time
)";
}

}  // namespace muster::api

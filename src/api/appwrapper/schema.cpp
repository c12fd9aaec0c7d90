// api/appwrapper/schema.cpp - the fields of AppWrapper, in the notation of api/definition.h: the
// union of v1beta1 (MCAD) and v1beta2, because both are served from one key space. The spelling of
// the status is MCAD's own.
#include "api/definition.h"

namespace muster::api {

std::string_view appwrapper_definitions() {
    return R"(@codeflare.v1beta1.AppWrapper
apiVersion string
kind string
metadata meta.v1.ObjectMeta
spec codeflare.v1beta1.AppWrapperSpec
status codeflare.v1beta1.AppWrapperStatus
@codeflare.v1beta1.AppWrapperSpec
priority int32 -- Higher goes first.
priorityslope float64 -- Added to the priority for each second of waiting.
selector meta.v1.LabelSelector
service codeflare.v1beta1.ServiceTemplate
resources codeflare.v1beta1.Resources -- What is wrapped, in the form of v1beta1.
schedulingSpec codeflare.v1beta1.SchedulingSpec
components [codeflare.v1beta1.Component] -- What is wrapped, in the form of v1beta2 (not supported yet).
suspend bool
managedBy string
@codeflare.v1beta1.ServiceTemplate
spec core.v1.ServiceSpec
@codeflare.v1beta1.Resources
Items [any]
GenericItems [codeflare.v1beta1.GenericItem]
metadata any
@codeflare.v1beta1.GenericItem
metadata any
replicas int32 min=0
minavailable int32 min=0
allocated int32
priority int32
priorityslope float64
generictemplate any embedded -- The wrapped object, whole.
custompodresources [codeflare.v1beta1.PodResources] -- What its pods need; without it they are looked for in the object.
completionstatus string -- Names of conditions, separated by commas, any of which means that it is done.
@codeflare.v1beta1.PodResources
replicas int32 required min=0
requests {quantity}
limits {quantity}
@codeflare.v1beta1.SchedulingSpec
nodeSelector {string}
minAvailable int32 min=0
requeuing codeflare.v1beta1.Requeuing
dispatchDuration codeflare.v1beta1.DispatchDuration
@codeflare.v1beta1.Requeuing
initialTimeInSeconds int32 min=0
timeInSeconds int32 min=0 default=300
maxTimeInSeconds int32 min=0 default=0
growthType string enum=exponential|linear|none default="exponential"
numRequeuings int32 min=0 default=0
maxNumRequeuings int32 min=0 default=0
@codeflare.v1beta1.DispatchDuration
expected int32
limit int32
overrun bool
@codeflare.v1beta1.Component
template any embedded
podSets any
podSetInfos any
declaredPodSets any
annotations {string}
@codeflare.v1beta1.AppWrapperStatus
pending int32
running int32
Succeeded int32
failed int32
template int32
canrun bool
isdispatched bool
state string
message string
systempriority float64
queuejobstate string
controllerfirsttimestamp micro_time
controllerfirstdispatchtimestamp micro_time
filterignore bool
sender string
local bool
conditions [codeflare.v1beta1.Condition]
pendingpodconditions [codeflare.v1beta1.PendingPod]
totalcpu float64
totalmemory float64
totalgpu int64
requeueingTimeInSeconds int64
numberOfRequeueings int64
phase string
retries int32
componentStatus [any]
@codeflare.v1beta1.Condition
type string required
status string required
reason string
message string
lastUpdateMicroTime micro_time
lastTransitionMicroTime micro_time
lastTransitionTime time
observedGeneration int64
@codeflare.v1beta1.PendingPod
podname string
conditions [core.v1.PodCondition]
)";
}

}  // namespace muster::api

// control/queue/pod_workload.h - the Workload of a queued pod or group: made, followed, compared.
#pragma once

#include "control/queue/pod_pass.h"

namespace muster::control::queue {

/// Makes it, when the pods can have one.
void create_workload(PodPass& pass);

/// A waiting Workload follows its pods: queue, priority, admission gates, time limit.
void follow_pods(PodPass& pass);

/// A Workload that somebody else made asks for what the pods do.
bool is_in_sync(const PodPass& pass);

}  // namespace muster::control::queue

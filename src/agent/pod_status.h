// agent/pod_status.h - the status of a pod object, made from what is seen of it.
#pragma once

#include "agent/pod_seen.h"
#include "api/value.h"
#include "base/time.h"

namespace muster::agent {

/// The whole status. What the agent does not own (PodScheduled and other conditions, nominated
/// node, qosClass) is kept from the object; unchanged conditions keep their times.
api::Value make_status(const api::Value& pod, const PodSeen& seen, Time now);

}  // namespace muster::agent

// control/queue/queue_status.h - what the status of a ClusterQueue and a LocalQueue says, from the
// reports of `decide`.
#pragma once

#include <cstdint>
#include <optional>

#include "api/value.h"
#include "base/time.h"
#include "decide/cycle.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// The whole new status; equal to the present one (times included) when nothing has changed.
api::Value cluster_queue_status(const kube::Object& queue, const decide::QueueReport& report,
                                Time now);

/// Without fair sharing `weighted_share` is absent, and the status as it was.
api::Value cohort_status(const kube::Object& cohort, std::optional<std::int64_t> weighted_share);

/// `cluster_queue` is null when it does not exist.
api::Value local_queue_status(const kube::Object& queue, const kube::Object* cluster_queue,
                              const decide::QueueReport& report, Time now);

}  // namespace muster::control::queue

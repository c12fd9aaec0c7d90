// control/cluster/job_pods.h - a Job's pods: how they are made, named, numbered, judged and chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"
#include "base/time.h"
#include "kube/cache.h"

namespace muster::control::cluster {

/// Keeps a pod until its end has been counted in the Job's status.
inline constexpr std::string_view tracking_finalizer = "batch.kubernetes.io/job-tracking";

bool is_tracked(const kube::Object& pod);

/// The pod's finalizers without the tracking one; null when none is left.
api::Value without_tracking(const kube::Object& pod);

/// Absent when the pod has none or it cannot be read.
std::optional<std::int64_t> completion_index(const kube::Object& pod);

/// A new pod of the Job. `index` is absent for NonIndexed Jobs.
api::Value make_job_pod(const kube::Object& job, const std::string& name,
                        std::optional<std::int64_t> index);

/// A name that follows from the Job's uid, the index and `attempt`: the same decision made twice
/// collides.
std::string job_pod_name(const kube::Object& job, std::optional<std::int64_t> index,
                         std::int64_t attempt);

/// When its last container ended, as far as its status tells.
Time finish_time(const kube::Object& pod);

/// How long to wait before the next pod: after the first failure since the last success `first`,
/// doubling to `most`; from the end of the latest failure. Not positive: now.
Duration backoff_left(const std::vector<kube::ObjectPtr>& pods, Duration first, Duration most,
                      Time now);

/// Sorted so that those whose removal costs least come first: not yet placed, not running, not
/// ready, younger.
std::vector<kube::ObjectPtr> cheapest_first(std::vector<kube::ObjectPtr> pods);

/// Restarts of all containers of all pods that are pending or running.
std::int64_t restarts(const std::vector<kube::ObjectPtr>& pods);

}  // namespace muster::control::cluster

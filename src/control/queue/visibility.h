// control/queue/visibility.h - who waits in a queue and in which order: the answers of Kueue's
// visibility API.
#pragma once

#include <cstdint>
#include <string>

#include "api/kind.h"
#include "api/value.h"
#include "base/time.h"
#include "control/queue/planner.h"
#include "kube/cache.h"

namespace muster::control::queue {

inline const char* const visibility_group = "visibility.kueue.x-k8s.io";

/// Which part of the list is asked for.
struct Window {
    std::int64_t offset = 0;
    std::int64_t limit = 1000;
};

/// PendingWorkloadsSummary of a ClusterQueue or, within a namespace, of a LocalQueue; `key` is of
/// the visibility group. Positions count from 0. Null: there is no such queue.
api::Value pending_workloads(const QueuePlanner& planner, const kube::Cache& seen,
                             const api::Key& key, const std::string& version, Window window,
                             Time now);

}  // namespace muster::control::queue

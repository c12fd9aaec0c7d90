// control/queue/explain.h - the answer to `why` for anything that may wait in a queue, as data and
// as words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "base/time.h"
#include "control/queue/planner.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// The resources whose objects can be explained: Workloads and every kind of job.
std::vector<api::GroupResource> explainable();

/// Why the object waits, what would help, whether it starts by itself:
/// {verdict, text, lines[], constraints[], startsByItself, suggestion, position, waiting,
/// startsAt?}. `verdict` is one of unknown, unmanaged, runs, finished, starts_by_itself,
/// needs_someone, never. Null when there is no such object.
api::Value explain(const QueuePlanner& planner, const kube::Cache& seen, const api::Key& key,
                   Time now);

}  // namespace muster::control::queue

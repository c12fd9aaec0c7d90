// control/queue/start.h - what admission puts into a job's pod templates, and takes out again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/value.h"
#include "control/queue/integration.h"
#include "kube/cache.h"

namespace muster::control::queue {

struct Started {
    std::optional<api::Value> job;  // Absent when a flavor of the admission is not seen.
    std::string conflict = {};      // Why it can never start; empty: it can.
};

/// The job unsuspended, with what the flavors of its admission and its admission checks say in its
/// pod templates.
Started started(const kube::Cache& seen, const JobKind& kind, const kube::Object& job,
                const kube::Object& workload);

/// The job with the pod templates as its Workload has them: without what a start put in.
api::Value restored(const JobKind& kind, const api::Value& job, const api::Value& workload);

}  // namespace muster::control::queue

// control/queue/job_watches.h - which jobs are to be looked at again when something else changes.
#pragma once

#include <vector>

#include "api/kind.h"
#include "control/queue/integration.h"
#include "control/queue/settings.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// A pod that is gone or done may end an eviction of the job at the top of its owners; one behind
/// the gate of elastic jobs may be let in.
std::vector<api::Key> jobs_above(const JobKind& kind, const kube::Cache& seen,
                                 const kube::Object* before, const kube::Object* after);

/// A class that comes, goes or changes its value concerns the jobs that name it.
std::vector<api::Key> jobs_of_class(const JobKind& kind, const kube::Cache& seen,
                                    const kube::Object* before, const kube::Object* after);

/// What jobs run by concerns those that name it.
std::vector<api::Key> jobs_run_by(const JobKind& kind, const kube::Cache& seen,
                                  const kube::Object& object);

/// A namespace that begins or ceases to be one whose jobs are managed concerns its jobs.
std::vector<api::Key> jobs_in_namespace(const api::GroupResource& kind, const JobRules& rules,
                                        const kube::Cache& seen, const kube::Object* before,
                                        const kube::Object* after);

/// A Workload that nobody owns concerns the jobs that name it.
std::vector<api::Key> jobs_of_prebuilt(const JobKind& kind, const kube::Cache& seen,
                                       const kube::Object* workload);

}  // namespace muster::control::queue

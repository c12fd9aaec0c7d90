// control/queue/hooks.h - what happens to jobs on their way in: the default queue, suspension, what
// may not change.
#pragma once

#include <vector>

#include "api/admission.h"

namespace muster::control::queue {

/// A new job without queue and owner goes to the default queue of its namespace: the LocalQueue
/// named `default`, else the oldest with the annotation kueue.x-k8s.io/default-queue: "true".
api::Admission give_default_queue(const api::AdmissionRequest& request);

/// A new job that is queued starts suspended; one that queues cannot manage is refused.
api::Admission suspend_new_job(const api::AdmissionRequest& request);

/// The queue and the priority class of a job change only while it is suspended.
api::Admission keep_running_job(const api::AdmissionRequest& request);

/// All of them, in order.
std::vector<api::AdmissionHook> admission_hooks();

}  // namespace muster::control::queue

// control/queue/hooks.h - what happens to jobs on their way in: the default queue, suspension, what
// may not change.
#pragma once

#include <vector>

#include "api/admission.h"
#include "control/queue/settings.h"

namespace muster::control::queue {

/// A new job without queue that no other job made goes to the default queue of its namespace: the
/// LocalQueue named `default`, else the oldest with kueue.x-k8s.io/default-queue: "true".
api::Admission give_default_queue(const api::AdmissionRequest& request, const JobRules& rules = {});

/// A new job that is queued starts suspended.
api::Admission suspend_new_job(const api::AdmissionRequest& request);

/// What queues cannot manage is refused.
api::Admission check_new_job(const api::AdmissionRequest& request, const JobRules& rules = {});

/// So is a change that a job may not take, or not while it runs.
api::Admission check_changed_job(const api::AdmissionRequest& request, const JobRules& rules = {});

/// A new job that names no queue starts suspended when all jobs are to wait for one.
api::Admission suspend_unlabelled_job(const api::AdmissionRequest& request, const JobRules& rules);

/// ClusterQueues and flavors.
bool is_held_while_used(const api::GroupResource& resource);

/// A ClusterQueue or flavor stays while something uses it: it is marked before anything can.
api::Admission hold_new_queue(const api::AdmissionRequest& request);

/// What of a ClusterQueue is kept and not obeyed is told when it is written, with what is not done;
/// so are forms of a Workload that are on their way out.
api::Admission warn_of_what_is_not_obeyed(const api::AdmissionRequest& request);

/// Without controllers nothing is held: nobody would let it go.
enum class Controllers { run, none };

/// All of them, in order, those of jobs for the jobs that the rules speak of.
std::vector<api::AdmissionHook> admission_hooks(const JobRules& rules = {},
                                                Controllers controllers = Controllers::run);

}  // namespace muster::control::queue

// control/cluster/job.h - the Job controller (batch/v1), its finished Jobs' TTL, and what it
// refuses.
#pragma once

#include "api/admission.h"
#include "control/cluster/cluster.h"
#include "control/controller.h"

namespace muster::control::cluster {

/// Runs Jobs: NonIndexed and Indexed, with back-off, deadline, suspension, failure and success
/// policies.
///
/// Each pod holds a finalizer until its end is in the Job's status: first its uid is noted there,
/// then the finalizer goes, then the counters move; a crash between any two of these writes loses
/// and doubles nothing. Names of pods follow from the Job's uid, so a repeated create collides.
Controller job_controller(const ClusterOptions& options);

/// Takes the tracking finalizer from terminating pods whose Job is gone, and from pods that belong
/// to no Job any more.
Controller job_pod_release_controller();

/// Deletes finished Jobs when spec.ttlSecondsAfterFinished has passed.
Controller job_ttl_controller();

/// Denies Jobs whose meaning would change with a field that is not obeyed yet.
api::AdmissionHook job_admission();

/// True when the Job has condition Complete or Failed.
bool is_finished_job(const kube::Object& job);

}  // namespace muster::control::cluster

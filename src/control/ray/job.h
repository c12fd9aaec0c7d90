// control/ray/job.h - the RayJob controller.
#pragma once

#include "control/controller.h"

namespace muster::control::ray {

/// Takes a RayJob through its life: a cluster of its own (or a named one), the submission, the
/// job's states as the Ray dashboard tells them, retries, deadlines, suspension, clean-up.
///
/// Deployment status: "" -> Initializing -> (Waiting, when the user submits) -> Running -> Complete
/// | Failed; Retrying -> ""; Suspending -> Suspended -> ""; ValidationFailed heals when the spec is
/// corrected.
Controller job_controller();

}  // namespace muster::control::ray

// control/ray/job_submission.h - bringing a RayJob's entrypoint to its cluster in each of the
// submission modes, and seeing the submitter end.
#pragma once

#include <optional>

#include "control/ray/job_pass.h"

namespace muster::control::ray {

/// Submits by Job or by request; Running when that is done. The job's cluster is ready and its
/// dashboard address is known.
void submit(JobPass& pass, const kube::Object& cluster);

/// HTTPMode: posts the job again when the dashboard, being that of a new head, does not know it.
void submit_again_if_lost(JobPass& pass, const RayState& ray);

/// How far the submitter (Job or container of the head) has come.
struct SubmitterState {
    bool over = true;  // Also when there is none.
    bool failed = false;
    std::optional<Time> ended;  // When that is known.
};
SubmitterState submitter_state(const JobPass& pass);

}  // namespace muster::control::ray

// control/queue/train_job.h - Kubeflow's TrainJob: its pods are described by a runtime, another
// object, and by what the job says beyond it.
#pragma once

#include "control/queue/integration.h"

namespace muster::control::queue {

/// trainer.kubeflow.org/v1alpha1, of Trainer 2.2 and later: what a start puts into the pods goes
/// into a runtime patch of our own.
JobKind train_job_kind();

}  // namespace muster::control::queue

// control/queue/guest_job_kinds.h - the tables of the kinds of other projects: JobSet, and the
// training kinds of Kubeflow.
#pragma once

#include <vector>

#include "control/queue/integration.h"

namespace muster::control::queue {

/// JobSet (jobset.x-k8s.io/v1alpha2), PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob
/// (kubeflow.org/v1), MPIJob (kubeflow.org/v2beta1), TrainJob, SparkApplication and
/// LeaderWorkerSet. Their own operators make the pods.
std::vector<JobKind> guest_job_kinds();

}  // namespace muster::control::queue

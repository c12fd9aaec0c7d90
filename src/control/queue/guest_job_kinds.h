// control/queue/guest_job_kinds.h - the tables of the kinds of other projects: JobSet, and the
// training kinds of Kubeflow.
#pragma once

#include <string_view>
#include <vector>

#include "control/queue/integration.h"

namespace muster::control::queue {

/// The table of a kind of others (api/guest_kinds.h) with its names only, and the field that
/// suspends it; empty: none does. Requires: there is such a kind.
JobKind named_guest(std::string_view group, std::string_view name, std::string_view suspend);

/// JobSet (jobset.x-k8s.io/v1alpha2), PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob
/// (kubeflow.org/v1), MPIJob (kubeflow.org/v2beta1), TrainJob, SparkApplication and
/// LeaderWorkerSet. Their own operators make the pods.
std::vector<JobKind> guest_job_kinds();

}  // namespace muster::control::queue

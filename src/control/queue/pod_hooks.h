// control/queue/pod_hooks.h - what happens to pods, and to what makes pods to serve, on their way
// in.
#pragma once

#include "api/admission.h"
#include "control/queue/settings.h"

namespace muster::control::queue {

/// A Deployment or StatefulSet that is queued hands its queue and priority class to its pods, and
/// says that it is the reason why they wait.
api::Admission mark_pod_templates(const api::AdmissionRequest& request, const JobRules& rules = {});

/// A new pod that is queued, and that no queued job made, gets a gate, which keeps it from being
/// scheduled, and a finalizer, which keeps it in sight until its group is done with it. Pods of a
/// StatefulSet become a group.
api::Admission gate_new_pod(const api::AdmissionRequest& request, const JobRules& rules = {});

/// A pod that says itself that it is managed, though what made it is.
api::Admission warn_of_managed_label(const api::AdmissionRequest& request);

}  // namespace muster::control::queue

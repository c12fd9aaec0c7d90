// control/apps/apps.h - the controllers of the group apps: ReplicaSet, Deployment, StatefulSet.
#pragma once

#include <vector>

#include "api/admission.h"
#include "control/controller.h"

namespace muster::control::apps {

/// Keeps spec.replicas pods of its template; adopts matching pods that belong to nobody, and lets
/// go of those that match no more.
Controller replica_set_controller();

/// Keeps one ReplicaSet per template: RollingUpdate within maxSurge and maxUnavailable, Recreate,
/// pause, proportional scaling, roll back, history, progress deadline.
Controller deployment_controller();

/// Keeps pods with fixed names and an order: OrderedReady and Parallel, RollingUpdate with a
/// partition, OnDelete, revisions as ControllerRevisions.
Controller stateful_set_controller();

std::vector<Controller> apps_controllers();

/// Refuses a StatefulSet's volumeClaimTemplates: there are no persistent volumes here.
api::AdmissionHook apps_admission();

}  // namespace muster::control::apps

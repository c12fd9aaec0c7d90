// control/control_plane.h - all controllers and admission functions of Muster, in one list each.
#pragma once

#include <vector>

#include "api/admission.h"
#include "control/cluster/cluster.h"
#include "control/runner.h"
#include "decide/change.h"

namespace muster::control {

/// What the parts are made with.
struct ControlPlaneOptions {
    ClusterOptions cluster;
    decide::Options queues;
};

/// Adds every controller and planner: the cluster's own, queues, AppWrappers, Ray.
void add_controllers(Runner& runner, const ControlPlaneOptions& options);

/// The admission functions, in the order in which they run.
std::vector<api::AdmissionHook> admission_hooks();

}  // namespace muster::control

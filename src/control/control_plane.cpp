// control/control_plane.cpp - the list of everything that runs.
#include "control/control_plane.h"

#include <utility>

#include "control/appwrapper/controller.h"
#include "control/appwrapper/demand.h"
#include "control/ray/cluster.h"
#include "control/ray/job.h"

namespace muster::control {

void add_controllers(Runner& runner, const ControlPlaneOptions& options) {
    for (Controller& controller : cluster_controllers(options.cluster))
        runner.add(std::move(controller));
    for (auto& planner : cluster_planners(options.cluster))
        runner.add(std::move(planner));
    runner.add(appwrapper::controller(appwrapper::codeflare));
    runner.add(appwrapper::controller(appwrapper::mcad));
    runner.add(ray::cluster_controller());
    runner.add(ray::job_controller());
}

std::vector<api::AdmissionHook> admission_hooks() {
    return cluster_admission();
}

}  // namespace muster::control

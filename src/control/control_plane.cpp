// control/control_plane.cpp - the list of everything that runs.
#include "control/control_plane.h"

#include <memory>
#include <utility>

#include "control/appwrapper/controller.h"
#include "control/appwrapper/demand.h"
#include "control/appwrapper/hooks.h"
#include "control/queue/hooks.h"
#include "control/queue/jobs.h"
#include "control/queue/planner.h"
#include "control/ray/cluster.h"
#include "control/ray/job.h"

namespace muster::control {

void add_controllers(Runner& runner, const ControlPlaneOptions& options) {
    for (Controller& controller : cluster_controllers(options.cluster))
        runner.add(std::move(controller));
    for (auto& planner : cluster_planners(options.cluster))
        runner.add(std::move(planner));
    for (Controller& controller : queue::job_controllers())
        runner.add(std::move(controller));
    runner.add(std::make_unique<queue::QueuePlanner>(options.queues));
    runner.add(appwrapper::controller(appwrapper::codeflare));
    runner.add(appwrapper::controller(appwrapper::mcad));
    runner.add(ray::cluster_controller());
    runner.add(ray::job_controller());
}

std::vector<api::AdmissionHook> admission_hooks() {
    std::vector<api::AdmissionHook> hooks = cluster_admission();
    for (auto* more : {queue::admission_hooks, appwrapper::admission_hooks}) {
        for (api::AdmissionHook& hook : more())
            hooks.push_back(std::move(hook));
    }
    return hooks;
}

}  // namespace muster::control

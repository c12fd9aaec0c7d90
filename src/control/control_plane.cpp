// control/control_plane.cpp - the list of everything that runs.
#include "control/control_plane.h"

#include <memory>
#include <utility>

#include "api/json.h"
#include "control/apps/apps.h"
#include "control/appwrapper/controller.h"
#include "control/appwrapper/demand.h"
#include "control/appwrapper/hooks.h"
#include "control/queue/explain.h"
#include "control/queue/hooks.h"
#include "control/queue/jobs.h"
#include "control/queue/places.h"
#include "control/queue/planner.h"
#include "control/ray/cluster.h"
#include "control/ray/job.h"

namespace muster::control {

Questions add_controllers(Runner& runner, const ControlPlaneOptions& options) {
    for (Controller& controller : cluster_controllers(options.cluster))
        runner.add(std::move(controller));
    for (auto& planner : cluster_planners(options.cluster))
        runner.add(std::move(planner));
    for (Controller& controller : apps::apps_controllers())
        runner.add(std::move(controller));
    return add_operator_controllers(runner, options);
}

Questions add_operator_controllers(Runner& runner, const ControlPlaneOptions& options) {
    for (Controller& controller : queue::job_controllers(options.queues))
        runner.add(std::move(controller));
    runner.add(queue::places_controller());
    auto planner = std::make_unique<queue::QueuePlanner>(
        options.queues, queue::PlannerRim{options.may_decide, options.metrics, options.stopwatch,
                                          options.had_predecessor});
    const queue::QueuePlanner& queues = *planner;
    runner.add(std::move(planner));
    runner.add(appwrapper::controller(appwrapper::codeflare));
    runner.add(appwrapper::controller(appwrapper::mcad));
    runner.add(ray::cluster_controller());
    runner.add(ray::job_controller());
    return {runner, queues};
}

std::optional<std::string> Questions::why(const api::Key& key, Time now) const {
    const api::Value answer = queue::explain(queues_, runner_.seen(), key, now);
    if (answer.is_null()) return std::nullopt;
    return api::to_json(answer);
}

std::optional<std::string> Questions::pending_workloads(const api::Key& key,
                                                        const std::string& version,
                                                        queue::Window window, Time now) const {
    const api::Value answer =
        queue::pending_workloads(queues_, runner_.seen(), key, version, window, now);
    if (answer.is_null()) return std::nullopt;
    return api::to_json(answer);
}

std::vector<api::GroupResource> explainable() {
    return queue::explainable();
}

std::vector<api::AdmissionHook> admission_hooks(const queue::JobRules& jobs,
                                                queue::Controllers controllers) {
    std::vector<api::AdmissionHook> hooks = cluster_admission();
    hooks.push_back(apps::apps_admission());
    for (api::AdmissionHook& hook : queue::admission_hooks(jobs, controllers))
        hooks.push_back(std::move(hook));
    for (api::AdmissionHook& hook : appwrapper::admission_hooks())
        hooks.push_back(std::move(hook));
    return hooks;
}

}  // namespace muster::control

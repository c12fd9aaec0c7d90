// control/cluster/cluster.cpp - the list of the cluster's controllers.
#include "control/cluster/cluster.h"

#include "control/cluster/endpoint_slice.h"
#include "control/cluster/gc.h"
#include "control/cluster/job.h"
#include "control/cluster/namespace.h"
#include "control/cluster/node_lifecycle.h"
#include "control/cluster/scheduler.h"

namespace muster::control {

std::vector<Controller> cluster_controllers(const ClusterOptions& options) {
    return {cluster::job_controller(options),
            cluster::job_pod_release_controller(),
            cluster::job_ttl_controller(),
            cluster::namespace_controller(),
            cluster::namespace_contents_controller(options.certificate_authority_pem),
            cluster::endpoint_slice_controller(),
            cluster::taint_eviction_controller()};
}

std::vector<std::unique_ptr<Planner>> cluster_planners(const ClusterOptions& options) {
    std::vector<std::unique_ptr<Planner>> planners;
    planners.push_back(std::make_unique<cluster::Scheduler>());
    planners.push_back(std::make_unique<cluster::GarbageCollector>());
    planners.push_back(std::make_unique<cluster::NodeLifecycle>(options.node_grace));
    planners.push_back(std::make_unique<cluster::PodCollector>(options));
    return planners;
}

std::vector<api::AdmissionHook> cluster_admission() {
    return {cluster::job_admission()};
}

}  // namespace muster::control

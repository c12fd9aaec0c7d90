// control/cluster/cluster.h - what a Kubernetes cluster does around the objects: places pods, runs
// Jobs, clears up, keeps namespaces, service endpoints and nodes true.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/admission.h"
#include "base/time.h"
#include "control/controller.h"

namespace muster::control {

/// How the cluster's controllers behave; the defaults are those of kube-controller-manager.
struct ClusterOptions {
    std::string certificate_authority_pem;        // For the ConfigMap kube-root-ca.crt.
    Duration node_grace = seconds(40);            // A node whose lease is older is lost.
    Duration lost_node_quarantine = seconds(40);  // Before pods of a missing node are removed.
    std::int64_t finished_pods_max = 12'500;      // Of more the oldest are removed.
    Duration job_backoff = seconds(10);           // After a Job's first failed pod; doubles.
    Duration job_backoff_max = minutes(6);
};

/// Jobs and their TTL, namespaces, service accounts, endpoint slices, evictions from tainted nodes.
std::vector<Controller> cluster_controllers(const ClusterOptions& options);

/// The pod scheduler, the garbage collector, node lifecycle, the removal of stray pods.
std::vector<std::unique_ptr<Planner>> cluster_planners(const ClusterOptions& options);

/// Refuses what the Job controller would have to ignore, in words.
std::vector<api::AdmissionHook> cluster_admission();

}  // namespace muster::control

// sim/scenario_objects.h - what a scenario says exists, as the Kubernetes objects that say the
// same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"
#include "decide/change.h"
#include "sim/fake_node.h"

namespace muster::sim {

/// Kept on what the scenario says still has processes, until it says that they are gone.
inline constexpr std::string_view process_finalizer = "muster.test/processes";

/// A name that an object may have: "aw/one" is "aw-one".
std::string object_name(std::string_view scenario_name);

// One function for each thing; control/queue/fold.h reads them back.

api::Value to_object(const decide::Flavor& flavor);
api::Value to_object(const decide::ClusterQueue& queue);
api::Value to_object(const decide::LocalQueue& queue);
api::Value to_object(const decide::Cohort& cohort);
api::Value to_object(const decide::Topology& topology);
api::Value to_object(const decide::AdmissionCheck& check);
/// A Workload of nobody: the scenario says what becomes of its processes.
api::Value to_workload(const decide::Workload& workload);
/// An AppWrapper of one suspended Job a pod set: the scenario says which pods there are.
api::Value to_wrapper(const decide::Workload& workload);
/// `ns` and `name` are the pod's own. Whose it is, the caller adds.
api::Value to_pod(const decide::PodBound& pod, const std::string& ns, const std::string& name);
NodeSpec to_node(const decide::Node& node);

/// An empty list stands for both; a file has to name them.
std::vector<decide::Options::Strategy> said_strategies(
    const std::vector<decide::Options::Strategy>& strategies);
/// What an operator's file says of these options, document by document.
std::vector<api::Value> to_configuration(const decide::Options& options);

/// {"a": "b"}
api::Value to_labels(const decide::Labels& labels);

}  // namespace muster::sim

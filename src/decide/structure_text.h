// decide/structure_text.h - plain values of decide/ as text, field by field: for comparing states.
#pragma once

#include <string>

#include "decide/change.h"
#include "decide/decision.h"
#include "decide/place/pod.h"
#include "decide/place/topology.h"
#include "decide/workload.h"

namespace muster::decide {

// All fields in their order: equal texts, equal values. A field more or less does not compile.
std::string structure_text(const Options& value);
std::string structure_text(const Flavor& value);
std::string structure_text(const Quota& value);
std::string structure_text(const Cohort& value);
std::string structure_text(const ClusterQueue& value);
std::string structure_text(const LocalQueue& value);
std::string structure_text(const WaitReason& value);
std::string structure_text(const TopologyRequest& value);
std::string structure_text(const TopologyAssignment& value);
std::string structure_text(const PodShape& value);
std::string structure_text(const Node& value);
std::string structure_text(const Labels& value);

}  // namespace muster::decide

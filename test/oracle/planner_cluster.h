// test/oracle/planner_cluster.h - `decide` behind the fold and unfold of the queues, and a server
// that fits in a cache: the quickest thing that plays a scenario.
#pragma once

#include <memory>
#include <string>

#include "test/oracle/runner.h"

namespace muster::oracle {

/// `variant`: "base", "fair" or "tas", as the families name the configuration that they need.
std::unique_ptr<Cluster> make_planner_cluster(const std::string& variant);

}  // namespace muster::oracle

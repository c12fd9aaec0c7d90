// test/oracle/server_cluster.h - the API server and the whole control plane in one thread and
// virtual time: what `muster up` runs, without sockets and processes.
#pragma once

#include <memory>
#include <string>

#include "test/oracle/runner.h"

namespace muster::oracle {

/// `variant` as for make_planner_cluster.
std::unique_ptr<Cluster> make_server_cluster(const std::string& variant);

}  // namespace muster::oracle

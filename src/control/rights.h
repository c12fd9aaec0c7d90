// control/rights.h - what the controllers of a cluster's operator ask of its API server, for RBAC.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

namespace muster::control {

/// Verbs of RBAC by group and resource ("jobs", "jobs/status"), in every namespace.
using Rights = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

/// To see what the controllers watch, and to write what they write. What they watch is asked of
/// them; what they write is a table here.
Rights operator_rights();

}  // namespace muster::control

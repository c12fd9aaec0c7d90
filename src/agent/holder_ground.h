// agent/holder_ground.h - the namespaces that all pods of one Muster are in, and their bridge.
#pragma once

#include <string>

#include "agent/uid_ranges.h"

namespace muster::agent {

constexpr const char* pod_bridge = "muster0";

/// The namespaces that all pods are in, and the users that pods may have.
struct Ground {
    bool rootless = false;
    IdSupply supply{};
    std::string users_problem;  // Why pods have no users of their own.
};

/// Enters the namespaces, as root directly, else inside a user namespace. Throws Error.
Ground enter_namespaces();

/// Makes the network of the pods in there. Throws Error.
void make_network();

}  // namespace muster::agent

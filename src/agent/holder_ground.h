// agent/holder_ground.h - the namespaces that all pods of one Muster are in, and how pods are
// connected.
#pragma once

#include <string>

#include <sys/types.h>

#include "agent/uid_ranges.h"

namespace muster::agent {

/// Pods know this neighbor only, which passes on what they send: the kernel has one table of
/// neighbors for the whole machine, and a pod that asked for many would fill it.
constexpr const char* pod_gateway = "10.244.0.1";

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

/// Connects the network of process `pid`, where the link is named eth0. Throws Error.
void join_pod(const std::string& name, const std::string& ip, pid_t pid);

/// The pod's side of it, in there. Throws Error.
void make_network_of_pod(const std::string& ip);

}  // namespace muster::agent

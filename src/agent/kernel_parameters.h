// agent/kernel_parameters.h - which of the kernel's parameters (sysctls) a pod may set: those of
// its own network and of its own shared memory and message queues.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::agent {

/// The path below /proc/sys of a parameter that belongs to the pod's own namespaces. The name is
/// "net.ipv4.tcp_syncookies", or with "/" between its parts, which may then have dots. None for
/// every other name.
std::optional<std::string> path_of_own_parameter(std::string_view name);

}  // namespace muster::agent

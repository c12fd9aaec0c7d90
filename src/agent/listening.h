// agent/listening.h - whether a network has a listener at a port, read from the kernel's table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace muster::agent {

/// True when /proc/PID/net/tcp or tcp6 (`table`) shows a TCP socket that takes connections to
/// ip:port.
bool listens_on(std::string_view table, const std::string& ip, int port);

/// The same, asked of the kernel for the network of process `pid`: listeners only, so that the time
/// that it takes does not grow with connections, as that of the tables does (and with the size of
/// the machine's memory). Empty when the kernel gives no answer.
std::optional<bool> listens_in_network_of(pid_t pid, const std::string& ip, int port);

}  // namespace muster::agent

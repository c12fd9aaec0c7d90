// agent/listening.h - whether a network has a listener at a port, read from the kernel's table.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

/// True when /proc/PID/net/tcp or tcp6 (`table`) shows a TCP socket that takes connections to
/// ip:port.
bool listens_on(std::string_view table, const std::string& ip, int port);

}  // namespace muster::agent

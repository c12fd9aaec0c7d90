// net/dial.h - a socket to somewhere on the machine's own network.
#pragma once

#include <string>

namespace muster::net {

/// A socket that is connected or connecting without blocking; -1 with errno when it cannot. Looking
/// up a name that is no address blocks.
int dial_directly(const std::string& host, int port);

}  // namespace muster::net

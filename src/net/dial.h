// net/dial.h - names, addresses and sockets of the machine's own network.
#pragma once

#include <string>

namespace muster::net {

/// A socket that is connected or connecting without blocking; -1 with errno when it cannot. Looking
/// up a name that is no address blocks.
int dial_directly(const std::string& host, int port);

/// True for "10.0.0.1" and "::1", which need no looking up.
bool is_address(const std::string& host);

/// The address to dial for a name; empty when there is none. Blocks as long as the name servers let
/// it; any thread.
std::string find_address(const std::string& name);

}  // namespace muster::net

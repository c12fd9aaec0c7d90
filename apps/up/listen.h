// apps/up/listen.h - where to listen, as people write it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::up {

/// An address without brackets, and a port.
struct Listen {
    std::string address = "127.0.0.1";  // Empty: every address of this machine.
    int port = 0;
};

/// "ADDRESS:PORT", "[::1]:PORT", ":PORT" (every address) or "PORT" (127.0.0.1). Absent: none of
/// these.
std::optional<Listen> parse_listen(std::string_view text);

}  // namespace muster::up

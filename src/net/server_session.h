// net/server_session.h - makes the sessions of a server: HTTP/1.1 or HTTP/2, by what the connection
// says first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/time.h"
#include "net/exchange.h"
#include "net/session.h"

namespace muster::net {

/// What every session of a server goes by.
struct Rules {
    std::shared_ptr<const Home> home;
    std::shared_ptr<Mailbox> io;
    std::size_t body_limit = 0;
    std::size_t header_limit = 0;
    std::uint32_t streams_at_once = 0;
    std::function<bool(const Request&)> streamed_body;
    Duration request_timeout;
    Duration idle_timeout;
};

std::unique_ptr<ServerSession> make_http1_session(std::shared_ptr<const Rules> rules);
std::unique_ptr<ServerSession> make_http2_session(std::shared_ptr<const Rules> rules);

/// Chooses one of them by ALPN, or by the first bytes where there was none.
std::unique_ptr<ServerSession> make_server_session(std::shared_ptr<const Rules> rules);

/// "/path?query" into a request's path and query.
void set_target(Request& request, std::string_view target);

}  // namespace muster::net

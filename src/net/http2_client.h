// net/http2_client.h - many requests at once over one HTTPS connection, kept in order: HTTP/2 as a
// client speaks it.
#pragma once

#include <functional>
#include <memory>

#include "base/time.h"
#include "net/asio_loop.h"
#include "net/client.h"
#include "net/http.h"

namespace muster::net {

/// One connection to one server, made with the first request. Lives on one loop.
///
/// Requests go out in the order of `send`, and a server that works in order gets them in order.
class Http2Client {
public:
    using OnResponse = std::function<void(Response)>;

    Http2Client(AsioLoop& loop, Target target, ClientOptions options);
    ~Http2Client();
    Http2Client(const Http2Client&) = delete;
    Http2Client& operator=(const Http2Client&) = delete;

    /// One whole answer. Status 0: no answer; the body says why. A server that does not speak
    /// HTTP/2 is such a reason.
    void send(Request request, OnResponse on_response);

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace muster::net

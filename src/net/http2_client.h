// net/http2_client.h - many requests and streams at once over one HTTPS connection, kept in order:
// HTTP/2 as a client speaks it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/asio_loop.h"
#include "net/client.h"
#include "net/http.h"

namespace muster::net {

/// One connection to one server, made with the first request, and made anew when it breaks or the
/// server wants to be left. Lives on one loop.
///
/// Requests go out in the order of `send`, and a server that works in order gets them in order. A
/// connection over which nothing comes is asked by a PING whether it is still there.
class Http2Client {
public:
    using OnResponse = std::function<void(Response)>;
    struct Stream {
        std::function<void(Response head)> on_head;  // Status 0: failed; the body says why.
        std::function<void(std::string_view piece)> on_piece;
        std::function<void()> on_closed;  // Exactly once, also after status 0.
    };
    enum class StreamId : std::uint64_t {};

    Http2Client(AsioLoop& loop, Target target, ClientOptions options);
    ~Http2Client();
    Http2Client(const Http2Client&) = delete;
    Http2Client& operator=(const Http2Client&) = delete;

    /// One whole answer. Status 0: no answer; the body says why. A server that does not speak
    /// HTTP/2 is such a reason.
    void send(Request request, OnResponse on_response);

    /// A stream: head, pieces as they come, closed; never inside `open`.
    StreamId open(Request request, Stream stream);

    /// From now on the client proves itself with this, over a new connection; what is under way on
    /// the present one comes to its end there. Throws Error when the PEM texts are damaged.
    void use_certificate(const std::string& certificate_pem, const std::string& key_pem);

    /// Ends a stream; nothing of it is called any more.
    void cancel(StreamId stream);

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace muster::net

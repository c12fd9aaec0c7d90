// kube/transport.h - how a client reaches an API server: one interface, in-process or HTTPS.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "net/http.h"

namespace muster::kube {

/// Sends requests as values. Answers arrive later on the caller's Loop, never inside `send`.
class Transport {
public:
    /// One whole answer. Status 0: the server could not be reached; the body says why.
    using OnResponse = std::function<void(net::Response)>;

    /// A stream: head, then pieces of body as they come, then closed exactly once.
    struct Stream {
        std::function<void(net::Response head)> on_head;
        std::function<void(std::string_view piece)> on_piece;
        std::function<void()> on_closed;
    };
    enum class StreamId : std::uint64_t {};

    virtual ~Transport() = default;
    virtual void send(net::Request request, OnResponse on_response) = 0;
    virtual StreamId open(net::Request request, Stream stream) = 0;
    /// Ends a stream; its on_closed is not called any more.
    virtual void cancel(StreamId stream) = 0;
};

}  // namespace muster::kube

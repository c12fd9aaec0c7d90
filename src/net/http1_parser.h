// net/http1_parser.h - HTTP/1.1 messages out of bytes, for both ends; Boost.Beast is behind it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace muster::net {

/// Reads one message after the other. Bytes are consumed up to the end of the present message.
class Http1Parser {
public:
    enum class Reads { requests, responses };
    /// What is wrong; the numbers are the answers' statuses.
    enum class Problem { none = 0, malformed = 400, body_too_large = 413, header_too_large = 431 };
    struct Limits {
        std::size_t header = 0;
        std::size_t body = 0;  // 0: none.
    };

    Http1Parser(Reads reads, Limits limits);
    ~Http1Parser();
    Http1Parser(const Http1Parser&) = delete;
    Http1Parser& operator=(const Http1Parser&) = delete;

    /// Takes bytes; how many were of this message. Stops at the end of the header once, so that it
    /// can be looked at before the body, and at the end of the message.
    std::size_t feed(std::string_view bytes);

    /// The other end has closed: the end of a response without length.
    void end_of_stream();

    Problem problem() const;
    bool started() const;  // Some bytes of it came.
    bool header_done() const;
    bool done() const;

    // Once the header is done:
    bool keeps_alive() const;
    bool is_http10() const;
    int status() const;          // Of a response.
    std::string method() const;  // Of a request.
    std::string target() const;
    Headers headers() const;
    bool upgraded() const;  // What follows the header is not HTTP.

    /// The body so far; taking it leaves none.
    std::size_t body_size() const;
    std::string take_body();

    /// Makes ready for the next message. `without_body`: the answer to a HEAD request.
    enum class Body { expected, none };
    void next(Body body = Body::expected);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace muster::net

// net/session.h - what speaks on a connection: a protocol that takes and gives bytes and knows no
// sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/http.h"

namespace muster::net {

/// How a session reaches the connection under it. Lives as long as the session.
class Outlet {
public:
    virtual ~Outlet() = default;
    /// There is something to pull, or `finished` or `wants_bytes` may have changed.
    virtual void flush_soon() = 0;
    /// Closes the connection unless this is called again before `span` has passed; replaces the
    /// deadline set before. Zero: no deadline.
    virtual void set_deadline(Duration span) = 0;
    virtual const Peer& peer() const = 0;
    /// The protocol that TLS agreed on; empty when none.
    virtual const std::string& protocol() const = 0;
};

/// One connection's protocol, on one thread. `feed`, `pull` and the like may call the outlet.
class Session {
public:
    virtual ~Session() = default;
    /// The connection is there, TLS included. Called once, first.
    virtual void opened(Outlet& outlet) = 0;
    /// Bytes came.
    virtual void feed(std::string_view bytes) = 0;
    /// False: leave the rest in the socket for now; asked again in a while.
    virtual bool wants_bytes() const = 0;
    /// Appends what is to be sent, stopping when `out` holds `enough` bytes or somewhat more.
    virtual void pull(std::string& out, std::size_t enough) = 0;
    /// A part of what was pulled had to wait for room in the socket. False: it is not to be sent
    /// any more, and the connection with it ends.
    virtual bool may_send_rest() { return true; }
    /// While its bytes are left in the socket: nothing more is done when the other end has closed.
    virtual bool ends_with_other_end() const { return false; }
    /// True: close the connection once all that was pulled is sent.
    virtual bool finished() const = 0;
    /// The connection is gone (or could not be made). Called once, last.
    virtual void closed(const std::string& why) = 0;
    /// About a second has passed.
    virtual void tick() {}
};

/// A server's session: answers come to it by number of stream. HTTP/1.1 numbers its requests.
/// Numbers of streams that are gone are ignored.
class ServerSession : public Session {
public:
    using Stream = std::int64_t;
    virtual void respond(Stream stream, Response response) = 0;
    virtual void begin(Stream stream, Response head) = 0;
    virtual void write(Stream stream, Bytes piece) = 0;
    virtual void write_rope(Stream stream, RopePtr rope) = 0;
    virtual void finish(Stream stream) = 0;
    /// The handler gave the request up: an error when nothing was sent yet, else a broken stream.
    virtual void abandon(Stream stream) = 0;
    /// Breaks a stream and drops what the client has not taken of it.
    virtual void cut(Stream stream) = 0;
    /// What the gate says of a request whose body is still to be read.
    virtual void decided(Stream stream, Verdict verdict) = 0;
    /// So much of a streamed body has been passed on.
    virtual void body_taken(Stream stream, std::size_t bytes) = 0;
    /// From here on the stream carries WebSocket messages.
    virtual void upgrade(Stream stream, std::string subprotocol) = 0;
    /// From here on the stream carries raw bytes.
    virtual void upgrade_raw(Stream stream, Response head) = 0;
    virtual void read_no_faster_than(Stream stream, Backlog onward) = 0;
    virtual void send_message(Stream stream, std::string message) = 0;
    virtual void close_channel(Stream stream) = 0;
    /// No request is under way, and none has begun to come.
    virtual bool is_idle() const = 0;
    /// No new requests; finish when those under way are answered.
    virtual void go_away() = 0;
};

}  // namespace muster::net

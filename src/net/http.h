// net/http.h - HTTP as values: what a request says, what an answer says, and the way an answer goes
// back.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "net/body_stream.h"
#include "net/ledger.h"
#include "net/rope.h"

namespace muster::net {

/// Header fields, in order. Names compare without case.
struct Headers {
    std::vector<std::pair<std::string, std::string>> fields;
    std::string_view get(std::string_view name) const;  // "" when absent; the first of several.
    bool has(std::string_view name) const;
    void set(std::string_view name, std::string value);
    void add(std::string_view name, std::string value);
};

/// Who is at the other end, as far as TLS tells.
struct Peer {
    std::string address;           // "127.0.0.1:51234"; "in-process" inside the program.
    std::string certificate_name;  // Common name of a verified client certificate, else empty.
    std::vector<std::string> certificate_groups;  // Its organizations.
    std::string certificate_problem;  // Why the certificate that was shown is not believed: 401.
    bool trusted = false;  // In-process caller: acts as `certificate_name` without proof.
    std::shared_ptr<Standing> standing;  // Of the connection; null in-process.
};

/// A complete request. `path` is decoded-safe raw path ("/api/v1/pods"); query pairs are
/// percent-decoded.
struct Request {
    std::string method;
    std::string path;
    std::vector<std::pair<std::string, std::string>> query;
    std::string
        query_text;  // As it came, without "?"; goes out in place of `query` when not empty.
    Headers headers;
    Bytes body;                               // Never null; empty when there is none.
    std::shared_ptr<BodyStream> body_stream;  // Not null: the body is still coming, here.
    Peer peer;
    /// What is held for it, its body not counted; null in-process.
    std::shared_ptr<Charge> charge;
    /// What the server's gate learned from its head; null when it was not asked.
    std::shared_ptr<const void> admitted;

    std::string_view query_value(std::string_view name) const;  // "" when absent.
    bool has_query(std::string_view name) const;
};

/// A whole answer, or the head of a streamed one.
struct Response {
    int status = 200;
    Headers headers;
    Bytes body;      // Null for the head of a stream.
    RopePtr rope{};  // The body in place of `body` when not null.
    /// Who it is held for while the client does not take it; may be null.
    std::shared_ptr<Account> account{};
    /// Of a stream: others have its pieces, too, and they are counted elsewhere.
    bool shares_pieces = false;
    /// Gzip: the body goes out compressed; that is done on the connection's thread.
    enum class Packing { none, gzip };
    Packing packing = Packing::none;
};

/// How many bytes somebody still holds. Any thread may look.
using Backlog = std::shared_ptr<const std::atomic<std::size_t>>;

/// A two-way byte stream after an upgrade (WebSocket messages, or raw bytes).
class Channel {
public:
    /// A message: for WebSockets one binary message, else a piece of the stream. `end`: the peer
    /// has closed.
    using OnMessage = std::function<void(std::string_view message)>;
    using OnClosed = std::function<void()>;
    virtual ~Channel() = default;
    virtual void on_message(OnMessage handler) = 0;
    virtual void on_closed(OnClosed handler) = 0;
    virtual void send(std::string message) = 0;
    virtual void close() = 0;
    virtual std::size_t buffered() const = 0;  // Bytes sent and not yet taken by the peer's socket.
    virtual Backlog backlog() const = 0;       // The same, for other threads.
    /// Pauses reading of raw bytes while this is high: what comes here goes on there.
    virtual void read_no_faster_than(Backlog onward) = 0;
};

/// The way back for one request. Exactly one of respond, begin or upgrade is called. All calls and
/// callbacks are on the thread that got the request; an implementation hands over to its own thread
/// where it must.
class Responder {
public:
    virtual ~Responder() = default;

    /// The whole answer.
    virtual void respond(Response response) = 0;

    /// The head of a stream, then pieces, then the end. The bytes are shared, not copied.
    virtual void begin(Response head) = 0;
    virtual void write(Bytes piece) = 0;
    /// The same, of a text that others share; `buffered` does not count it.
    virtual void write_rope(RopePtr rope);
    virtual void finish() = 0;
    /// Ends a stream at once: what the client has not taken is dropped, and it sees that the end is
    /// missing.
    virtual void cut() { finish(); }
    virtual std::size_t buffered() const = 0;  // Bytes written and not yet taken by the client.
    virtual Backlog backlog() const = 0;       // The same, for other threads.

    /// Runs once when the client is gone before the answer is complete. Set at most once.
    virtual void on_closed(std::function<void()> handler) = 0;

    /// Accepts a WebSocket with this subprotocol. Null when the request did not ask for one.
    virtual std::shared_ptr<Channel> upgrade_websocket(std::string subprotocol) = 0;

    /// Accepts an upgrade to whatever protocol with this head (status 101); the channel carries raw
    /// bytes. Null when the request did not ask for one.
    virtual std::shared_ptr<Channel> upgrade_raw(Response head) = 0;
};

/// Where requests go: the API server, a test's own function.
using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

/// What is decided about a request by its head, before its body is read.
struct Verdict {
    std::optional<Response> refusal;       // It is answered so, and its body is not read.
    std::shared_ptr<Account> account{};    // Who the body is held for; null: the connection's.
    std::shared_ptr<const void> admitted;  // Goes into the request.
};

/// Asked, on the handler's loop, about requests whose bodies have not come with their heads.
using Gate = std::function<void(Request head, std::function<void(Verdict)> decided)>;

/// True when the request wants to leave HTTP behind.
bool asks_for_upgrade(const Request& request);

/// True when the comma-separated list has this item.
bool has_token(std::string_view list, std::string_view token);

/// A value that cannot end its line early: control characters become blanks.
std::string header_text(std::string_view value);

/// "/api/v1/pods?limit=5": path and query as they go out.
std::string target_text(const Request& request);

/// Percent-decoding and query splitting, for every transport.
std::string percent_decode(std::string_view text);
std::string percent_encode(std::string_view text);
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

}  // namespace muster::net

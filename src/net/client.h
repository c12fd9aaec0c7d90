// net/client.h - the client's end: requests to any HTTP or HTTPS server, whole answers, streams and
// WebSockets, over connections that are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/time.h"
#include "net/asio_loop.h"
#include "net/http.h"

namespace muster::net {

/// Where a request goes.
struct Target {
    enum class Scheme { http, https };
    Scheme scheme = Scheme::http;
    std::string host;
    int port = 80;
    friend auto operator<=>(const Target&, const Target&) = default;
};

/// "https://10.0.0.1:6443/base" split; absent when it is not such a URL. `path` gets the rest.
struct Url {
    Target target;
    std::string path;   // "/" at least, still percent-encoded.
    std::string query;  // Without "?".
};
std::optional<Url> parse_url(std::string_view text);

/// How a client proves who it is and whom it believes.
struct ClientTls {
    enum class Verify { yes, no };
    std::string authority_pem;    // Empty: the machine's own authorities.
    std::string certificate_pem;  // Empty: no client certificate.
    std::string key_pem;
    std::string server_name;  // Checked instead of the host when not empty.
    Verify verify = Verify::yes;
};

/// Why a request that may not go any more fails.
constexpr const char* too_late = "not sent: its time was over before it could be";

struct ClientOptions {
    ClientTls tls;
    /// Gives a socket that is connected, or connecting without blocking; -1 with errno when it
    /// cannot. Empty: the machine's own network (name lookup blocks the loop for names that are not
    /// addresses).
    std::function<int(const std::string& host, int port)> dial;
    Duration connect_timeout = seconds(10);
    /// Whole answers only; streams live on. HTTP/2: so long after anything of it came or went.
    Duration response_timeout = seconds(60);
    Duration idle_timeout = seconds(60);  // How long an unused connection is kept.
    /// HTTP/2: so long after the last byte a connection in use is asked whether it is there, and is
    /// given up when nothing comes within the patience.
    Duration ping_after = seconds(30);
    Duration ping_patience = seconds(15);
    /// HTTP/2: while much comes in little pieces, this long it is left in the socket, to be taken
    /// together. Zero: each is taken at once.
    Duration gather;
    /// Asked, on the sockets' loop, at the moment at which a request goes out: after it has waited
    /// for a connection, for one of the streams that a server grants, or for room in the socket,
    /// and when it goes out a second time. No: it fails (`too_late`). Empty: always yes.
    std::function<bool(const Request&)> may_go;
    /// Of a whole answer, in bytes. There is no usual one: who asks knows what it can be, and who
    /// answers may be anybody. Zero: this client asks for streams only.
    std::size_t response_limit = 0;
    /// What becomes of a larger one. `cut` (HTTP/1.1 only): its beginning is the answer, and the
    /// connection ends.
    enum class Beyond { fails, cut };
    Beyond beyond_limit = Beyond::fails;
    /// A kept connection may turn out dead: what cannot be repeated then fails.
    enum class Reuse { always, repeatable_only };
    Reuse reuse = Reuse::always;
};

/// Sends requests. Its sockets live on `io`; its methods are called, and all callbacks run, on
/// `home` (which may be `io`). Nothing is called back after the destructor.
class Client {
public:
    using OnResponse = std::function<void(Response)>;
    struct Stream {
        std::function<void(Response head)> on_head;  // Status 0: failed; the body says why.
        std::function<void(std::string_view piece)> on_piece;
        /// Before `on_closed` when the answer's end did not come.
        std::function<void(const std::string& why)> on_broken;
        std::function<void()> on_closed;  // Exactly once, also after status 0.
        Backlog onward;                   // Reading pauses while this is high; null: it never does.
    };
    enum class StreamId : std::uint64_t {};

    Client(AsioLoop& io, Loop& home, ClientOptions options);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// One whole answer. Status 0: the server could not be reached; the body says why.
    StreamId send(Target target, Request request, OnResponse on_response);

    /// A stream: head, pieces as they come, closed. A body that still comes goes out as it does.
    StreamId open(Target target, Request request, Stream stream);

    /// From now on new connections prove themselves with this, and kept ones are not used again.
    /// Throws Error when the PEM texts are damaged.
    void use_certificate(const std::string& certificate_pem, const std::string& key_pem);

    /// Ends a stream, or the wait for an answer; nothing of it is called any more.
    void cancel(StreamId stream);
    /// The same, to be called at home, maybe after the client's end.
    std::function<void()> canceller(StreamId stream);

    /// A WebSocket. On success the channel; else null and the server's answer (status 0:
    /// unreachable). `subprotocols` is the comma-separated list to offer; the chosen one is in the
    /// answer's Sec-WebSocket-Protocol.
    using OnChannel = std::function<void(std::shared_ptr<Channel> channel, Response answer)>;
    void open_websocket(Target target, Request request, std::string subprotocols,
                        OnChannel on_channel);

    /// An upgrade to whatever protocol the request's own headers ask for. On 101 a channel of raw
    /// bytes and the answer's head; else null and the whole answer (status 0: unreachable).
    void open_upgrade(Target target, Request request, OnChannel on_channel);

private:
    struct State;
    std::shared_ptr<State> state_;  // Also held by tasks on the way to `io`.
};

}  // namespace muster::net

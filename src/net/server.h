// net/server.h - the server's end: listens, speaks TLS, HTTP/1.1, HTTP/2 and WebSocket, and gives
// requests to a handler on its own loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/time.h"
#include "net/http.h"

namespace muster::net {

/// What a server puts up with of TLS, beyond what it always refuses.
struct TlsLimits {
    bool only_1_3 = false;
    /// By their standard names ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"); empty: OpenSSL's choice.
    /// TLS 1.3 has its own always, so that naming those of 1.3 alone leaves no other version.
    std::vector<std::string> cipher_suites{};
    std::vector<std::string> curves{};  // "X25519", "P256", ...; empty: OpenSSL's choice.
};

/// Throws Error that names the suite or curve that OpenSSL does not have.
void check_limits(const TlsLimits& limits);

/// Who the server is, and whose client certificates it believes.
struct ServerTls {
    std::string certificate_pem;
    std::string key_pem;
    std::string client_authority_pem{};  // Empty: client certificates are not asked for.
    TlsLimits limits{};
};

/// How a server listens and what it puts up with.
struct ServerOptions {
    std::string address = "127.0.0.1";
    int port = 0;                      // 0: any free one; ask `port()`.
    int listening_fd = -1;             // Adopted instead of address and port when not negative.
    std::optional<ServerTls> tls;      // Absent: plain HTTP (h2 with prior knowledge).
    int threads = 1;                   // For TLS and framing; each owns its connections.
    std::size_t body_limit = 3 << 20;  // Larger bodies are answered 413.
    std::size_t header_limit = 64 << 10;
    std::size_t connection_limit = 10'000;
    /// Of these, such that have not said who they are. When they are more, those that have been
    /// there longest without a request are closed.
    std::size_t anonymous_limit = 4'000;
    /// What is held for whom; null: an account book of its own, with the usual limits.
    std::shared_ptr<Ledger> ledger;
    /// Decides by the heads of requests whether their bodies are read. Empty: they are.
    Gate gate;
    /// Requests of one HTTP/2 connection under way at once. Go's clients put everything of a
    /// process on one, hundreds of watches included.
    std::uint32_t streams_at_once = 1000;
    /// Requests whose bodies are handed over as they come, of any size (see Request::body_stream).
    /// Looked at by all threads, after the header. Empty: none.
    std::function<bool(const Request& head)> streamed_body;
    Duration request_timeout = seconds(60);  // From a request's first byte to its last.
    Duration idle_timeout = minutes(5);      // A connection without requests.
};

/// A listening socket; an empty address is every one of this machine, of both families. Throws
/// Error with a sentence for the user when the address cannot be had; `flag` is how to choose
/// another one.
int open_listener(const std::string& address, int port, const std::string& flag = "--listen");

/// A running server. Requests arrive at `handler` on `home`; the way back hands over to the
/// server's threads. Answers a request over its limits itself, with a Status object.
class Server {
public:
    /// Listens. Throws Error with a sentence for the user when the address cannot be had.
    Server(ServerOptions options, Loop& home, Handler handler);
    ~Server();  // Stops.
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// The port it listens on.
    int port() const;

    /// Also accepts connections from this listening socket (for example one made inside a network
    /// namespace). Takes the descriptor over.
    void add_listener(int fd);

    /// Connections from now on are answered with this certificate; those that are there keep
    /// theirs. Throws Error when the PEM texts are damaged; then nothing changes. Requires: TLS
    /// from the start.
    void renew(const ServerTls& tls);

    /// Closes the listeners, tells HTTP/2 clients to go away, waits up to `grace` for answers under
    /// way, then closes everything and ends the threads. Blocks: call it from a thread that runs
    /// neither `home` nor a loop the handler needs. Requests that were posted to `home` before may
    /// still reach the handler; their answers go nowhere.
    void stop(Duration grace = seconds(1));

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace muster::net

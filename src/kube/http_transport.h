// kube/http_transport.h - the Transport to a real API server over HTTPS.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/credentials.h"
#include "kube/transport.h"
#include "net/client.h"
#include "net/http2_client.h"

namespace muster::kube {

/// Whom requests are made for, if not for who sends them.
struct Impersonation {
    std::string user;  // Empty: for nobody else.
    std::string uid{};
    std::vector<std::string> groups{};
    std::vector<std::pair<std::string, std::string>> extra{};  // A name may come more than once.
};

/// How to reach and convince one API server: what a kubeconfig's context says.
struct Connection {
    std::string server = "https://127.0.0.1:6443";  // May have a path in front of /api.
    net::ClientTls tls;
    std::string token;  // Sent as bearer token when not empty.
    /// Gives the token instead when there is one; shared by all that use the connection's copies.
    std::shared_ptr<Credentials> credentials;
    Impersonation impersonate;
    std::string default_namespace = "default";
};

/// Sends each request to the connection's server with its credentials. Lives on `home`.
///
/// What is refused for its token or certificate is sent once more when there is a newer one, and
/// waits for one that is being made. A new certificate is used over new connections. A GET that the
/// server has no time for (429) is sent again when it said; a write is not, for what it says may be
/// old by then.
class HttpTransport final : public Transport {
public:
    /// Throws Error when the server's address or the credentials cannot be used.
    HttpTransport(net::AsioLoop& io, Loop& home, Connection connection,
                  net::ClientOptions options = {});
    /// In order: what `send` gets goes out over one HTTP/2 connection in that order, many requests
    /// at once; streams and WebSockets have connections of their own. Together: streams go over
    /// that connection too. `loop` is `home`; without https it is as the other one.
    enum class Sends { in_order, together };
    HttpTransport(net::AsioLoop& loop, Loop& home, Connection connection,
                  net::ClientOptions options, Sends sends);

    void send(net::Request request, OnResponse on_response) override;
    StreamId open(net::Request request, Stream stream) override;
    void cancel(StreamId stream) override;
    /// A WebSocket, for exec and port-forward.
    void open_websocket(net::Request request, std::string subprotocols,
                        net::Client::OnChannel on_channel);

private:
    struct Sending;
    void send_out(const std::shared_ptr<Sending>& sending);
    void take_answer(const std::shared_ptr<Sending>& sending, net::Response response);
    net::Request addressed(net::Request request);
    void follow_certificate();

    Loop& home_;
    Connection connection_;
    net::Url url_;
    std::unique_ptr<net::Client> client_;
    std::unique_ptr<net::Http2Client> ordered_;  // Null: `client_` sends.
    bool together_ = false;                      // `ordered_` has the streams too.
    std::string told_;                           // The problem of the credentials, once logged.
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Guards timers that outlive it.
};

}  // namespace muster::kube

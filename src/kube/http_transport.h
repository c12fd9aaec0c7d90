// kube/http_transport.h - the Transport to a real API server over HTTPS.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kube/transport.h"
#include "net/client.h"
#include "net/http2_client.h"

namespace muster::kube {

/// How to reach and convince one API server: what a kubeconfig's context says.
struct Connection {
    std::string server = "https://127.0.0.1:6443";  // May have a path in front of /api.
    net::ClientTls tls;
    std::string token;        // Sent as bearer token when not empty.
    std::string impersonate;  // Sent as Impersonate-User when not empty.
    std::string default_namespace = "default";
};

/// Sends each request to the connection's server with its credentials. Lives on `home`.
class HttpTransport final : public Transport {
public:
    /// Throws Error when the server's address or the credentials cannot be used.
    HttpTransport(net::AsioLoop& io, Loop& home, Connection connection,
                  net::ClientOptions options = {});
    /// In order: what `send` gets goes out over one HTTP/2 connection in that order, many requests
    /// at once; streams and WebSockets have connections of their own. `loop` is `home`; without
    /// https it is as the other one.
    enum class Sends { in_order };
    HttpTransport(net::AsioLoop& loop, Loop& home, Connection connection,
                  net::ClientOptions options, Sends sends);

    void send(net::Request request, OnResponse on_response) override;
    StreamId open(net::Request request, Stream stream) override;
    void cancel(StreamId stream) override;
    /// A WebSocket, for exec and port-forward.
    void open_websocket(net::Request request, std::string subprotocols,
                        net::Client::OnChannel on_channel);

private:
    net::Request addressed(net::Request request) const;

    Connection connection_;
    net::Url url_;
    std::unique_ptr<net::Client> client_;
    std::unique_ptr<net::Http2Client> ordered_;  // Null: `client_` sends.
};

}  // namespace muster::kube

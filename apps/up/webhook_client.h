// apps/up/webhook_client.h - the sockets behind calls to webhooks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "apiserver/webhook_call.h"
#include "net/asio_loop.h"
#include "net/client.h"

namespace muster::up {

/// Calls webhooks from a thread of its own, so that nothing of theirs (a name that is slow to look
/// up) holds up the server. Lives on the server's loop, `home`.
class WebhookClient : public apiserver::WebhookCaller {
public:
    /// `dial_pods` makes sockets in the pods' network.
    WebhookClient(Loop& home, std::function<int(const std::string& host, int port)> dial_pods);

    void call(apiserver::WebhookCall call, std::function<void(net::Response)> done) override;

private:
    /// Whom a connection believes, and where it starts.
    using Trust = std::tuple<apiserver::WebhookCall::Way, std::string, std::string>;
    struct Client {
        std::unique_ptr<net::Client> client;
        int calls = 0;  // Under way.
    };
    Client& client_for(const apiserver::WebhookCall& call, const Trust& trust);
    void forget_idle();

    Loop& home_;
    std::function<int(const std::string&, int)> dial_pods_;
    net::AsioLoop loop_;
    std::map<Trust, Client> clients_;
};

}  // namespace muster::up

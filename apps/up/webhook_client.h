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
#include "net/resolver.h"

namespace muster::up {

/// Calls webhooks from threads of their own, so that nothing of theirs (a long handshake, a name
/// that is slow to look up) holds up the server or each other. Lives on the server's loop, `home`.
class WebhookClient : public apiserver::WebhookCaller {
public:
    /// How it gets out of the process.
    struct Ways {
        std::function<int(const std::string& host, int port)> dial_pods;  // In the pods' network.
        net::Resolver::LookUp look_up;  // Of names in the machine's own network.
    };
    WebhookClient(Loop& home, Ways ways);

    Drop call(apiserver::WebhookCall call, std::function<void(net::Response)> done) override;

private:
    /// Whom a connection believes, and where it starts.
    using Trust = std::tuple<apiserver::WebhookCall::Way, std::string, std::string>;
    struct Client {
        std::unique_ptr<net::Client> client;
        int calls = 0;  // Under way.
    };
    /// To an address.
    Drop send(apiserver::WebhookCall call, std::function<void(net::Response)> done);
    Client& client_for(const apiserver::WebhookCall& call, const Trust& trust);
    void forget_idle();

    Loop& home_;
    Ways ways_;
    net::Resolver resolver_;
    net::AsioLoop loop_;
    std::map<Trust, Client> clients_;
};

}  // namespace muster::up

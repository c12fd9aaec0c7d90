// apps/up/webhook_client.cpp - one client for each authority, and their answers.
#include "apps/up/webhook_client.h"

#include <utility>

namespace muster::up {
namespace {

constexpr std::size_t clients_max = 64;
constexpr Duration longest_call = seconds(31);  // The server itself gives up before.

}  // namespace

WebhookClient::WebhookClient(Loop& home,
                             std::function<int(const std::string& host, int port)> dial_pods)
    : home_(home), dial_pods_(std::move(dial_pods)) {
    loop_.start("webhooks");
}

void WebhookClient::call(apiserver::WebhookCall call, std::function<void(net::Response)> done) {
    const Trust trust{call.way, call.authority_pem, call.server_name};
    Client& client = client_for(call, trust);
    ++client.calls;
    client.client->send(std::move(call.target), std::move(call.request),
                        [this, trust, done = std::move(done)](const net::Response& response) {
                            --clients_.at(trust).calls;
                            done(response);
                        });
}

WebhookClient::Client& WebhookClient::client_for(const apiserver::WebhookCall& call,
                                                 const Trust& trust) {
    if (const auto found = clients_.find(trust); found != clients_.end()) return found->second;
    if (clients_.size() >= clients_max) forget_idle();
    net::ClientOptions options;
    options.tls.authority_pem = call.authority_pem;
    options.tls.server_name = call.server_name;
    options.connect_timeout = longest_call;
    options.response_timeout = longest_call;
    options.response_limit = apiserver::webhook_answer_limit;
    // A connection that was kept may be closed by now, and a question would be lost with it.
    options.reuse = net::ClientOptions::Reuse::repeatable_only;
    options.idle_timeout = seconds(1);  // Of one whose other side does not close it.
    if (call.way == apiserver::WebhookCall::Way::pods) options.dial = dial_pods_;
    Client& made = clients_[trust];
    made.client = std::make_unique<net::Client>(loop_, home_, std::move(options));
    return made;
}

void WebhookClient::forget_idle() {
    std::erase_if(clients_, [](const auto& each) { return each.second.calls == 0; });
}

}  // namespace muster::up

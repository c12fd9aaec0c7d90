// apps/up/webhook_client.cpp - one client for each authority, and their answers.
#include "apps/up/webhook_client.h"

#include <utility>

#include "net/dial.h"

namespace muster::up {
namespace {

constexpr std::size_t clients_max = 64;
constexpr Duration longest_call = seconds(31);  // The server itself gives up before.

net::Response no_such_host() {
    net::Response response;
    response.status = 0;
    response.body = make_bytes("no such host");
    return response;
}

}  // namespace

WebhookClient::WebhookClient(Loop& home, Ways ways)
    : home_(home), ways_(std::move(ways)), resolver_(home, ways_.look_up) {
    loop_.start("webhooks");
}

WebhookClient::Drop WebhookClient::call(apiserver::WebhookCall call,
                                        std::function<void(net::Response)> done) {
    const std::string host = call.target.host;
    if (call.way == apiserver::WebhookCall::Way::pods || net::is_address(host))
        return send(std::move(call), std::move(done));
    if (call.server_name.empty()) call.server_name = host;
    const auto drop = std::make_shared<Drop>();  // What it takes now, on the way to the answer.
    const auto ask =
        resolver_.ask(host, [this, drop, call = std::move(call),
                             done = std::move(done)](const std::string& address) mutable {
            if (address.empty()) return done(no_such_host());
            call.target.host = address;
            *drop = send(std::move(call), std::move(done));
        });
    *drop = [this, ask] { resolver_.forget(ask); };
    return [drop] { (*drop)(); };
}

WebhookClient::Drop WebhookClient::send(apiserver::WebhookCall call,
                                        std::function<void(net::Response)> done) {
    const Trust trust{call.way, call.authority_pem, call.server_name};
    Client& client = client_for(call, trust);
    ++client.calls;
    const auto sent =
        client.client->send(std::move(call.target), std::move(call.request),
                            [this, trust, done = std::move(done)](const net::Response& response) {
                                --clients_.at(trust).calls;
                                done(response);
                            });
    return [this, trust, sent] {
        Client& its = clients_.at(trust);
        its.client->cancel(sent);
        --its.calls;
    };
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
    if (call.way == apiserver::WebhookCall::Way::pods) options.dial = ways_.dial_pods;
    Client& made = clients_[trust];
    made.client = std::make_unique<net::Client>(loop_, home_, std::move(options));
    return made;
}

void WebhookClient::forget_idle() {
    std::erase_if(clients_, [](const auto& each) { return each.second.calls == 0; });
}

}  // namespace muster::up

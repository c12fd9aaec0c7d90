// apps/up/webhook_client_test.cpp - webhooks behind names, and calls that are given up.
#include "apps/up/webhook_client.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "net/loopback_test.h"

namespace muster::up {
namespace {

/// A webhook at 127.0.0.1 that answers "heard" on all paths but "/never", and the client that calls
/// it. The name server of slow.example is silent until it is told to answer.
struct Calls {
    Calls() : authority(net::make_authority("hooks", net::test_day)) {
        net::Subject subject;
        subject.names = {"slow.example", "quick.example"};
        subject.addresses = {"127.0.0.1"};
        const net::KeyPair pair =
            net::make_server_certificate(authority, subject, net::test_day, hours(24 * 3650));
        net::ServerOptions options;
        options.tls = net::ServerTls{pair.certificate_pem, pair.key_pem, ""};
        const net::Handler handler = [this](net::Request request,
                                            std::shared_ptr<net::Responder> responder) {
            heard += request.path;
            if (request.path == "/never") {
                responder->on_closed([this] { broken_off.set_value(); });
                kept = responder;
                return;
            }
            net::Response response;
            response.body = make_bytes("heard");
            responder->respond(response);
        };
        server = std::make_unique<net::TestServer>(handler, std::move(options));
        home.start("home");
        net::run_on(home, [this] {
            client = std::make_unique<WebhookClient>(
                home, WebhookClient::Ways{nullptr, [its = answered](const std::string& name) {
                                              if (name == "slow.example") its.wait();
                                              return std::string(
                                                  name == "nowhere.example" ? "" : "127.0.0.1");
                                          }});
        });
    }
    ~Calls() {
        net::run_on(home, [this] { client = nullptr; });
        home.stop();
    }

    struct Called {
        std::future<std::string> answer;
        WebhookClient::Drop drop;
    };
    Called call(const std::string& host, const std::string& path) {
        apiserver::WebhookCall call;
        call.target = {net::Target::Scheme::https, host, server->server->port()};
        call.authority_pem = authority.certificate_pem;
        call.request.method = "POST";
        call.request.path = path;
        call.request.headers.set("Connection", "close");
        const auto answer = std::make_shared<std::promise<std::string>>();
        Called called{answer->get_future(), nullptr};
        net::run_on(home, [&] {
            called.drop = client->call(std::move(call), [answer](const net::Response& response) {
                answer->set_value(*response.body);
            });
        });
        return called;
    }

    net::KeyPair authority;
    std::string heard;  // Paths; on the server's loop.
    std::shared_ptr<net::Responder> kept;
    std::promise<void> broken_off;
    std::unique_ptr<net::TestServer> server;
    std::promise<void> name_server;
    std::shared_future<void> answered = name_server.get_future().share();
    net::AsioLoop home;
    std::unique_ptr<WebhookClient> client;
};

}  // namespace

TEST_CASE("a name server that does not answer holds up no call to another webhook") {
    Calls calls;
    Calls::Called slow = calls.call("slow.example", "/slow");
    CHECK(calls.call("quick.example", "/quick").answer.get() == "heard");
    CHECK(calls.call("127.0.0.1", "/address").answer.get() == "heard");
    CHECK(calls.call("nowhere.example", "/nowhere").answer.get() == "no such host");
    net::run_on(calls.server->home, [&] { CHECK(calls.heard == "/quick/address"); });
    calls.name_server.set_value();
    CHECK(slow.answer.get() == "heard");
}

TEST_CASE("a call that is dropped while its name is looked up is not sent") {
    Calls calls;
    Calls::Called dropped = calls.call("slow.example", "/dropped");
    Calls::Called kept = calls.call("slow.example", "/kept");
    net::run_on(calls.home, [&] { dropped.drop(); });
    calls.name_server.set_value();
    CHECK(kept.answer.get() == "heard");
    CHECK(calls.call("slow.example", "/later").answer.get() == "heard");
    net::run_on(calls.server->home, [&] { CHECK(calls.heard == "/kept/later"); });
}

TEST_CASE("a call that is dropped after it was sent ends its connection") {
    Calls calls;
    Calls::Called called = calls.call("quick.example", "/never");
    CHECK(calls.call("quick.example", "/quick").answer.get() == "heard");
    net::run_on(calls.home, [&] { called.drop(); });
    calls.broken_off.get_future().wait();
    CHECK(calls.call("quick.example", "/more").answer.get() == "heard");
}

}  // namespace muster::up

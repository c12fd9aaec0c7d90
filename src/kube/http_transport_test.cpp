// kube/http_transport_test.cpp - against our own server: what is sent again, and with which
// credentials.
#include "kube/http_transport.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "net/loopback_test.h"

namespace muster::kube {
namespace {

const net::KeyPair& authority() {
    static const net::KeyPair made = net::make_authority("muster-ca", net::test_day);
    return made;
}

/// Of a user with that name.
net::KeyPair pair_of(const std::string& name) {
    net::Subject subject;
    subject.common_name = name;
    return net::make_client_certificate(authority(), subject, net::test_day, hours(87600));
}

net::ServerOptions with_tls() {
    net::Subject subject;
    subject.addresses = {"127.0.0.1"};
    const net::KeyPair own =
        net::make_server_certificate(authority(), subject, net::test_day, hours(87600));
    net::ServerOptions options;
    options.tls = net::ServerTls{own.certificate_pem, own.key_pem, authority().certificate_pem};
    return options;
}

/// A transport to a server of ours, on a loop of its own.
struct Ground {
    enum class Speaks { https, http };
    explicit Ground(net::Handler handler, std::shared_ptr<Credentials> credentials = nullptr,
                    Speaks speaks = Speaks::https)
        : server(std::move(handler), speaks == Speaks::https ? with_tls() : net::ServerOptions()) {
        connection.server = std::string(speaks == Speaks::https ? "https" : "http") +
                            "://127.0.0.1:" + std::to_string(server.server->port());
        connection.tls.authority_pem = authority().certificate_pem;
        connection.credentials = std::move(credentials);
        loop.start("client");
        net::run_on(loop, [this] {
            net::ClientOptions options;
            options.may_go = [this](const net::Request& request) {
                return request.method == "GET" || may_write;
            };
            transport = std::make_unique<HttpTransport>(loop, loop, connection, options,
                                                        HttpTransport::Sends::together);
        });
    }
    ~Ground() {
        net::run_on(loop, [this] { transport = nullptr; });
        loop.stop();
    }
    std::future<net::Response> ask(const std::string& method, const std::string& path) {
        auto answer = std::make_shared<std::promise<net::Response>>();
        net::Request request;
        request.method = method;
        request.path = path;
        request.body = make_bytes("");
        loop.post([this, answer, request] {
            transport->send(request,
                            [answer](net::Response response) { answer->set_value(response); });
        });
        return answer->get_future();
    }
    std::string text(const std::string& path) { return *ask("GET", path).get().body; }

    net::TestServer server;
    Connection connection;
    std::atomic<bool> may_write{true};
    net::AsioLoop loop;
    std::unique_ptr<HttpTransport> transport;
};

net::Response busy() {
    net::Response response{429, {}, make_bytes("busy")};
    response.headers.set("Retry-After", "1");
    return response;
}

ExecPlugin plugin() {
    ExecPlugin plugin;
    plugin.api_version = "client.authentication.k8s.io/v1";
    plugin.command = "login";
    return plugin;
}

PluginAnswer printed_token(const std::string& token) {
    PluginAnswer answer;
    answer.printed =
        R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)"
        R"({"token":")" +
        token + R"("}})";
    answer.at = net::test_day;
    return answer;
}

}  // namespace

TEST_CASE(
    "a GET that the server has no time for is sent again when it said; a write is handed on") {
    std::map<std::string, int> asked;
    Ground ground([&](const net::Request& request, const auto& responder) {
        const bool first = ++asked[request.method] == 1;
        responder->respond(first ? busy() : net::Response{200, {}, make_bytes("done")});
    });
    const Time began = ground.loop.now();
    CHECK(ground.text("/a") == "done");
    CHECK(ground.loop.now() - began >= milliseconds(900));
    const net::Response refused = ground.ask("POST", "/a").get();
    CHECK(refused.status == 429);
    CHECK(refused.headers.get("Retry-After") == "1");
    CHECK(ground.ask("POST", "/a").get().status == 200);
}

TEST_CASE("a certificate that was replaced is used at once; what is under way comes to its end") {
    const net::KeyPair first = pair_of("first");
    const net::KeyPair second = pair_of("second");
    std::atomic<bool> replaced = false;
    const auto credentials = std::make_shared<Credentials>(
        [&] {
            const net::KeyPair& pair = replaced ? second : first;
            return Credential{"", pair.certificate_pem, pair.key_pem, std::nullopt};
        },
        milliseconds(1));
    std::promise<std::shared_ptr<net::Responder>> held;
    Ground ground(
        [&](const net::Request& request, const auto& responder) {
            if (request.path == "/held") return held.set_value(responder);
            responder->respond(net::Response{200, {}, make_bytes(request.peer.certificate_name)});
        },
        credentials);
    CHECK(ground.text("/who") == "first");
    auto under_way = ground.ask("GET", "/held");
    const auto responder = held.get_future().get();
    replaced = true;
    // Credentials are not renewed more often than every five seconds: the server's word is needed.
    net::run_on(ground.loop, [&] { credentials->refused(ground.loop.now() + minutes(1)); });
    net::run_on(ground.loop, [&] { credentials->token(ground.loop.now() + minutes(1)); });
    CHECK(ground.text("/who") == "second");
    ground.server.home.post([responder] {
        responder->respond(net::Response{200, {}, make_bytes("the end")});
    });
    CHECK(*under_way.get().body == "the end");
}

TEST_CASE("whom requests are made for is said in full") {
    std::vector<std::string> said;
    Ground ground([&](const net::Request& request, const auto& responder) {
        for (const auto& [name, value] : request.headers.fields) {
            if (to_lower(name).starts_with("impersonate-"))
                said.push_back(to_lower(name) + ": " + value);
        }
        responder->respond(net::Response{200, {}, make_bytes("")});
    });
    ground.connection.impersonate = {
        "ann", "7", {"a", "b"}, {{"scopes/x", "1"}, {"scopes/x", "2"}}};
    net::run_on(ground.loop, [&] {
        ground.transport =
            std::make_unique<HttpTransport>(ground.loop, ground.loop, ground.connection);
    });
    CHECK(ground.ask("GET", "/a").get().status == 200);
    std::sort(said.begin(), said.end());
    CHECK(said == std::vector<std::string>{"impersonate-extra-scopes%2fx: 1",
                                           "impersonate-extra-scopes%2fx: 2",
                                           "impersonate-group: a", "impersonate-group: b",
                                           "impersonate-uid: 7", "impersonate-user: ann"});
}

/// A server that takes a new token only, except at /open, and a plugin that takes its time.
struct Renewal {
    explicit Renewal(Ground::Speaks speaks) {
        credentials->run_beside(
            [this](const ExecPlugin&, const auto& done) { started.set_value(done); });
        ground.emplace(
            [this](const net::Request& request, const auto& responder) {
                const bool good =
                    request.headers.get("Authorization") == "Bearer new" || request.path == "/open";
                if (request.method == "POST" && ++posts == 1) posted.set_value();
                responder->respond(net::Response{good ? 200 : 401, {}, make_bytes("")});
            },
            credentials, speaks);
        // As if the first had been made long ago: then a refusal asks for another.
        net::AsioLoop& loop = ground->loop;
        net::run_on(loop, [&] { credentials->refused(loop.now() + minutes(1)); });
        net::run_on(loop, [&] { credentials->token(loop.now() + minutes(1)); });
    }
    std::promise<std::function<void(const PluginAnswer&)>> started;
    std::shared_ptr<Credentials> credentials = std::make_shared<Credentials>(plugin(), [] {
        Credential credential;
        credential.token = "old";
        return credential;
    });
    std::atomic<int> posts{0};
    std::promise<void> posted;
    std::optional<Ground> ground;
};

TEST_CASE("what is refused for an old token waits for the plugin that makes a new one") {
    Renewal renewal(Ground::Speaks::https);
    Ground& ground = *renewal.ground;
    auto refused = ground.ask("POST", "/closed");
    const auto done = renewal.started.get_future().get();
    CHECK(ground.ask("GET", "/open").get().status == 200);  // Nobody else waits.
    CHECK(refused.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
    ground.loop.post([&] { done(printed_token("new")); });
    CHECK(refused.get().status == 200);
}

TEST_CASE("a write that waited for a new token is asked again whether it may go") {
    for (const auto speaks : {Ground::Speaks::https, Ground::Speaks::http}) {
        CAPTURE(static_cast<int>(speaks));
        Renewal renewal(speaks);
        Ground& ground = *renewal.ground;
        auto refused = ground.ask("POST", "/closed");
        const auto done = renewal.started.get_future().get();
        renewal.posted.get_future().wait();
        net::run_on(ground.loop, [&] { ground.may_write = false; });
        ground.loop.post([&] { done(printed_token("new")); });
        const net::Response answer = refused.get();
        CHECK(answer.status == 0);
        CHECK(*answer.body == net::too_late);
        CHECK(renewal.posts == 1);
    }
}

}  // namespace muster::kube

// net/http2_client_test.cpp - many requests at once over one connection, in order, to our own
// server.
#include "net/http2_client.h"

#include <doctest/doctest.h>

#include "net/loopback_test.h"

namespace muster::net {
namespace {

/// A server with TLS and a client that believes it.
struct Pair {
    explicit Pair(Handler handler) {
        const KeyPair authority = make_authority("muster-ca", test_day);
        Subject subject;
        subject.addresses = {"127.0.0.1"};
        const KeyPair own = make_server_certificate(authority, subject, test_day, hours(87600));
        ServerOptions options;
        options.tls = ServerTls{own.certificate_pem, own.key_pem, ""};
        server = std::make_unique<TestServer>(std::move(handler), std::move(options));
        client_options.tls.authority_pem = authority.certificate_pem;
        client_options.response_limit = 100'000;
        loop.start("client");
        target = server->target(Target::Scheme::https);
        run_on(loop, [&] { client = std::make_unique<Http2Client>(loop, target, client_options); });
    }
    ~Pair() {
        run_on(loop, [&] { client = nullptr; });
        loop.stop();
    }

    ClientOptions client_options;
    std::unique_ptr<TestServer> server;
    AsioLoop loop;
    Target target;
    std::unique_ptr<Http2Client> client;
};

Request post(const std::string& path, std::string body) {
    Request request;
    request.method = "POST";
    request.path = path;
    request.query = {{"a", "b c"}};
    request.headers.set("X-Own", "1");
    request.body = make_bytes(std::move(body));
    return request;
}

TEST_CASE("five hundred requests under way at once arrive in order on one connection") {
    std::vector<std::string> seen;
    std::vector<std::string> peers;
    Pair pair([&](const Request& request, const std::shared_ptr<Responder>& responder) {
        seen.push_back(*request.body);
        if (peers.empty() || peers.back() != request.peer.address)
            peers.push_back(request.peer.address);
        CHECK(request.query_value("a") == "b c");
        CHECK(request.headers.get("x-own") == "1");
        responder->respond(Response{201, {}, request.body});
    });
    constexpr std::size_t count = 500;
    std::vector<std::string> answers;
    std::promise<void> all;
    pair.loop.post([&] {
        for (std::size_t i = 0; i < count; ++i) {
            pair.client->send(post("/x", std::to_string(i)), [&](const Response& answer) {
                CHECK(answer.status == 201);
                answers.push_back(*answer.body);
                if (answers.size() == count) all.set_value();
            });
        }
    });
    all.get_future().wait();
    REQUIRE(seen.size() == count);
    bool in_order = true;
    for (std::size_t i = 0; i < count; ++i)
        in_order = in_order && seen[i] == std::to_string(i);
    CHECK(in_order);
    CHECK(peers.size() == 1);
}

TEST_CASE("answers that are refused, too large or never come are told, and the client goes on") {
    Pair pair([&](const Request& request, const std::shared_ptr<Responder>& responder) {
        if (request.path == "/large")
            return responder->respond(Response{200, {}, make_bytes(std::string(200'000, 'x'))});
        if (request.path == "/broken") return;  // Lets go of the responder.
        responder->respond(Response{200, {}, make_bytes(std::to_string(request.body->size()))});
    });
    const auto ask = [&](const std::string& path, std::size_t size) {
        std::promise<Response> answer;
        pair.loop.post([&] {
            pair.client->send(post(path, std::string(size, 'y')),
                              [&](Response response) { answer.set_value(std::move(response)); });
        });
        return answer.get_future().get();
    };
    CHECK(ask("/large", 1).status == 0);
    CHECK(ask("/large", 1).body->find("larger than") != std::string::npos);
    CHECK(ask("/broken", 1).status == 500);
    CHECK(ask("/x", 5 << 20).status == 413);
    CHECK(*ask("/x", 2 << 20).body == std::to_string(2 << 20));
    CHECK(*ask("/x", 0).body == "0");
    Request head = post("/x", "");
    head.method = "HEAD";
    std::promise<Response> bare;
    pair.loop.post([&] {
        pair.client->send(head, [&](Response response) { bare.set_value(std::move(response)); });
    });
    const Response answer = bare.get_future().get();
    CHECK(answer.status == 200);
    CHECK(answer.headers.get("content-length") == "1");
    CHECK(answer.body->empty());
    pair.server = nullptr;
    CHECK(ask("/x", 1).status == 0);
}

}  // namespace
}  // namespace muster::net

// net/server_test.cpp - HTTP/1.1 and WebSockets over loopback: what works, and what clients do
// wrong.
#include "net/server.h"

#include <atomic>

#include <doctest/doctest.h>

#include "base/error.h"
#include "net/gzip.h"
#include "net/loopback_test.h"

namespace muster::net {

namespace {

Response text_response(std::string text) {
    Response response;
    response.headers.set("Content-Type", "text/plain");
    response.body = make_bytes(std::move(text));
    return response;
}

/// Answers with what was asked.
void echo(const Request& request, const std::shared_ptr<Responder>& responder) {
    std::string text = request.method + " " + request.path;
    for (const auto& [name, value] : request.query)
        text += " " + name + "=" + value;
    text += "|" + *request.body + "|" + request.peer.certificate_name;
    for (const std::string& group : request.peer.certificate_groups)
        text += "," + group;
    responder->respond(text_response(text + "|" + request.peer.certificate_problem));
}

Request request_of(std::string method, std::string path, std::string body = "") {
    Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = make_bytes(std::move(body));
    return request;
}

}  // namespace

TEST_CASE("without an address it listens on every one") {
    ServerOptions options;
    options.listening_fd = open_listener("", 0);
    TestServer server(echo, options);
    TestClient client;
    CHECK(client.get(server.target(), "/").status == 200);
}

TEST_CASE("a request arrives with its parts and the answer comes back on a kept connection") {
    std::vector<std::string> peers;
    TestServer server([&](const Request& request, const std::shared_ptr<Responder>& responder) {
        peers.push_back(request.peer.address);
        echo(request, responder);
    });
    TestClient client;
    Request request = request_of("POST", "/api/v1/pods%2Fx", "the body");
    request.query = {{"labelSelector", "a in (b, c)"}, {"watch", ""}};
    const Response first = client.send(server.target(), request);
    CHECK(first.status == 200);
    CHECK(first.headers.get("content-type") == "text/plain");
    CHECK(*first.body == "POST /api/v1/pods%2Fx labelSelector=a in (b, c) watch=|the body||");
    CHECK(*client.get(server.target(), "/").body == "GET /|||");
    CHECK(peers.size() == 2);
    CHECK(peers[0] == peers[1]);
}

TEST_CASE("large bodies go both ways, and an answer without body is one") {
    TestServer server([](const Request& request, const std::shared_ptr<Responder>& responder) {
        if (request.method == "DELETE") return responder->respond(Response{204, {}, nullptr});
        responder->respond(text_response(*request.body + *request.body));
    });
    TestClient client;
    const std::string body(2 << 20, 'x');
    CHECK(client.send(server.target(), request_of("PUT", "/", body)).body->size() == 4 << 20);
    CHECK(client.send(server.target(), request_of("DELETE", "/")).status == 204);
    CHECK(client.send(server.target(), request_of("HEAD", "/")).body->empty());
    CHECK(client.send(server.target(), request_of("PUT", "/", "ab")).body->size() == 4);
}

TEST_CASE("a new certificate is for new connections, and a damaged one changes nothing") {
    const KeyPair first = make_authority("first", test_day);
    const KeyPair second = make_authority("second", test_day);
    Subject subject;
    subject.addresses = {"127.0.0.1"};
    const auto tls_of = [&](const KeyPair& authority) {
        const KeyPair pair =
            make_server_certificate(authority, subject, test_day, hours(24 * 3650));
        return ServerTls{pair.certificate_pem, pair.key_pem, ""};
    };
    ServerOptions options;
    options.tls = tls_of(first);
    options.threads = 2;
    TestServer server(
        [](const Request&, const std::shared_ptr<Responder>& responder) { responder->respond({}); },
        std::move(options));
    const auto client_of = [](const KeyPair& authority) {
        ClientOptions believing;
        believing.tls.authority_pem = authority.certificate_pem;
        return std::make_unique<TestClient>(std::move(believing));
    };
    const Target target = server.target(Target::Scheme::https);
    const auto early = client_of(first);
    CHECK(early->get(target, "/").status == 200);
    CHECK_THROWS_AS(server.server->renew({"nonsense", "nonsense", ""}), Error);
    CHECK(client_of(first)->get(target, "/").status == 200);
    server.server->renew(tls_of(second));
    CHECK(client_of(second)->get(target, "/").status == 200);
    CHECK(client_of(first)->get(target, "/").status == 0);
    CHECK(early->get(target, "/").status == 200);
}

TEST_CASE("over TLS the handler sees who a good certificate names and why a bad one is bad") {
    const KeyPair authority = make_authority("muster-ca", test_day);
    const KeyPair stranger = make_authority("muster-ca", test_day);
    Subject subject;
    subject.addresses = {"127.0.0.1"};
    const KeyPair pair = make_server_certificate(authority, subject, test_day, hours(24 * 3650));
    ServerOptions options;
    options.tls = ServerTls{pair.certificate_pem, pair.key_pem, authority.certificate_pem};
    TestServer server(echo, options);
    const Target target = server.target(Target::Scheme::https);
    subject.common_name = "ann";
    subject.organizations = {"system:masters", "dev"};

    ClientOptions trusting;
    trusting.tls.authority_pem = authority.certificate_pem;
    {
        TestClient client(trusting);
        CHECK(*client.get(target, "/").body == "GET /|||");
    }
    {
        const KeyPair good = make_client_certificate(authority, subject, test_day, hours(240000));
        ClientOptions known = trusting;
        known.tls.certificate_pem = good.certificate_pem;
        known.tls.key_pem = good.key_pem;
        TestClient client(known);
        CHECK(*client.get(target, "/").body == "GET /||ann,system:masters,dev|");
    }
    {
        const KeyPair old = make_client_certificate(authority, subject, Time{1}, hours(1));
        ClientOptions expired = trusting;
        expired.tls.certificate_pem = old.certificate_pem;
        expired.tls.key_pem = old.key_pem;
        TestClient client(expired);
        CHECK(*client.get(target, "/").body == "GET /|||certificate has expired");
    }
    {
        const KeyPair other = make_client_certificate(stranger, subject, test_day, hours(240000));
        ClientOptions foreign = trusting;
        foreign.tls.certificate_pem = other.certificate_pem;
        foreign.tls.key_pem = other.key_pem;
        TestClient client(foreign);
        const std::string text = *client.get(target, "/").body;
        CHECK(text.starts_with("GET /|||"));
        CHECK(text.size() > 8);
    }
    {
        ClientOptions wary;
        wary.tls.authority_pem = stranger.certificate_pem;
        TestClient client(wary);
        const Response refused = client.get(target, "/");
        CHECK(refused.status == 0);
        CHECK(refused.body->find("not trusted") != std::string::npos);
    }
}

TEST_CASE("a stream's pieces come as they are written, and its end is seen") {
    TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
        responder->begin(Response{});
        responder->write(make_bytes("one "));
        responder->write(make_bytes("two"));
        responder->finish();
    });
    TestClient client;
    std::string seen;
    std::promise<void> closed;
    client.loop.post([&] {
        Client::Stream stream;
        stream.on_head = [&](const Response& head) { seen += std::to_string(head.status) + ":"; };
        stream.on_piece = [&](std::string_view piece) { seen += piece; };
        stream.on_closed = [&] { closed.set_value(); };
        client.client->open(server.target(), request_of("GET", "/"), std::move(stream));
    });
    closed.get_future().wait();
    CHECK(seen == "200:one two");
}

TEST_CASE("a watcher that stops reading fills buffered, and its going away is told once") {
    std::promise<std::size_t> filled;
    std::promise<void> gone;
    std::shared_ptr<Responder> kept;
    TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
        kept = responder;
        responder->begin(Response{});
        responder->on_closed([&] { gone.set_value(); });
        const Bytes piece = make_bytes(std::string(1 << 20, 'x'));
        for (int i = 0; i < 64; ++i)
            responder->write(piece);  // Far more than sockets hold.
        filled.set_value(responder->buffered());
    });
    RawSocket socket(server.server->port());
    socket.put("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(filled.get_future().get() > 32 << 20);
    socket.close();
    gone.get_future().wait();
    run_on(server.home, [&] {
        kept->write(make_bytes("to nobody"));
        kept->finish();
        kept = nullptr;
    });
}

TEST_CASE("a body over the limit is refused with a Status, however it is sent") {
    ServerOptions options;
    options.body_limit = 1000;
    TestServer server(echo, options);
    TestClient client;
    const Response whole =
        client.send(server.target(), request_of("POST", "/", std::string(5 << 20, 'x')));
    CHECK(whole.status == 413);
    CHECK(whole.body->find("\"reason\":\"RequestEntityTooLarge\"") != std::string::npos);
    CHECK(whole.body->find("limit is 1000") != std::string::npos);

    RawSocket socket(server.server->port());
    socket.put("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; ++i)
        socket.put("200\r\n" + std::string(512, 'y') + "\r\n");
    CHECK(socket.read_all().starts_with("HTTP/1.1 413 "));
    CHECK(client.get(server.target(), "/").status == 200);
}

TEST_CASE("malformed requests are answered 400 or 431 and the server lives") {
    TestServer server(echo);
    const char* const bad[] = {
        "nonsense\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\x16\x03\x01\x02\x00\x01",
    };
    for (const char* text : bad) {
        CAPTURE(text);
        RawSocket socket(server.server->port());
        socket.put(text);
        CHECK(socket.read_all().starts_with("HTTP/1.1 400 "));
    }
    RawSocket socket(server.server->port());
    socket.put("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(100'000, 'x'));
    CHECK(socket.read_all().starts_with("HTTP/1.1 431 "));
    TestClient client;
    CHECK(client.get(server.target(), "/").status == 200);
}

TEST_CASE("requests sent ahead are answered in order, byte by byte or at once") {
    TestServer server(echo);
    const std::string two =
        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        "GET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    RawSocket at_once(server.server->port());
    at_once.put(two);
    const std::string answers = at_once.read_all();
    CHECK(answers.find("POST /1|abc||") < answers.find("GET /2|||"));
    CHECK(answers.find("GET /2|||") != std::string::npos);
    RawSocket slowly(server.server->port());
    for (const char c : two)
        slowly.put(std::string(1, c));
    CHECK(slowly.read_all() == answers);
}

TEST_CASE("a client that asks first is told to go on, and HTTP/1.0 gets no chunks") {
    TestServer server([](const Request& request, const std::shared_ptr<Responder>& responder) {
        responder->begin(Response{});
        responder->write(request.body);
        responder->finish();
    });
    RawSocket socket(server.server->port());
    socket.put("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    CHECK(socket.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
    socket.put("hi");
    CHECK(socket.read_until("0\r\n\r\n").ends_with("\r\n\r\n2\r\nhi\r\n0\r\n\r\n"));
    RawSocket old(server.server->port());
    old.put("POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi");
    const std::string answer = old.read_all();
    CHECK(answer.find("chunked") == std::string::npos);
    CHECK(answer.ends_with("\r\n\r\nhi"));
}

TEST_CASE("a handler that drops a request answers 500, and one that drops a stream breaks it") {
    TestServer server([](const Request& request, const std::shared_ptr<Responder>& responder) {
        if (request.path == "/stream") {
            responder->begin(Response{});
            responder->write(make_bytes("part"));
        }
    });
    TestClient client;
    CHECK(client.get(server.target(), "/").status == 500);
    RawSocket socket(server.server->port());
    socket.put("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(socket.read_all().ends_with("4\r\npart\r\n"));
}

TEST_CASE("a WebSocket carries messages of every size both ways under the chosen subprotocol") {
    std::promise<void> server_closed;
    std::shared_ptr<Channel> kept;
    TestServer server([&](const Request& request, const std::shared_ptr<Responder>& responder) {
        CHECK(request.headers.get("Sec-WebSocket-Protocol") == "v5.channel.k8s.io, v4.x");
        kept = responder->upgrade_websocket("v5.channel.k8s.io");
        REQUIRE(kept);
        kept->send("hello");
        kept->on_message([&](std::string_view message) { kept->send(std::string(message)); });
        kept->on_closed([&] { server_closed.set_value(); });
    });
    TestClient client;
    std::vector<std::string> seen;
    std::promise<void> all;
    std::shared_ptr<Channel> channel;
    const std::vector<std::string> messages = {"", "a", std::string(126, 'b'),
                                               std::string(70'000, 'c')};
    client.loop.post([&] {
        client.client->open_websocket(
            server.target(), request_of("GET", "/exec"), "v5.channel.k8s.io, v4.x",
            [&](std::shared_ptr<Channel> opened, const Response& answer) {
                REQUIRE(opened);
                CHECK(answer.headers.get("Sec-WebSocket-Protocol") == "v5.channel.k8s.io");
                channel = std::move(opened);
                channel->on_message([&](std::string_view message) {
                    seen.emplace_back(message);
                    if (seen.size() == messages.size() + 1) all.set_value();
                });
                for (const std::string& message : messages)
                    channel->send(message);
            });
    });
    all.get_future().wait();
    CHECK(seen.front() == "hello");
    CHECK(std::vector<std::string>(seen.begin() + 1, seen.end()) == messages);
    run_on(client.loop, [&] { channel->close(); });
    server_closed.get_future().wait();
    run_on(client.loop, [&] { channel = nullptr; });
    run_on(server.home, [&] { kept = nullptr; });
}

TEST_CASE("a plain request is no WebSocket, and a refused one brings the answer") {
    TestServer server([](const Request&, const std::shared_ptr<Responder>& responder) {
        CHECK_FALSE(responder->upgrade_websocket("x"));
        responder->respond(text_response("no"));
    });
    TestClient client;
    CHECK(*client.get(server.target(), "/").body == "no");
    TestServer refusing([](const Request&, const std::shared_ptr<Responder>& responder) {
        responder->respond(Response{403, {}, make_bytes("forbidden")});
    });
    std::promise<Response> refused;
    client.loop.post([&] {
        client.client->open_websocket(
            refusing.target(), request_of("GET", "/"), "",
            [&](const std::shared_ptr<Channel>& channel, Response answer) {
                CHECK_FALSE(channel);
                refused.set_value(std::move(answer));
            });
    });
    const Response answer = refused.get_future().get();
    CHECK(answer.status == 403);
    CHECK(*answer.body == "forbidden");
}

TEST_CASE("a port in use is one clear sentence, and no server is an answer with status 0") {
    TestServer server(echo);
    ServerOptions options;
    options.port = server.server->port();
    AsioLoop home;
    std::string text;
    try {
        const Server second(options, home, echo);
    } catch (const Error& error) {
        text = error.what();
    }
    CHECK(text.find("the port is in use by another program") != std::string::npos);
    CHECK(text.find("--listen") != std::string::npos);
    TestClient client;
    Target nobody = server.target();
    nobody.port = 1;
    const Response unreachable = client.get(nobody, "/");
    CHECK(unreachable.status == 0);
    CHECK(unreachable.body->find("refused") != std::string::npos);
}

TEST_CASE("a cancelled stream is silent and the server hears of it") {
    std::promise<void> gone;
    TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
        responder->begin(Response{});
        responder->write(make_bytes("x"));
        responder->on_closed([&gone, responder] { gone.set_value(); });
    });
    TestClient client;
    std::promise<void> first;
    bool closed = false;
    Client::StreamId id{};
    client.loop.post([&] {
        Client::Stream stream;
        stream.on_piece = [&](std::string_view) { first.set_value(); };
        stream.on_closed = [&] { closed = true; };
        id = client.client->open(server.target(), request_of("GET", "/"), std::move(stream));
    });
    first.get_future().wait();
    run_on(client.loop, [&] { client.client->cancel(id); });
    gone.get_future().wait();
    run_on(client.loop, [] {});
    CHECK_FALSE(closed);
}

TEST_CASE("an answer that is to be packed goes out as gzip, whole and counted") {
    std::shared_ptr<Responder> kept;
    const std::string text(500'000, 'x');
    TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
        kept = responder;
        Response response = text_response(text);
        response.packing = Response::Packing::gzip;
        responder->respond(std::move(response));
    });
    TestClient client;
    const Response answer = client.get(server.target(), "/");
    CHECK(answer.headers.get("Content-Encoding") == "gzip");
    CHECK(answer.body->size() < 10'000);
    CHECK(gunzip(*answer.body, 1 << 20) == text);
    run_on(server.home, [&] {
        CHECK(kept->buffered() == 0);
        kept = nullptr;
    });
}

TEST_CASE("a client that dawdles over a request is cut off, others are served meanwhile") {
    ServerOptions options;
    options.request_timeout = seconds(1);
    TestServer server(echo, std::move(options));
    RawSocket slow(server.server->port());
    slow.put("GET / HTTP/1.1\r\nHost: x\r\nX: ");
    RawSocket half(server.server->port());
    half.put("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
    RawSocket silent(server.server->port());
    TestClient client;
    CHECK(client.get(server.target(), "/").status == 200);
    CHECK(slow.read_all().empty());
    CHECK(half.read_all().empty());
    CHECK(silent.read_all().empty());
}

TEST_CASE("several threads share the connections") {
    ServerOptions options;
    options.threads = 3;
    TestServer server(echo, options);
    std::atomic<int> good{0};
    {
        std::vector<std::unique_ptr<TestClient>> clients;
        for (int i = 0; i < 6; ++i)
            clients.push_back(std::make_unique<TestClient>());
        for (int round = 0; round < 3; ++round) {
            for (const auto& client : clients)
                good += client->get(server.target(), "/").status == 200 ? 1 : 0;
        }
    }
    CHECK(good == 18);
}

}  // namespace muster::net

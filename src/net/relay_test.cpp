// net/relay_test.cpp - a server that passes everything on to another one: upgrades, long bodies
// both ways, slow readers, broken answers.
#include "net/relay.h"

#include <future>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>

#include "net/gzip.h"
#include "net/loopback_test.h"

namespace muster::net {
namespace {

/// A front that relays everything to `there`.
struct Front {
    explicit Front(Target there, ServerOptions options = streaming())
        : server(
              [this, there](Request request, const std::shared_ptr<Responder>& responder) {
                  ++requests;
                  last = request;
                  relay(*client, there, std::move(request), responder);
              },
              std::move(options)) {
        run_on(server.home, [&] {
            ClientOptions own;
            own.response_limit = 1 << 20;
            own.reuse = ClientOptions::Reuse::repeatable_only;
            client = std::make_unique<Client>(server.home, server.home, std::move(own));
        });
    }
    ~Front() {
        run_on(server.home, [&] { client = nullptr; });
    }
    static ServerOptions streaming() {
        ServerOptions options;
        options.body_limit = 1000;
        options.streamed_body = [](const Request& head) { return head.path == "/upload"; };
        return options;
    }
    int port() const { return server.server->port(); }

    TestServer server;
    std::unique_ptr<Client> client;
    int requests = 0;
    Request last;
};

/// One connection at a time, spoken to by hand.
struct RawServer {
    RawServer() : listener(open_listener("127.0.0.1", 0)) {
        sockaddr_in address{};
        socklen_t size = sizeof address;
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
    }
    ~RawServer() { ::close(listener); }
    RawServer(const RawServer&) = delete;
    RawServer& operator=(const RawServer&) = delete;
    Target target() const { return {Target::Scheme::http, "127.0.0.1", port}; }
    /// Waits for somebody. The listener does not block by itself.
    int accept() const {
        int fd = -1;
        while (fd < 0)
            fd = ::accept(listener, nullptr, nullptr);
        return fd;
    }

    int listener;
    int port = 0;
};

void put(int fd, std::string_view text) {
    while (!text.empty()) {
        const auto sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::string take(int fd, std::string_view end) {
    std::string text;
    while (text.find(end) == std::string::npos) {
        char c = 0;
        if (::recv(fd, &c, 1, 0) <= 0) break;
        text += c;
    }
    return text;
}

TEST_CASE("an upgrade to anything goes through untouched, both ways, until one closes") {
    const RawServer there;
    Front front(there.target());
    RawSocket client(front.port());
    client.put(
        "GET /ws?x=a%20b&flag HTTP/1.1\r\nHost: me\r\nConnection: Upgrade\r\nUpgrade: odd\r\n"
        "Sec-WebSocket-Extensions: own\r\n\r\nearly");
    const int fd = there.accept();
    const std::string head = take(fd, "\r\n\r\n");
    CHECK(head.starts_with("GET /ws?x=a%20b&flag HTTP/1.1\r\n"));
    CHECK(head.find("Upgrade: odd\r\n") != std::string::npos);
    CHECK(head.find("Sec-WebSocket-Extensions: own\r\n") != std::string::npos);
    put(fd, "HTTP/1.1 101 Sure\r\nConnection: Upgrade\r\nUpgrade: odd\r\nX-Own: 1\r\n\r\nfirst");
    const std::string answer = client.read_until("first");
    CHECK(answer.starts_with("HTTP/1.1 101 "));
    CHECK(answer.find("X-Own: 1\r\n") != std::string::npos);
    CHECK(take(fd, "early") == "early");
    client.put(std::string("\x82\x00\xff", 3));
    CHECK(take(fd, "\xff") == std::string("\x82\x00\xff", 3));
    put(fd, "bye");
    ::close(fd);
    CHECK(client.read_all() == "bye");
}

TEST_CASE("an upgrade that is refused brings the answer") {
    TestServer there([](const Request&, const std::shared_ptr<Responder>& responder) {
        responder->respond(Response{403, {}, make_bytes("not you")});
    });
    Front front(there.target());
    RawSocket client(front.port());
    client.put("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    const std::string answer = client.read_until("not you");
    CHECK(answer.starts_with("HTTP/1.1 403 "));
}

TEST_CASE("many megabytes go through an upgrade in both directions at once") {
    const RawServer there;
    Front front(there.target());
    RawSocket client(front.port());
    client.put("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    const int fd = there.accept();
    take(fd, "\r\n\r\n");
    put(fd, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    client.read_until("\r\n\r\n");
    constexpr std::size_t size = 20 << 20;
    const auto count = [](int from) {
        std::size_t got = 0;
        std::string buffer(64 << 10, '\0');
        while (got < size) {
            const auto step = ::recv(from, buffer.data(), buffer.size(), 0);
            if (step <= 0) break;
            got += static_cast<std::size_t>(step);
        }
        return got;
    };
    const std::string much(size, 'x');
    auto sent_there = std::async(std::launch::async, [&] { client.put(much); });
    auto sent_here = std::async(std::launch::async, [&] { put(fd, much); });
    auto got_there = std::async(std::launch::async, [&] { return count(fd); });
    CHECK(count(client.fd) == size);
    CHECK(got_there.get() == size);
    ::close(fd);
}

TEST_CASE("a body of any size goes on as it comes, where that is asked for") {
    ServerOptions large;
    large.body_limit = 100 << 20;
    TestServer there(
        [](const Request& request, const std::shared_ptr<Responder>& responder) {
            responder->respond(Response{200, {}, make_bytes(std::to_string(request.body->size()))});
        },
        large);
    Front front(there.target());
    TestClient client;
    Request request;
    request.method = "POST";
    request.path = "/upload";
    request.body = make_bytes(std::string(8 << 20, 'x'));
    CHECK(*client.send(front.server.target(), request).body == std::to_string(8 << 20));
    request.path = "/elsewhere";
    CHECK(client.send(front.server.target(), request).status == 413);
    RawSocket chunks(front.port());
    chunks.put(
        "POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: "
        "100-continue\r\n\r\n");
    CHECK(chunks.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
    chunks.put("3\r\nabc\r\n");
    chunks.put("2\r\nde\r\n0\r\n\r\n");
    CHECK(chunks.read_until("\r\n\r\n5").find("\r\n\r\n5") != std::string::npos);
    // The connection goes on after it.
    chunks.put("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx");
    CHECK(chunks.read_until("\r\n\r\n1").find("\r\n\r\n1") != std::string::npos);
}

/// Sends until nothing is taken for a while; how much was. That it ends is part of the test.
std::size_t send_until_stuck(int fd) {
    const std::string piece(64 << 10, 'x');
    std::size_t sent = 0;
    pollfd room{fd, POLLOUT, 0};
    while (::poll(&room, 1, 200) == 1) {
        const auto step = ::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL);
        if (step <= 0) break;
        sent += static_cast<std::size_t>(step);
        REQUIRE(sent < (64u << 20));
    }
    return sent;
}

TEST_CASE("a body is read no faster than it is passed on") {
    const RawServer there;
    Front front(there.target());
    RawSocket client(front.port());
    fcntl(client.fd, F_SETFL, O_NONBLOCK);
    const int small = 64 << 10;
    setsockopt(client.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    const std::string head =
        "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n";
    REQUIRE(::send(client.fd, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()));
    const int fd = there.accept();  // Reads nothing.
    const std::size_t sent = send_until_stuck(client.fd);
    CHECK(sent > 0);
    ::close(fd);
}

TEST_CASE("an answer is read no faster than its client takes it") {
    const RawServer there;
    Front front(there.target());
    RawSocket client(front.port());
    client.put("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const int fd = there.accept();
    take(fd, "\r\n\r\n");
    put(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    fcntl(fd, F_SETFL, O_NONBLOCK);
    send_until_stuck(fd);
    const std::string head = client.read_until("\r\n\r\n");
    CHECK(head.find("Content-Length: 1000000000\r\n") != std::string::npos);
    ::close(fd);
}

TEST_CASE("an answer that breaks off is seen to be broken") {
    const RawServer there;
    Front front(there.target());
    RawSocket client(front.port());
    client.put("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const int fd = there.accept();
    take(fd, "\r\n\r\n");
    put(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
    client.read_until("part");
    ::close(fd);
    CHECK(client.read_all().find("0\r\n") == std::string::npos);  // No last chunk.
}

/// Status 0 cannot go out: what stands in front of a relay makes an answer of it.
struct Seen : Responder {
    std::shared_ptr<Responder> way;
    void respond(Response response) override {
        way->respond(Response{response.status == 0 ? 503 : 500, {}, response.body});
    }
    void begin(Response head) override { way->begin(std::move(head)); }
    void write(Bytes piece) override { way->write(std::move(piece)); }
    void finish() override { way->finish(); }
    std::size_t buffered() const override { return way->buffered(); }
    Backlog backlog() const override { return way->backlog(); }
    void on_closed(std::function<void()> handler) override { way->on_closed(std::move(handler)); }
    std::shared_ptr<Channel> upgrade_websocket(std::string) override { return nullptr; }
    std::shared_ptr<Channel> upgrade_raw(Response) override { return nullptr; }
};

TEST_CASE("where nothing answers, status 0 says why") {
    std::unique_ptr<Client> onward;
    TestServer front([&](Request request, const std::shared_ptr<Responder>& responder) {
        const auto seen = std::make_shared<Seen>();
        seen->way = responder;
        relay(*onward, {Target::Scheme::http, "127.0.0.1", 1}, std::move(request), seen);
    });
    run_on(front.home,
           [&] { onward = std::make_unique<Client>(front.home, front.home, ClientOptions()); });
    TestClient client;
    const Response answer = client.get(front.target(), "/");
    CHECK(answer.status == 503);
    CHECK(*answer.body == "Connection refused");
    run_on(front.home, [&] { onward = nullptr; });
}

TEST_CASE("gzip goes out and comes back, and what is none is refused") {
    const std::string text(100'000, 'x');
    const std::string packed = gzip(text);
    CHECK(packed.size() < 1000);
    CHECK(gunzip(packed, 200'000) == text);
    CHECK(!gunzip(packed, 99'999));
    CHECK(!gunzip(packed.substr(0, packed.size() / 2), 200'000));
    CHECK(!gunzip("not gzip", 100));
    CHECK(gunzip(gzip(""), 0) == "");
}

}  // namespace
}  // namespace muster::net

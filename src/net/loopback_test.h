// net/loopback_test.h - a server and a client on this machine, for net's own tests.
#pragma once

#include <future>
#include <memory>
#include <string>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/client.h"
#include "net/pki.h"
#include "net/server.h"

namespace muster::net {

constexpr Time test_day{1'790'000'000'000'000'000};

/// Runs a step on a loop and waits for it.
inline void run_on(AsioLoop& loop, const std::function<void()>& step) {
    // Who sets it still uses it when the waiting one has gone on.
    const auto done = std::make_shared<std::promise<void>>();
    loop.post([&step, done] {
        step();
        done->set_value();
    });
    done->get_future().wait();
}

/// A server on an ephemeral port, with the handler's loop on a thread of its own.
struct TestServer {
    explicit TestServer(Handler handler, ServerOptions options = {}) {
        home.start("home");
        server = std::make_unique<Server>(std::move(options), home, std::move(handler));
    }
    ~TestServer() {
        server->stop(milliseconds(200));
        run_on(home, [] {});  // What the connections told at their end has been heard.
        home.stop();
    }
    Target target(Target::Scheme scheme = Target::Scheme::http) const {
        return {scheme, "127.0.0.1", server->port()};
    }

    AsioLoop home;
    std::unique_ptr<Server> server;
};

/// A client whose answers are waited for.
struct TestClient {
    explicit TestClient(ClientOptions options = {}) {
        if (options.response_limit == 0) options.response_limit = 256 << 20;
        loop.start("client");
        run_on(loop, [&] { client = std::make_unique<Client>(loop, loop, std::move(options)); });
    }
    ~TestClient() {
        run_on(loop, [&] { client = nullptr; });
        loop.stop();
    }

    Response send(const Target& target, Request request) {
        std::promise<Response> answer;
        loop.post([&] {
            client->send(target, std::move(request),
                         [&](Response response) { answer.set_value(std::move(response)); });
        });
        return answer.get_future().get();
    }
    Response get(const Target& target, const std::string& path) {
        Request request;
        request.method = "GET";
        request.path = path;
        return send(target, std::move(request));
    }

    AsioLoop loop;
    std::unique_ptr<Client> client;
};

/// A bare socket that says what no proper client would.
struct RawSocket {
    explicit RawSocket(int port) : fd(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) close();
    }
    ~RawSocket() { close(); }
    RawSocket(const RawSocket&) = delete;
    RawSocket& operator=(const RawSocket&) = delete;

    void close() {
        if (fd >= 0) ::close(fd);
        fd = -1;
    }
    void put(const std::string& text) {
        std::size_t sent = 0;
        while (sent < text.size()) {
            const auto step = send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
            if (step <= 0) return;
            sent += static_cast<std::size_t>(step);
        }
    }
    /// What comes until `end` has come or the other end closes.
    std::string read_until(const std::string& end) {
        std::string text;
        while (end.empty() || text.find(end) == std::string::npos) {
            char buffer[4096];
            const auto got = recv(fd, buffer, sizeof buffer, 0);
            if (got <= 0) break;
            text.append(buffer, static_cast<std::size_t>(got));
        }
        return text;
    }
    std::string read_all() { return read_until(""); }

    int fd;
};

}  // namespace muster::net

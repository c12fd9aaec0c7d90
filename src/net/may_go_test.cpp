// net/may_go_test.cpp - what may not go any more does not, wherever it had to wait: for a stream,
// for the server's window, for room in the socket, for a connection.
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <vector>

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http2_pair_test.h"
#include "net/wire.h"

namespace muster::net {
namespace {

/// Calls of one client, and what came of them; on the client's loop.
struct Calls {
    explicit Calls(Pair& of) : pair(of) {
        ClientOptions options = pair.client_options;
        options.may_go = [this](const Request&) { return may_go.load(); };
        pair.connect(options);
    }
    void send(const std::string& path, const std::string& body = "") {
        pair.loop.post([this, path, body] {
            pair.client->send(post(path, body), [this](const Response& answer) {
                const std::lock_guard lock(guard);
                answers.push_back(answer.status == 0 ? *answer.body
                                                     : std::to_string(answer.status));
                came.notify_all();
            });
        });
    }
    std::vector<std::string> wait_for(std::size_t count) {
        std::unique_lock lock(guard);
        came.wait(lock, [&] { return answers.size() >= count; });
        return std::exchange(answers, {});
    }

    Pair& pair;
    std::atomic<bool> may_go{true};
    std::mutex guard;
    std::condition_variable came;
    std::vector<std::string> answers;
};

TEST_CASE("what waits for a stream is asked when its turn has come, and the connection lives on") {
    constexpr std::size_t granted = 3;
    ServerOptions options;
    options.streams_at_once = granted;
    std::vector<std::shared_ptr<Responder>> held;
    std::set<std::string> peers;
    std::promise<void> full;
    int arrived = 0;
    Pair pair(
        [&](const Request& request, const std::shared_ptr<Responder>& responder) {
            ++arrived;
            peers.insert(request.peer.address);
            CHECK(request.headers.get("x-own") == "1");
            if (request.path != "/held")
                return responder->respond(Response{200, {}, make_bytes("")});
            held.push_back(responder);
            if (arrived == 1 + static_cast<int>(granted)) full.set_value();
        },
        {}, options);
    Calls calls(pair);
    calls.send("/first");  // From its answer on the client knows how many streams it has.
    CHECK(calls.wait_for(1) == std::vector<std::string>{"200"});
    for (int i = 0; i < 20; ++i)
        calls.send("/held");
    full.get_future().wait();
    run_on(pair.loop, [&] { calls.may_go = false; });
    run_on(pair.server->home, [&] {
        for (const auto& responder : std::exchange(held, {}))
            responder->respond(Response{200, {}, make_bytes("")});
    });
    std::vector<std::string> expected(20, too_late);
    std::fill_n(expected.begin(), granted, "200");
    std::vector<std::string> answers = calls.wait_for(20);
    std::sort(answers.begin(), answers.end());
    CHECK(answers == expected);
    CHECK(arrived == 1 + static_cast<int>(granted));
    run_on(pair.loop, [&] { calls.may_go = true; });
    for (int i = 0; i < 20; ++i)  // Both ends agree on what header fields were compressed to.
        calls.send("/after/" + std::to_string(i));
    CHECK(calls.wait_for(20) == std::vector<std::string>(20, "200"));
    CHECK(peers.size() == 1);
}

TEST_CASE("a body that waits for the server's window does not go on when it may not any more") {
    ServerOptions options;
    options.streamed_body = [](const Request& head) { return head.path == "/large"; };
    std::promise<void> began;
    std::shared_ptr<BodyStream> body;
    std::shared_ptr<Responder> held;
    bool is_whole = false;
    std::promise<void> broken;
    Pair pair(
        [&](const Request& request, const std::shared_ptr<Responder>& responder) {
            if (request.path != "/large")
                return responder->respond(Response{200, {}, make_bytes("")});
            body = request.body_stream;
            held = responder;
            began.set_value();
        },
        {}, options);
    Calls calls(pair);
    calls.send("/large", std::string(8 << 20, 'x'));
    began.get_future().wait();
    run_on(pair.loop, [&] { calls.may_go = false; });
    run_on(pair.server->home, [&] {
        body->read({[&](const std::string& piece) { body->taken(piece.size()); },
                    [&] {
                        is_whole = true;
                        held->respond(Response{200, {}, make_bytes("")});
                        broken.set_value();
                    },
                    [&] { broken.set_value(); }});
    });
    CHECK(calls.wait_for(1) == std::vector<std::string>{too_late});
    broken.get_future().wait();
    CHECK(!is_whole);
    run_on(pair.loop, [&] { calls.may_go = true; });
    calls.send("/after");
    CHECK(calls.wait_for(1) == std::vector<std::string>{"200"});
    run_on(pair.server->home, [&] {
        body = nullptr;
        held = nullptr;
    });
}

/// Has one large thing to say.
class Talker final : public Session {
public:
    Talker(std::size_t size, std::promise<void>& pulled, std::atomic<bool>& may_send)
        : left_(size), pulled_(pulled), may_send_(may_send) {}
    void opened(Outlet& outlet) override { outlet.flush_soon(); }
    void feed(std::string_view) override {}
    bool wants_bytes() const override { return true; }
    void pull(std::string& out, std::size_t) override {
        if (left_ > 0) pulled_.set_value();
        out.append(std::exchange(left_, 0), 'x');
    }
    bool may_send_rest() override { return may_send_; }
    bool finished() const override { return false; }
    void closed(const std::string&) override {}

private:
    std::size_t left_;
    std::promise<void>& pulled_;
    std::atomic<bool>& may_send_;
};

TEST_CASE("what waits for room in the socket is not sent when it may not go any more") {
    for (const bool stays_good : {true, false}) {
        CAPTURE(stays_good);
        constexpr std::size_t size = 8 << 20;  // More than a socket takes.
        std::array<int, 2> ends{};
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
        AsioLoop loop;
        loop.start("talker");
        std::promise<void> pulled;
        std::atomic<bool> may_send{true};
        std::unique_ptr<Wire> wire;
        run_on(loop, [&] {
            wire = std::make_unique<Wire>(loop, ends[0], nullptr, Peer{},
                                          std::make_unique<Talker>(size, pulled, may_send), [] {});
            wire->start(seconds(60));
        });
        pulled.get_future().wait();
        run_on(loop, [&] { may_send = stays_good; });  // The socket is full by now.
        std::size_t came = 0;
        while (came < size) {
            std::array<char, 65536> buffer{};
            pollfd ready{ends[1], POLLIN, 0};
            poll(&ready, 1, -1);
            const auto got = recv(ends[1], buffer.data(), buffer.size(), 0);
            if (got <= 0) break;
            came += static_cast<std::size_t>(got);
        }
        CHECK((came == size) == stays_good);
        run_on(loop, [&] { wire = nullptr; });
        loop.stop();
        close(ends[1]);
    }
}

TEST_CASE("over plain HTTP too each request is asked when it goes out") {
    std::atomic<int> arrived{0};
    TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
        ++arrived;
        responder->respond(Response{200, {}, make_bytes("")});
    });
    std::atomic<bool> may_go{true};
    ClientOptions options;
    options.may_go = [&](const Request& request) { return request.method == "GET" || may_go; };
    TestClient client(options);
    std::promise<Response> answer;
    client.loop.post([&] {  // There is no connection yet.
        client.client->send(server.target(), post("/a", "b"),
                            [&](Response response) { answer.set_value(std::move(response)); });
        may_go = false;
    });
    const Response refused = answer.get_future().get();
    CHECK(refused.status == 0);
    CHECK(*refused.body == too_late);
    CHECK(client.get(server.target(), "/a").status == 200);
    CHECK(*client.send(server.target(), post("/a", "b")).body == too_late);  // Over a kept one.
    CHECK(arrived == 1);
    may_go = true;
    CHECK(client.send(server.target(), post("/a", "b")).status == 200);
}

}  // namespace
}  // namespace muster::net

// net/http2_client_test.cpp - many requests at once over one connection, in order, to our own
// server.
#include "net/http2_client.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dial.h"
#include "net/http2_pair_test.h"

namespace muster::net {
namespace {

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

/// What came of a stream. A stream that is still open may end after a test has let go of this: what
/// it tells goes to a part that lasts as long as the stream.
struct Heard {
    struct What {
        std::promise<int> status;
        std::promise<void> closed;
        std::mutex guard;
        std::condition_variable more;
        std::string text;
    };
    std::shared_ptr<What> what = std::make_shared<What>();

    Http2Client::Stream stream() const {
        return {[to = what](const Response& head) { to->status.set_value(head.status); },
                [to = what](std::string_view piece) {
                    const std::lock_guard lock(to->guard);
                    to->text += piece;
                    to->more.notify_all();
                },
                [to = what] { to->closed.set_value(); }};
    }
    int status() const { return what->status.get_future().get(); }
    void wait_for_end() const { what->closed.get_future().wait(); }
    void wait_for(const std::string& end) const {
        std::unique_lock lock(what->guard);
        what->more.wait(lock, [&] { return what->text.ends_with(end); });
    }
};

Request watch(const std::string& path) {
    Request request;
    request.method = "GET";
    request.path = path;
    request.body = make_bytes("");
    return request;
}

Response plain() {
    Response head;
    head.headers.set("Content-Type", "text/plain");
    return head;
}

TEST_CASE("streams and whole answers share one connection; a cancelled stream is silent") {
    std::vector<std::shared_ptr<Responder>> open;
    std::set<std::string> peers;
    Pair pair([&](const Request& request, const std::shared_ptr<Responder>& responder) {
        peers.insert(request.peer.address);
        if (request.method == "POST") {
            for (const auto& one : open)
                one->write(request.body);
            return responder->respond(Response{200, {}, make_bytes("done")});
        }
        responder->begin(plain());
        open.push_back(responder);
    });
    constexpr std::size_t count = 40;
    std::vector<Heard> heard(count);
    std::vector<Http2Client::StreamId> ids(count);
    run_on(pair.loop, [&] {
        for (std::size_t i = 0; i < count; ++i)
            ids[i] = pair.client->open(watch("/w"), heard[i].stream());
    });
    for (Heard& one : heard)
        CHECK(one.status() == 200);
    const auto say = [&](const std::string& text) {
        std::promise<void> said;
        pair.loop.post([&] {
            pair.client->send(post("/say", text), [&](const Response&) { said.set_value(); });
        });
        said.get_future().wait();
    };
    say("one;");
    for (Heard& one : heard)
        one.wait_for("one;");
    run_on(pair.loop, [&] { pair.client->cancel(ids[0]); });
    say("two;");
    for (std::size_t i = 1; i < count; ++i)
        heard[i].wait_for("two;");
    CHECK(heard[0].what->text == "one;");
    run_on(pair.server->home, [&] {
        for (const auto& one : open)
            one->finish();
    });
    for (std::size_t i = 1; i < count; ++i)
        heard[i].wait_for_end();
    CHECK(peers.size() == 1);
    run_on(pair.server->home, [&] { open.clear(); });
}

/// Tells a responder one byte every millisecond, then ends it.
void trickle(AsioLoop& loop, const std::shared_ptr<Responder>& responder, int left) {
    if (left == 0) return responder->finish();
    responder->write(make_bytes("."));
    loop.after(milliseconds(1), [&loop, responder, left] { trickle(loop, responder, left - 1); });
}

TEST_CASE("what comes in many little pieces is taken in bundles by a client that gathers") {
    constexpr int count = 300;
    AsioLoop* home = nullptr;
    Pair pair(
        [&](const Request& request, const std::shared_ptr<Responder>& responder) {
            if (request.method == "POST")
                return responder->respond(
                    Response{200, {}, make_bytes(std::string(90'000, 'x') + *request.body)});
            responder->begin(plain());
            trickle(*home, responder, count);
        },
        seconds(1));
    home = &pair.server->home;
    // The first few are taken at once, then as many as come in a second: far fewer than pieces.
    int pieces = 0;
    int bundles = 0;
    bool in_bundle = false;
    std::promise<void> closed;
    Http2Client::Stream stream;
    stream.on_piece = [&](std::string_view piece) {
        pieces += static_cast<int>(piece.size());
        if (std::exchange(in_bundle, true)) return;
        ++bundles;
        pair.loop.post([&] { in_bundle = false; });
    };
    stream.on_closed = [&] { closed.set_value(); };
    run_on(pair.loop, [&] { pair.client->open(watch("/w"), std::move(stream)); });
    closed.get_future().wait();
    CHECK(pieces == count);
    CHECK(bundles < count / 3);
    // What is large does not wait for being gathered, and nothing of it is lost.
    std::promise<void> all;
    int answers = 0;
    pair.loop.post([&] {
        for (int i = 0; i < 100; ++i)
            pair.client->send(post("/x", std::to_string(i)), [&](const Response& answer) {
                CHECK(answer.body->size() > 90'000);
                if (++answers == 100) all.set_value();
            });
    });
    all.get_future().wait();
}

TEST_CASE("what had to wait for a connection does not go out when it may not any more") {
    std::atomic<int> arrived{0};
    Pair pair([&](const Request&, const std::shared_ptr<Responder>& responder) {
        ++arrived;
        responder->respond(Response{200, {}, make_bytes("")});
    });
    bool may_go = true;
    ClientOptions options = pair.client_options;
    options.may_go = [&](const Request& request) { return request.path == "/read" || may_go; };
    std::promise<void> all;
    std::vector<int> answers;
    const auto send = [&](const std::string& path) {
        pair.client->send(post(path, ""), [&](const Response& answer) {
            answers.push_back(answer.status);
            if (answers.size() == 3) all.set_value();
        });
    };
    run_on(pair.loop, [&] {
        pair.client = std::make_unique<Http2Client>(pair.loop, pair.target, options);
        send("/write");  // There is no connection yet.
        may_go = false;
        send("/write");
        send("/read");
        CHECK(answers.empty());
    });
    all.get_future().wait();
    std::sort(answers.begin(), answers.end());
    CHECK(answers == std::vector<int>{0, 0, 200});
    CHECK(arrived == 1);
}

TEST_CASE("a call that is never answered ends in time, though others on its connection are") {
    std::vector<std::shared_ptr<Responder>> held;
    std::set<std::string> peers;
    Pair pair([&](const Request& request, const std::shared_ptr<Responder>& responder) {
        peers.insert(request.peer.address);
        if (request.path == "/watch") responder->begin(plain());
        if (request.path != "/answered") return held.push_back(responder);
        responder->respond(Response{200, {}, make_bytes("")});
    });
    ClientOptions options = pair.client_options;
    options.response_timeout = seconds(5);
    pair.connect(options);
    Heard watched;
    std::promise<Response> lost;
    std::atomic<bool> is_over{false};
    std::atomic<int> unanswered{0};
    int answered = 0;
    std::promise<void> last;
    std::function<void()> ask = [&] {
        pair.client->send(post("/answered", ""), [&](const Response& answer) {
            if (answer.status != 200) ++unanswered;
            ++answered;
            if (is_over) return last.set_value();
            pair.loop.after(milliseconds(20), [&] { ask(); });
        });
    };
    run_on(pair.loop, [&] {
        pair.client->open(watch("/watch"), watched.stream());
        pair.client->send(post("/lost", ""), [&](Response got) { lost.set_value(std::move(got)); });
        ask();
    });
    auto end = lost.get_future();
    const bool ended = end.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    is_over = true;
    last.get_future().wait();
    REQUIRE(ended);
    const Response failure = end.get();
    CHECK(failure.status == 0);
    CHECK(*failure.body == "timed out");
    CHECK(unanswered == 0);
    CHECK(answered > 0);
    run_on(pair.server->home, [&] { held.front()->write(make_bytes("still here")); });
    watched.wait_for("still here");
    CHECK(peers.size() == 1);
    run_on(pair.server->home, [&] { held.clear(); });
}

TEST_CASE("a stream may be cancelled, and others opened, from inside of what it tells") {
    Pair pair([&](const Request& request, const std::shared_ptr<Responder>& responder) {
        responder->begin(plain());
        responder->write(make_bytes(request.path));
        responder->finish();
    });
    std::promise<std::string> second;
    std::string first;
    Http2Client::StreamId id{};
    pair.loop.post([&] {
        Http2Client::Stream stream;
        stream.on_piece = [&](std::string_view piece) {
            first += piece;
            pair.client->cancel(id);
            Http2Client::Stream next;
            next.on_piece = [&](std::string_view text) { second.set_value(std::string(text)); };
            pair.client->open(watch("/second"), std::move(next));
        };
        stream.on_closed = [&] { first += " closed"; };
        id = pair.client->open(watch("/first"), std::move(stream));
    });
    CHECK(second.get_future().get() == "/second");
    CHECK(first == "/first");
}

/// Accepts, shakes hands, reads, and from then on is as good as dead: nothing is answered.
struct Frozen {
    explicit Frozen(const Target& real) : to(real) {
        listener = open_listener("127.0.0.1", 0);
        sockaddr_in address{};
        socklen_t size = sizeof address;
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
        thread = std::thread([this] { carry(); });
    }
    ~Frozen() {
        over = true;
        thread.join();
        close(listener);
    }
    /// One connection after the other.
    void carry() {
        while (!over) {
            pollfd waiting{listener, POLLIN, 0};
            if (poll(&waiting, 1, 10) != 1) continue;
            const int client = accept(listener, nullptr, nullptr);
            const int server = dial_directly(to.host, to.port);
            pollfd connected{server, POLLOUT, 0};
            poll(&connected, 1, -1);
            carry_between(client, server);
            close(client);
            close(server);
        }
    }
    /// Moves bytes both ways until one end has gone; none while `frozen`.
    void carry_between(int client, int server) const {
        while (!over) {
            pollfd ends[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
            poll(ends, 2, 10);
            for (int i = 0; i < 2 && !frozen; ++i) {
                char buffer[65536];
                if ((ends[i].revents & POLLIN) == 0) continue;
                const auto got = read(ends[i].fd, buffer, sizeof buffer);
                if (got <= 0) return;
                send(ends[1 - i].fd, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL);
            }
        }
    }

    Target to;
    int listener = -1;
    int port = 0;
    std::atomic<bool> frozen{false};
    std::atomic<bool> over{false};
    std::thread thread;
};

TEST_CASE("a connection that has died in silence is noticed by a ping that nobody answers") {
    std::vector<std::shared_ptr<Responder>> open;
    Pair pair([&](const Request&, const std::shared_ptr<Responder>& responder) {
        responder->begin(plain());
        open.push_back(responder);
    });
    Frozen between(pair.target);
    ClientOptions options = pair.client_options;
    options.ping_after = milliseconds(20);
    options.ping_patience = milliseconds(300);
    Target target = pair.target;
    target.port = between.port;
    run_on(pair.loop,
           [&] { pair.client = std::make_unique<Http2Client>(pair.loop, target, options); });
    // On a busy machine a ping may come too late before anything is frozen: then once more.
    std::deque<Heard> heard;
    do {
        heard.emplace_back();
        run_on(pair.loop, [&] { pair.client->open(watch("/w"), heard.back().stream()); });
    } while (heard.back().status() != 200);
    between.frozen = true;
    heard.back().wait_for_end();
    run_on(pair.server->home, [&] { open.clear(); });
}

}  // namespace
}  // namespace muster::net

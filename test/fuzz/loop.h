// test/fuzz/loop.h - a loop that runs when told to, and sessions of a server fed with bytes on it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/loop.h"
#include "net/exchange.h"
#include "net/server_session.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {

/// Time stands still; timers never fire.
class StillLoop : public Loop {
public:
    Time now() const override { return Time{1'600'000'000'000'000'000}; }
    void post(Task task) override { tasks_.push_back(std::move(task)); }
    TimerId after(Duration, Task) override { return TimerId{++last_}; }
    void cancel(TimerId) override {}

    void run() {
        while (!tasks_.empty()) {
            const Task task = std::move(tasks_.front());
            tasks_.pop_front();
            task();
        }
    }

private:
    std::deque<Task> tasks_;
    std::uint64_t last_ = 0;
};

class DeafOutlet : public net::Outlet {
public:
    explicit DeafOutlet(std::shared_ptr<net::Standing> standing) {
        peer_.standing = std::move(standing);
    }
    void flush_soon() override {}
    void set_deadline(Duration) override {}
    const net::Peer& peer() const override { return peer_; }
    const std::string& protocol() const override { return protocol_; }

private:
    net::Peer peer_;
    std::string protocol_;
};

using MakeSession = std::unique_ptr<net::ServerSession> (*)(std::shared_ptr<const net::Rules>);

/// Answers a request whole, in shared pieces, as a stream that ends or breaks, or by an upgrade.
inline void answer(const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
    if (request.headers.get("upgrade") == "websocket") {
        responder->upgrade_websocket("");
        return;
    }
    const auto rope = std::make_shared<net::Rope>();
    rope->add(request.path);
    rope->add(request.body, request.body->size());
    rope->seal();
    net::Response response;
    response.body = request.body;
    if (request.charge) response.account = request.charge->account();
    switch (request.path.size() % 4) {
        case 0:
            return responder->respond(response);
        case 1:
            response.rope = rope;
            return responder->respond(response);
        default:
            response.body = nullptr;
            responder->begin(response);
            responder->write_rope(rope);
            responder->write(make_bytes(request.path));
            return request.path.size() % 4 == 2 ? responder->finish() : responder->cut();
    }
}

/// Lets every other path pass.
inline void decide(const net::Request& head, const std::function<void(net::Verdict)>& decided) {
    net::Verdict verdict;
    if (head.path.size() % 2 == 0) verdict.refusal = net::status_response(401, "Unauthorized", "");
    decided(std::move(verdict));
}

inline void feed_session(MakeSession make, std::string_view input, StillLoop& loop,
                         const std::shared_ptr<net::Ledger>& ledger) {
    const auto home = std::make_shared<const net::Home>(net::Home{loop, answer, decide});
    auto rules = std::make_shared<net::Rules>();
    rules->home = home;
    rules->io = std::make_shared<net::Mailbox>(loop);
    rules->body_limit = 1 << 16;
    rules->header_limit = 1 << 14;
    rules->request_timeout = seconds(60);
    rules->idle_timeout = seconds(60);
    DeafOutlet outlet(std::make_shared<net::Standing>(ledger, ledger->account("address")));
    const auto session = make(rules);
    session->opened(outlet);
    std::size_t piece = 1;
    while (!input.empty() && !session->finished()) {
        piece = std::min(input.size(), piece * 2);
        session->feed(input.substr(0, piece));
        input.remove_prefix(piece);
        loop.run();
        std::string out;
        session->pull(out, 1 << 16);
    }
    session->tick();
    session->closed("the end");
    loop.run();
    rules->io->close();
}

/// Feeds a connection's bytes in pieces to a session whose handler answers every request. What was
/// held for it has been given back at its end.
inline void feed_session(MakeSession make, std::string_view input) {
    StillLoop loop;
    const auto ledger =
        std::make_shared<net::Ledger>(net::Ledger::Limits{1 << 20, 1 << 16, 1 << 12, 1 << 19, 1});
    feed_session(make, input, loop, ledger);
    loop.run();
    demand(ledger->held() == 0, "nothing is held for a connection that is gone");
}

}  // namespace muster::fuzz

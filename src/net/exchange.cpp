// net/exchange.cpp - hands requests to the handler's thread and answers back to the connection's.
#include "net/exchange.h"

#include <utility>

#include "base/verify.h"
#include "net/gzip.h"

namespace muster::net {
void Way::tell(std::function<void(ServerSession&)> step) const {
    link->io->post([link = link, step = std::move(step)] {
        if (link->session) step(*link->session);
    });
}

SocketChannel::~SocketChannel() {
    close();
}

void SocketChannel::on_message(OnMessage handler) {
    on_message_ = std::move(handler);
    while (on_message_ && !early_.empty()) {
        const std::string message = std::move(early_.front());
        early_.pop_front();
        const OnMessage call = on_message_;  // It may set another.
        call(message);
    }
}

void SocketChannel::on_closed(OnClosed handler) {
    if (gone_ && handler) {
        home_.post(std::move(handler));
    } else {
        on_closed_ = std::move(handler);
    }
}

void SocketChannel::send(std::string message) {
    if (gone_ || closing_) return;
    ends_.flow->add(message.size());
    ends_.send(std::move(message));
    if (ends_.flow->is_too_much()) close();
}

void SocketChannel::read_no_faster_than(Backlog onward) {
    if (!gone_ && !closing_ && ends_.pace) ends_.pace(std::move(onward));
}

void SocketChannel::close() {
    if (gone_ || closing_) return;
    closing_ = true;
    ends_.close();
}

void SocketChannel::message_came(const std::string& message) {
    if (!on_message_) {
        early_.push_back(message);
        return;
    }
    const OnMessage call = on_message_;
    call(message);
}

void SocketChannel::connection_closed() {
    if (std::exchange(gone_, true)) return;
    const OnClosed call = std::exchange(on_closed_, nullptr);
    on_message_ = nullptr;
    if (call) call();
}

namespace {

/// What a request costs beside the bytes of its head: a stream, an exchange, what waits for it.
constexpr std::size_t request_cost = 6 << 10;
/// Taken apart, a head is larger than it came.
constexpr std::size_t head_factor = 3;
/// Smaller bodies are counted in what a request costs.
constexpr std::size_t small_body = 4 << 10;
/// So long a client may take nothing of an answer while others need the room.
constexpr int patience_ticks = 3;
constexpr std::size_t slowest_reader = 64 << 10;  // Bytes a second, while others want the room.

void pack(Response& response, Flow& flow) {
    response.headers.set("Content-Encoding", "gzip");
    if (response.rope) {
        // The rope is charged, and what it is packed into is made once: it stays with it.
        response.body = {response.rope, response.rope->packed().get()};
        response.rope = nullptr;
        flow.add(response.body->size());
        return;
    }
    flow.took(response.body->size());
    Charge charge(response.account, nullptr);
    response.body = make_bytes(gzip(*response.body));
    flow.add(response.body->size());
    charge.add(response.body->size());
    response.body = charged_bytes(std::move(response.body), std::move(charge));
}

}  // namespace

Exchange::Exchange(Way way, Loop& home, const Request& request)
    : way_(std::move(way)),
      home_(home),
      websocket_asked_(asks_for_websocket(request)),
      upgrade_asked_(asks_for_upgrade(request)),
      charge_(request.charge) {}

Exchange::~Exchange() {
    if (phase_ != Phase::waiting && phase_ != Phase::streaming) return;
    way_.tell([stream = way_.stream](ServerSession& session) { session.abandon(stream); });
}

void Exchange::respond(Response response) {
    VERIFY(phase_ == Phase::waiting);
    phase_ = Phase::complete;
    on_closed_ = nullptr;
    if (response.body && !response.rope) way_.flow->add(response.body->size());
    way_.tell([stream = way_.stream, flow = way_.flow,
               response = std::move(response)](ServerSession& session) mutable {
        if (response.packing == Response::Packing::gzip) pack(response, *flow);
        session.respond(stream, std::move(response));
    });
}

void Exchange::begin(Response head) {
    VERIFY(phase_ == Phase::waiting);
    phase_ = Phase::streaming;
    if (!head.account && charge_) head.account = charge_->account();
    if (!head.shares_pieces) way_.flow->account = head.account;
    way_.tell([stream = way_.stream, head = std::move(head)](ServerSession& session) mutable {
        session.begin(stream, std::move(head));
    });
}

void Exchange::write(Bytes piece) {
    VERIFY(phase_ == Phase::streaming);
    if (gone_ || piece->empty()) return;
    way_.flow->add(piece->size());
    way_.tell([stream = way_.stream, piece = std::move(piece)](ServerSession& session) mutable {
        session.write(stream, std::move(piece));
    });
    if (!way_.flow->is_too_much()) return;
    // Who writes goes on until it hears that the client is gone.
    way_.tell([stream = way_.stream](ServerSession& session) { session.cut(stream); });
}

void Exchange::write_rope(RopePtr rope) {
    VERIFY(phase_ == Phase::streaming);
    if (gone_) return;
    way_.tell([stream = way_.stream, rope = std::move(rope)](ServerSession& session) mutable {
        session.write_rope(stream, std::move(rope));
    });
}

void Exchange::cut() {
    VERIFY(phase_ == Phase::streaming);
    phase_ = Phase::complete;
    on_closed_ = nullptr;
    way_.tell([stream = way_.stream](ServerSession& session) { session.cut(stream); });
}

void Exchange::finish() {
    VERIFY(phase_ == Phase::streaming);
    phase_ = Phase::complete;
    on_closed_ = nullptr;
    way_.tell([stream = way_.stream](ServerSession& session) { session.finish(stream); });
}

void Exchange::on_closed(std::function<void()> handler) {
    if (phase_ == Phase::complete || phase_ == Phase::upgraded) return;
    if (gone_) {
        home_.post(std::move(handler));
    } else {
        on_closed_ = std::move(handler);
    }
}

std::shared_ptr<Channel> Exchange::upgrade_websocket(std::string subprotocol) {
    VERIFY(phase_ == Phase::waiting);
    if (!websocket_asked_) return nullptr;
    auto channel = make_channel();
    way_.tell([stream = way_.stream,
               subprotocol = std::move(subprotocol)](ServerSession& session) mutable {
        session.upgrade(stream, std::move(subprotocol));
    });
    return channel;
}

std::shared_ptr<Channel> Exchange::upgrade_raw(Response head) {
    VERIFY(phase_ == Phase::waiting);
    if (!upgrade_asked_) return nullptr;
    auto channel = make_channel();
    way_.tell([stream = way_.stream, head = std::move(head)](ServerSession& session) mutable {
        session.upgrade_raw(stream, std::move(head));
    });
    return channel;
}

std::shared_ptr<Channel> Exchange::make_channel() {
    phase_ = Phase::upgraded;
    on_closed_ = nullptr;
    if (charge_) way_.flow->account = charge_->account();
    SocketChannel::Ends ends;
    ends.send = [way = way_](std::string message) {
        way.tell([stream = way.stream, message = std::move(message)](ServerSession& s) mutable {
            s.send_message(stream, std::move(message));
        });
    };
    ends.close = [way = way_] {
        way.tell([stream = way.stream](ServerSession& session) { session.close_channel(stream); });
    };
    ends.pace = [way = way_](Backlog onward) {
        way.tell([stream = way.stream, onward = std::move(onward)](ServerSession& s) mutable {
            s.read_no_faster_than(stream, std::move(onward));
        });
    };
    ends.flow = way_.flow;
    ends.kept = shared_from_this();
    auto channel = std::make_shared<SocketChannel>(std::move(ends), home_);
    channel_ = channel;
    if (gone_) channel->connection_closed();
    return channel;
}

void Exchange::message_came(const std::string& message) {
    if (const auto channel = channel_.lock()) channel->message_came(message);
}

void Exchange::body_came(std::string piece) {
    if (const auto body = body_.lock()) body->piece_came(std::move(piece));
}

void Exchange::body_ended() {
    if (const auto body = body_.lock()) body->ended();
}

void Exchange::connection_closed() {
    if (std::exchange(gone_, true)) return;
    if (const auto body = body_.lock()) body->broke();
    if (const auto channel = channel_.lock()) channel->connection_closed();
    const auto call = std::exchange(on_closed_, nullptr);
    if (call && phase_ != Phase::complete) call();
}

Pending deliver(std::shared_ptr<const Home> home, std::shared_ptr<Link> link,
                ServerSession::Stream stream, Request request, Body body) {
    auto flow = std::make_shared<Flow>();
    auto charge = request.charge;
    const Way way{std::move(link), stream, flow};
    auto exchange = std::make_shared<Exchange>(way, home->loop, request);
    if (body == Body::coming) {
        request.body_stream = std::make_shared<BodyStream>([way](std::size_t bytes) {
            way.tell([stream = way.stream, bytes](ServerSession& session) {
                session.body_taken(stream, bytes);
            });
        });
        exchange->set_body(request.body_stream);
    }
    // The handler's thread must be the one that lets go of the last reference. So the connection's
    // thread keeps only a weak one, and looks at it only there.
    const std::weak_ptr<Exchange> weak = exchange;
    Loop& loop = home->loop;
    loop.post([home = std::move(home), exchange = std::move(exchange),
               request = std::move(request)]() mutable {
        home->handler(std::move(request), std::move(exchange));
    });
    return {std::move(flow),
            [&loop, weak](std::function<void(Exchange&)> step) {
                loop.post([weak, step = std::move(step)] {
                    if (const auto alive = weak.lock()) step(*alive);
                });
            },
            std::move(charge)};
}

bool charge_request(Request& request, std::size_t head_size, std::size_t body_window) {
    const auto& standing = request.peer.standing;
    if (!standing) return true;
    request.charge = std::make_shared<Charge>(standing->account(), standing);
    return request.charge->grow(request_cost + head_factor * head_size + body_window);
}

Bytes charged_body(std::string body, const Request& request, std::shared_ptr<Account> account) {
    const auto& standing = request.peer.standing;
    Bytes bytes = make_bytes(std::move(body));
    if (!standing || bytes->size() <= small_body) return bytes;
    Charge charge(account ? std::move(account) : standing->account(), standing);
    charge.add(bytes->size());
    return charged_bytes(std::move(bytes), std::move(charge));
}

bool ask_gate(const std::shared_ptr<const Home>& home, std::shared_ptr<Link> link,
              ServerSession::Stream stream, Request head) {
    if (!home->gate) return false;
    const Way way{std::move(link), stream, nullptr};
    home->loop.post([home, way, head = std::move(head)]() mutable {
        home->gate(std::move(head), [way](Verdict verdict) {
            way.tell([stream = way.stream, verdict = std::move(verdict)](ServerSession& s) mutable {
                s.decided(stream, std::move(verdict));
            });
        });
    });
    return true;
}

bool Stall::has_lasted(std::size_t taken, bool waits) {
    ticks = !waits || taken >= slowest_reader ? 0 : ticks + 1;
    return ticks >= patience_ticks && account && account->is_over();
}

Response too_many_response(const std::string& message) {
    Response response = status_response(429, "TooManyRequests", message);
    response.headers.set("Retry-After", "1");
    return response;
}

bool asks_for_upgrade(const Request& request) {
    return has_token(request.headers.get("Connection"), "upgrade") &&
           !request.headers.get("Upgrade").empty();
}

bool asks_for_websocket(const Request& request) {
    return request.method == "GET" && has_token(request.headers.get("Connection"), "upgrade") &&
           has_token(request.headers.get("Upgrade"), "websocket") &&
           request.headers.get("Sec-WebSocket-Version") == "13" &&
           !request.headers.get("Sec-WebSocket-Key").empty();
}

Response status_response(int code, const char* reason, const std::string& message) {
    std::string quoted;
    for (const char c : message) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    Response response;
    response.status = code;
    response.headers.set("Content-Type", "application/json");
    response.body = make_bytes(
        R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")" +
        quoted + R"(","reason":")" + reason + R"(","code":)" + std::to_string(code) + "}\n");
    return response;
}

std::string too_large_text(std::size_t limit) {
    return "Request entity too large: limit is " + std::to_string(limit);
}

}  // namespace muster::net

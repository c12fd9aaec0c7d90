// net/exchange.h - one request on its way to the handler and its answer on the way back, across two
// threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "net/http.h"
#include "net/mailbox.h"
#include "net/session.h"

namespace muster::net {

/// What a connection's thread knows of the handler's side.
struct Home {
    Loop& loop;
    Handler handler;
    Gate gate;  // Empty: every body is read.
};

/// How the handler's side reaches a session: through the mailbox of its thread, where `session` is
/// null once the connection is gone.
struct Link {
    std::shared_ptr<Mailbox> io;
    ServerSession* session = nullptr;  // Only on the connection's thread.
};

/// Reading of raw bytes and of messages pauses while the way onward holds more than this.
constexpr std::size_t onward_limit = 1 << 20;

/// How far bytes that came on an upgraded connection have got; on the connection's thread.
struct Onward {
    std::shared_ptr<Flow> home = std::make_shared<Flow>();  // Waiting for the handler's thread.
    Backlog beyond;  // What the handler passed on; may be null.
    bool is_full() const { return home->waiting + (beyond ? beyond->load() : 0) > onward_limit; }
};

/// Which request on which connection.
struct Way {
    std::shared_ptr<Link> link;
    ServerSession::Stream stream = 0;
    std::shared_ptr<Flow> flow;

    /// Runs `step` on the connection's thread if the connection is still there.
    void tell(std::function<void(ServerSession&)> step) const;
};

/// A WebSocket on the side of whoever uses it; its frames are made on the connection's thread.
class SocketChannel final : public Channel {
public:
    /// How it reaches the connection.
    struct Ends {
        std::function<void(std::string)> send;
        std::function<void()> close;
        std::function<void(Backlog)> pace;
        std::shared_ptr<Flow> flow;
        std::shared_ptr<void> kept;  // What messages come through.
    };

    SocketChannel(Ends ends, Loop& home) : ends_(std::move(ends)), home_(home) {}
    ~SocketChannel() override;

    void on_message(OnMessage handler) override;
    void on_closed(OnClosed handler) override;
    void send(std::string message) override;
    void close() override;
    std::size_t buffered() const override { return ends_.flow->waiting.load(); }
    Backlog backlog() const override { return {ends_.flow, &ends_.flow->waiting}; }
    void read_no_faster_than(Backlog onward) override;

    void message_came(const std::string& message);
    void connection_closed();

private:
    Ends ends_;
    Loop& home_;
    OnMessage on_message_;
    OnClosed on_closed_;
    std::deque<std::string> early_;  // Came before there was a handler for them.
    bool closing_ = false;
    bool gone_ = false;
};

/// The way back for one request. Lives on the handler's loop.
class Exchange final : public Responder, public std::enable_shared_from_this<Exchange> {
public:
    Exchange(Way way, Loop& home, const Request& request);
    ~Exchange() override;

    void respond(Response response) override;
    void begin(Response head) override;
    void write(Bytes piece) override;
    void write_rope(RopePtr rope) override;
    void finish() override;
    void cut() override;
    std::size_t buffered() const override { return way_.flow->waiting.load(); }
    Backlog backlog() const override { return {way_.flow, &way_.flow->waiting}; }
    void on_closed(std::function<void()> handler) override;
    std::shared_ptr<Channel> upgrade_websocket(std::string subprotocol) override;
    std::shared_ptr<Channel> upgrade_raw(Response head) override;

    void message_came(const std::string& message);
    void connection_closed();
    void set_body(std::weak_ptr<BodyStream> body) { body_ = std::move(body); }
    void body_came(std::string piece);
    void body_ended();

private:
    std::shared_ptr<Channel> make_channel();

    enum class Phase { waiting, streaming, upgraded, complete };
    Way way_;
    Loop& home_;
    bool websocket_asked_;
    bool upgrade_asked_;
    Phase phase_ = Phase::waiting;
    bool gone_ = false;
    std::function<void()> on_closed_;
    std::weak_ptr<SocketChannel> channel_;
    std::weak_ptr<BodyStream> body_;
    std::shared_ptr<Charge> charge_;  // Of the request; an upgraded connection keeps it.
};

/// What a session keeps of a request that is with the handler.
struct Pending {
    std::shared_ptr<Flow> flow;
    std::function<void(std::function<void(Exchange&)>)> at_home;  // Runs it there if still alive.
    std::shared_ptr<Charge> charge;                               // Until its answer has gone.
};

/// Posts a request to the handler, its body whole or still to come.
enum class Body { whole, coming };
Pending deliver(std::shared_ptr<const Home> home, std::shared_ptr<Link> link,
                ServerSession::Stream stream, Request request, Body body = Body::whole);

/// Charges the connection for a request with a head of so many bytes, and what may be under way of
/// a body that is passed on. False: there is no room.
[[nodiscard]] bool charge_request(Request& request, std::size_t head_size,
                                  std::size_t body_window = 0);

/// Charges a body that is there.
Bytes charged_body(std::string body, const Request& request, std::shared_ptr<Account> account);

/// Asks the gate about a request by its head; the session hears `decided`. False: there is none.
bool ask_gate(const std::shared_ptr<const Home>& home, std::shared_ptr<Link> link,
              ServerSession::Stream stream, Request head);

/// Whose answer is held while its client takes nothing, and for how long.
struct Stall {
    std::shared_ptr<Account> account;
    int ticks = 0;
    /// A second has passed in which the client took so many bytes, or had nothing to take; true
    /// when it is too slow and others need the room that is held for it.
    bool has_lasted(std::size_t taken, bool waits);
};

/// The answer to who holds too much: 429 with Retry-After.
Response too_many_response(const std::string& message);

/// True when the request asks for a WebSocket that this server can speak.
bool asks_for_websocket(const Request& request);

/// A Status object as Kubernetes' clients read it, for what the server itself has to refuse.
Response status_response(int code, const char* reason, const std::string& message);

/// What a failure of a WebSocket or a body limit is called.
std::string too_large_text(std::size_t limit);

}  // namespace muster::net

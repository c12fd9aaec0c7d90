// kube/in_process_transport.cpp - a responder whose other end is a callback on another loop.
#include "kube/in_process_transport.h"

#include <atomic>
#include <map>
#include <utility>

#include "base/verify.h"

namespace muster::kube {

struct InProcessTransport::State {
    net::Handler handler;
    Loop& server_loop;
    Loop& own_loop;
    std::string who;
    // Only touched on the own loop.
    std::uint64_t last_stream = 0;
    std::map<std::uint64_t, Stream> streams;
    std::map<std::uint64_t, std::shared_ptr<net::Responder>> responders;
};

namespace {

/// One request's way back. The server's side runs on the server loop; what arrives at the caller is
/// posted.
class Reply : public net::Responder {
public:
    struct Events {
        std::function<void(net::Response)>
            whole;  // Also used for the head of a stream that is answered whole.
        std::function<void(net::Response)> head;
        std::function<void(Bytes)> piece;
        std::function<void()> closed;
    };

    Reply(Loop& own_loop, Events events) : own_loop_(own_loop), events_(std::move(events)) {}

    void respond(net::Response response) override {
        own_loop_.post([self = events_.whole, response = std::move(response)]() mutable {
            self(std::move(response));
        });
    }

    void begin(net::Response head) override {
        own_loop_.post(
            [self = events_.head, head = std::move(head)]() mutable { self(std::move(head)); });
    }

    void write(Bytes piece) override {
        auto waiting = waiting_;
        *waiting += piece->size();
        own_loop_.post([self = events_.piece, piece = std::move(piece), waiting] {
            *waiting -= piece->size();
            self(piece);
        });
    }

    void finish() override { own_loop_.post(events_.closed); }

    std::size_t buffered() const override { return *waiting_; }

    void on_closed(std::function<void()> handler) override {
        on_closed_ = std::move(handler);
        if (cancelled_ && on_closed_) std::exchange(on_closed_, nullptr)();
    }

    net::Backlog backlog() const override { return waiting_; }
    std::shared_ptr<net::Channel> upgrade_websocket(std::string) override { return nullptr; }
    std::shared_ptr<net::Channel> upgrade_raw(net::Response) override { return nullptr; }

    /// The caller has lost interest. On the server loop.
    void cancel() {
        cancelled_ = true;
        if (on_closed_) std::exchange(on_closed_, nullptr)();
    }

private:
    Loop& own_loop_;
    Events events_;
    std::shared_ptr<std::atomic<std::size_t>> waiting_ =
        std::make_shared<std::atomic<std::size_t>>(0);
    std::function<void()> on_closed_;
    bool cancelled_ = false;
};

}  // namespace

InProcessTransport::InProcessTransport(net::Handler handler, Loop& server_loop, Loop& own_loop,
                                       std::string who)
    : state_(std::make_shared<State>(
          State{std::move(handler), server_loop, own_loop, std::move(who), 0, {}, {}})) {}

InProcessTransport::~InProcessTransport() {
    while (!state_->streams.empty())
        cancel(StreamId{state_->streams.begin()->first});
}

namespace {

void sign(net::Request& request, const std::string& who) {
    request.peer.trusted = true;
    request.peer.address = "in-process";
    request.peer.certificate_name = "system:muster:" + who;
    request.peer.certificate_groups = {"system:masters"};
    if (!request.headers.has("User-Agent")) request.headers.set("User-Agent", who);
}

}  // namespace

void InProcessTransport::send(net::Request request, OnResponse on_response) {
    sign(request, state_->who);
    auto body = std::make_shared<std::string>();
    auto head = std::make_shared<net::Response>();
    Reply::Events events;
    events.whole = on_response;
    events.head = [head](net::Response response) { *head = std::move(response); };
    events.piece = [body](const Bytes& piece) { *body += *piece; };
    events.closed = [head, body, on_response] {
        head->body = make_bytes(std::move(*body));
        on_response(std::move(*head));
    };
    auto reply = std::make_shared<Reply>(state_->own_loop, std::move(events));
    state_->server_loop.post([state = state_, request = std::move(request), reply]() mutable {
        state->handler(std::move(request), reply);
    });
}

Transport::StreamId InProcessTransport::open(net::Request request, Stream stream) {
    sign(request, state_->who);
    const std::uint64_t id = ++state_->last_stream;
    state_->streams[id] = std::move(stream);
    // Every callback looks its stream up again: it may have been cancelled meanwhile.
    Reply::Events events;
    const auto close = [state = state_, id] {
        const auto found = state->streams.find(id);
        if (found == state->streams.end()) return;
        auto on_closed = std::move(found->second.on_closed);
        state->streams.erase(found);
        state->responders.erase(id);
        if (on_closed) on_closed();
    };
    const auto with = [state = state_, id](auto&& use) {
        const auto found = state->streams.find(id);
        if (found == state->streams.end()) return;
        const Stream copy = found->second;  // A callback may cancel the stream it is called from.
        use(copy);
    };
    events.head = [with](const net::Response& head) {
        with([&](const Stream& s) {
            if (s.on_head) s.on_head(head);
        });
    };
    events.piece = [with](const Bytes& piece) {
        with([&](const Stream& s) {
            if (s.on_piece) s.on_piece(*piece);
        });
    };
    events.whole = [with, close](const net::Response& response) {
        with([&](const Stream& s) {
            if (s.on_head) s.on_head(response);
        });
        with([&](const Stream& s) {
            if (s.on_piece && response.body != nullptr) s.on_piece(*response.body);
        });
        close();
    };
    events.closed = close;
    auto reply = std::make_shared<Reply>(state_->own_loop, std::move(events));
    state_->responders[id] = reply;
    state_->server_loop.post([state = state_, request = std::move(request), reply]() mutable {
        state->handler(std::move(request), reply);
    });
    return StreamId{id};
}

void InProcessTransport::cancel(StreamId stream) {
    const auto id = static_cast<std::uint64_t>(stream);
    state_->streams.erase(id);
    const auto found = state_->responders.find(id);
    if (found == state_->responders.end()) return;
    state_->server_loop.post([reply = found->second] { static_cast<Reply&>(*reply).cancel(); });
    state_->responders.erase(found);
}

}  // namespace muster::kube

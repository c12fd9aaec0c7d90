// net/http2_client.cpp - the connections under an Http2Client: the newest takes requests, older
// ones end in peace.
#include "net/http2_client.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/verify.h"
#include "net/dial.h"
#include "net/http2_client_session.h"
#include "net/tls.h"
#include "net/wire.h"

namespace muster::net {
namespace {

constexpr Duration tick_every = milliseconds(250);

}  // namespace

struct Http2Client::State : std::enable_shared_from_this<Http2Client::State> {
    State(AsioLoop& own_loop, Target to, ClientOptions given)
        : loop(own_loop), target(std::move(to)), options(std::move(given)) {}

    AsioLoop& loop;
    Target target;
    ClientOptions options;
    TlsContextPtr tls;
    std::map<std::uint64_t, std::unique_ptr<Wire>> wires;
    std::map<std::uint64_t, Http2CallPtr> streams;
    std::uint64_t next_wire = 1;
    std::uint64_t next_stream = 1;
    bool ticking = false;

    static Http2ClientSession& session_on(Wire& wire) {
        return static_cast<Http2ClientSession&>(wire.session());
    }
    void run(const Http2CallPtr& call);
    void fail_later(const Http2CallPtr& call, const std::string& why);
    std::string connect();
    void tick();
};

void Http2Client::State::run(const Http2CallPtr& call) {
    if (call->cancelled) return;
    if (options.may_go && !options.may_go(call->request)) return fail_later(call, too_late);
    if (wires.empty() || !session_on(*wires.rbegin()->second).takes_requests()) {
        if (const std::string why = connect(); !why.empty()) return fail_later(call, why);
    }
    session_on(*wires.rbegin()->second).start(call);
}

void Http2Client::State::fail_later(const Http2CallPtr& call, const std::string& why) {
    loop.post([weak = weak_from_this(), call, why] {
        if (weak.lock()) call->fail(why);
    });
}

/// Empty, or why it cannot be.
std::string Http2Client::State::connect() {
    const int fd = options.dial(target.host, target.port);
    if (fd < 0)
        return "cannot connect to " + target.host + ":" + std::to_string(target.port) + ": " +
               std::strerror(errno);
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Peer peer;
    peer.address = target.host + ":" + std::to_string(target.port);
    auto session = std::make_unique<Http2ClientSession>(
        peer.address, options, [weak = weak_from_this()](const Http2CallPtr& call) {
            const auto self = weak.lock();
            if (!self) return;
            self->loop.post([weak, call] {
                if (const auto here = weak.lock()) here->run(call);
            });
        });
    const std::uint64_t id = next_wire++;
    auto wire = std::make_unique<Wire>(
        loop, fd, connect_over(tls.get(), fd, options.tls, target.host, Offer::http2),
        std::move(peer), std::move(session), [weak = weak_from_this(), id] {
            if (const auto self = weak.lock()) self->wires.erase(id);
        });
    Wire& started = *wire;
    wires[id] = std::move(wire);
    if (options.gather.nanoseconds > 0) started.gather(options.gather);
    started.start(options.connect_timeout);
    if (!std::exchange(ticking, true))
        loop.after(tick_every, [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->tick();
        });
    return "";
}

void Http2Client::State::tick() {
    for (const auto& [id, wire] : wires)
        wire->tick();
    ticking = !wires.empty();
    if (!ticking) return;
    loop.after(tick_every, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tick();
    });
}

Http2Client::Http2Client(AsioLoop& loop, Target target, ClientOptions options)
    : state_(std::make_shared<State>(loop, std::move(target), std::move(options))) {
    VERIFY(state_->target.scheme == Target::Scheme::https);
    state_->tls = client_context(state_->options.tls);
    if (!state_->options.dial) state_->options.dial = dial_directly;
}

Http2Client::~Http2Client() = default;

void Http2Client::send(Request request, OnResponse on_response) {
    VERIFY(on_response != nullptr);
    auto call = std::make_shared<Http2Call>();
    call->answer.status = 0;
    call->request = std::move(request);
    call->on_response = std::move(on_response);
    state_->run(call);
}

Http2Client::StreamId Http2Client::open(Request request, Stream stream) {
    const std::uint64_t id = state_->next_stream++;
    auto call = std::make_shared<Http2Call>();
    call->answer.status = 0;
    call->request = std::move(request);
    call->stream = std::move(stream);
    call->stream.on_closed = [weak = std::weak_ptr<State>(state_), id,
                              on_closed = std::move(call->stream.on_closed)] {
        if (const auto state = weak.lock()) state->streams.erase(id);
        if (on_closed) on_closed();
    };
    state_->streams[id] = call;
    state_->run(call);
    return StreamId{id};
}

void Http2Client::use_certificate(const std::string& certificate_pem, const std::string& key_pem) {
    ClientTls tls = state_->options.tls;
    tls.certificate_pem = certificate_pem;
    tls.key_pem = key_pem;
    state_->tls = client_context(tls);
    state_->options.tls = std::move(tls);
    for (const auto& [id, wire] : state_->wires)
        State::session_on(*wire).leave();
}

void Http2Client::cancel(StreamId stream) {
    const auto at = state_->streams.find(static_cast<std::uint64_t>(stream));
    if (at == state_->streams.end()) return;
    const Http2CallPtr call = at->second;
    state_->streams.erase(at);
    call->cancelled = true;
    for (const auto& [id, wire] : state_->wires)
        State::session_on(*wire).cancel(call);
}

}  // namespace muster::net

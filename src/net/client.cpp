// net/client.cpp - finds or makes a connection for each call, and brings answers home.
#include "net/client.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "base/verify.h"
#include "net/dial.h"
#include "net/http1_client.h"
#include "net/secret.h"
#include "net/tls.h"
#include "net/wire.h"

namespace muster::net {
namespace {

constexpr Duration tick_every = milliseconds(250);

std::string to_text(const Target& target) {
    const bool six = target.host.find(':') != std::string::npos;
    return (six ? "[" + target.host + "]" : target.host) + ":" + std::to_string(target.port);
}

std::string request_bytes(const Target& target, const Request& request) {
    std::string text = request.method + " " + target_text(request) + " HTTP/1.1\r\n";
    if (!request.headers.has("Host")) text += "Host: " + to_text(target) + "\r\n";
    for (const auto& [name, value] : request.headers.fields) {
        if (equal_ignoring_case(name, "Content-Length")) continue;
        if (equal_ignoring_case(name, "Transfer-Encoding")) continue;
        text += name + ": " + header_text(value) + "\r\n";
    }
    if (request.body_stream) {
        const auto known = request.headers.get("Content-Length");
        text += known.empty() ? "Transfer-Encoding: chunked\r\n"
                              : "Content-Length: " + std::string(known) + "\r\n";
        return text + "\r\n";
    }
    const std::size_t size = request.body ? request.body->size() : 0;
    const bool may_be_bare = request.method == "GET" || request.method == "HEAD" ||
                             request.method == "DELETE" || request.method == "OPTIONS";
    if (size > 0 || !may_be_bare) text += "Content-Length: " + std::to_string(size) + "\r\n";
    text += "\r\n";
    if (size > 0) text += *request.body;
    return text;
}

Response failure(const std::string& why) {
    Response response;
    response.status = 0;
    response.body = make_bytes(why);
    return response;
}

}  // namespace

/// Everything but `gates` and `alive` is on the sockets' thread.
struct Client::State : std::enable_shared_from_this<Client::State> {
    struct Connection {
        std::unique_ptr<Wire> wire;
        Target target;
        bool outdated = false;  // Made with a certificate that has been replaced.
    };

    State(AsioLoop& io_loop, Loop& home_loop, ClientOptions given)
        : io(io_loop), home(home_loop), options(std::move(given)) {}

    AsioLoop& io;
    Loop& home;
    ClientOptions options;
    TlsContextPtr tls;  // The machine's own authorities are many: not before somebody is asked.
    SSL_CTX* context() {
        if (tls == nullptr) tls = client_context(options.tls);
        return tls.get();
    }
    ClientTls identity;  // At home: as `options.tls` is, or will be in a moment.
    std::unordered_map<std::uint64_t, Connection> connections;
    std::unordered_map<std::uint64_t, std::uint64_t> calls;  // Stream to connection.
    std::uint64_t next_connection = 1;
    bool ticking = false;
    bool ended = false;

    // At home:
    std::shared_ptr<bool> alive = std::make_shared<bool>(true);
    std::unordered_map<std::uint64_t, std::shared_ptr<bool>> gates;  // Of open streams and sends.
    std::uint64_t next_stream = 1;

    void run(const Target& target, std::unique_ptr<Call> call);
    void connect(const Target& target, std::unique_ptr<Call> call);
    void gone(std::uint64_t connection);
    void tick();
    void end_stream(std::uint64_t stream);
    void end();
    Http1ClientSession* session_of(std::uint64_t stream);
    static Http1ClientSession& session_on(Connection& connection) {
        return static_cast<Http1ClientSession&>(connection.wire->session());
    }
    std::unique_ptr<Call> new_call(const Target& target, const Request& request, Call::Kind kind);
    void post_run(Target target, std::unique_ptr<Call> call);
    std::function<void(std::function<void()>)> way_home(std::shared_ptr<bool> gate);
    void pass_body_on(std::uint64_t id, BodyStream& body);
    SocketChannel::Ends channel_ends(std::uint64_t id);
    void open_channel(Target target, std::unique_ptr<Call> call, OnChannel on_channel);
};

Client::Client(AsioLoop& io, Loop& home, ClientOptions options)
    : state_(std::make_shared<State>(io, home, std::move(options))) {
    const ClientTls& tls = state_->options.tls;
    state_->identity = tls;
    // What is damaged is said at once.
    if (!tls.authority_pem.empty() || !tls.certificate_pem.empty()) state_->context();
}

Client::~Client() {
    *state_->alive = false;
    // A loop that nobody runs would keep the connections until it is destroyed.
    if (state_->io.on_this_thread() || !state_->io.is_running()) {
        state_->end();
    } else {
        state_->io.post([state = state_] { state->end(); });
    }
}

/// Uses a kept connection when there is one.
void Client::State::run(const Target& target, std::unique_ptr<Call> call) {
    if (ended) return;
    const bool may_reuse = call->repeatable || options.reuse == ClientOptions::Reuse::always;
    for (auto& [id, connection] : connections) {
        if (!may_reuse) break;
        if (connection.target != target || connection.outdated || !session_on(connection).idle())
            continue;
        calls[call->stream] = id;
        return session_on(connection).start(std::move(call));
    }
    connect(target, std::move(call));
}

void Client::State::connect(const Target& target, std::unique_ptr<Call> call) {
    const int fd = options.dial ? options.dial(target.host, target.port)
                                : dial_directly(target.host, target.port);
    if (fd < 0) {
        call->on_head(
            failure("cannot connect to " + to_text(target) + ": " + std::strerror(errno)));
        if (call->on_end) call->on_end();
        return;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    TlsPtr secure = target.scheme == Target::Scheme::https
                        ? connect_over(context(), fd, options.tls, target.host)
                        : nullptr;
    const std::uint64_t id = next_connection++;
    Http1ClientSession::Owner owner;
    owner.on_idle = [this, id] { connections.at(id).wire->set_deadline(options.idle_timeout); };
    owner.again = [this, target](std::unique_ptr<Call> unanswered) {
        post_run(target, std::move(unanswered));
    };
    auto session = std::make_unique<Http1ClientSession>(std::move(owner));
    calls[call->stream] = id;
    session->start(std::move(call));
    Peer peer;
    peer.address = to_text(target);
    auto wire = std::make_unique<Wire>(io, fd, std::move(secure), std::move(peer),
                                       std::move(session), [state = weak_from_this(), id] {
                                           if (const auto here = state.lock()) here->gone(id);
                                       });
    Wire& started = *wire;
    connections[id] = {std::move(wire), target, false};
    started.start(options.connect_timeout);
    if (!std::exchange(ticking, true))
        io.after(tick_every, [state = shared_from_this()] { state->tick(); });
}

void Client::State::gone(std::uint64_t connection) {
    std::erase_if(calls, [&](const auto& call) { return call.second == connection; });
    connections.erase(connection);
}

void Client::State::tick() {
    for (auto& [id, connection] : connections)
        connection.wire->tick();
    ticking = !connections.empty() && !ended;
    if (ticking) io.after(tick_every, [state = shared_from_this()] { state->tick(); });
}

Http1ClientSession* Client::State::session_of(std::uint64_t stream) {
    const auto at = calls.find(stream);
    return at == calls.end() ? nullptr : &session_on(connections.at(at->second));
}

void Client::State::end_stream(std::uint64_t stream) {
    if (Http1ClientSession* session = session_of(stream)) {
        session->drop_call();
        connections.at(calls.at(stream)).wire->close("cancelled");
    }
}

void Client::State::end() {
    ended = true;
    for (auto& [id, connection] : connections)
        session_on(connection).drop_call();
    connections.clear();
    calls.clear();
}

std::unique_ptr<Call> Client::State::new_call(const Target& target, const Request& request,
                                              Call::Kind kind) {
    auto call = std::make_unique<Call>();
    call->kind = kind;
    call->bytes = request_bytes(target, request);
    call->head_only = request.method == "HEAD";
    call->repeatable = request.method == "GET" || request.method == "HEAD";
    call->response_timeout = options.response_timeout;
    call->limit = options.response_limit;
    call->cuts = options.beyond_limit == ClientOptions::Beyond::cut;
    if (options.may_go)
        call->may_go = [may_go = options.may_go, request] { return may_go(request); };
    return call;
}

void Client::State::post_run(Target target, std::unique_ptr<Call> call) {
    // A task must be copyable; the call moves through a shared place.
    auto held = std::make_shared<std::unique_ptr<Call>>(std::move(call));
    io.post([state = shared_from_this(), target = std::move(target), held] {
        state->run(target, std::move(*held));
    });
}

/// Brings a step home; it is dropped there when the client or the stream has ended by then.
std::function<void(std::function<void()>)> Client::State::way_home(std::shared_ptr<bool> gate) {
    return [&to = home, alive_here = alive, gate = std::move(gate)](std::function<void()> step) {
        to.post([alive_here, gate, step = std::move(step)] {
            if (*alive_here && *gate) step();
        });
    };
}

Client::StreamId Client::send(Target target, Request request, OnResponse on_response) {
    VERIFY(state_->options.response_limit > 0);
    const std::uint64_t id = state_->next_stream++;
    const auto gate = std::make_shared<bool>(true);
    state_->gates[id] = gate;
    auto call = state_->new_call(target, request, Call::Kind::whole);
    call->on_head = [home = state_->way_home(gate), state = state_.get(), id,
                     on_response = std::move(on_response)](Response response) {
        // `state` lives: `home` drops the step once the client has gone.
        home([state, id, on_response, response = std::move(response)] {
            state->gates.erase(id);
            on_response(response);
        });
    };
    call->stream = id;
    state_->post_run(std::move(target), std::move(call));
    return StreamId{id};
}

Client::StreamId Client::open(Target target, Request request, Stream stream) {
    const std::uint64_t id = state_->next_stream++;
    const auto gate = std::make_shared<bool>(true);
    state_->gates[id] = gate;
    const auto home = state_->way_home(gate);
    const auto calls = std::make_shared<Stream>(std::move(stream));
    auto call = state_->new_call(target, request, Call::Kind::stream);
    call->on_head = [home, calls](Response head) {
        home([calls, head = std::move(head)] {
            if (calls->on_head) calls->on_head(head);
        });
    };
    call->onward.beyond = std::move(calls->onward);
    call->on_piece = [home, calls, held = call->onward.home](std::string piece) {
        home([calls, held, piece = std::move(piece)] {
            if (calls->on_piece) calls->on_piece(piece);
            held->waiting -= piece.size();
        });
    };
    call->on_end = [home, calls, state = state_.get(), id] {
        // `state` lives: `home` drops the step once the client has gone.
        home([calls, state, id] {
            state->gates.erase(id);
            if (calls->on_closed) calls->on_closed();
        });
    };
    call->on_broken = [home, calls](std::string why) {
        home([calls, why = std::move(why)] {
            if (calls->on_broken) calls->on_broken(why);
        });
    };
    call->stream = id;
    if (!request.body_stream) {
        state_->post_run(std::move(target), std::move(call));
        return StreamId{id};
    }
    call->repeatable = false;
    call->upload =
        request.headers.has("Content-Length") ? Call::Upload::sized : Call::Upload::chunked;
    call->on_sent = [home, body = request.body_stream](std::size_t bytes) {
        home([body, bytes] { body->taken(bytes); });
    };
    state_->post_run(std::move(target), std::move(call));
    state_->pass_body_on(id, *request.body_stream);
    return StreamId{id};
}

/// The pieces follow the call through the same queue, so they find its session.
void Client::State::pass_body_on(std::uint64_t id, BodyStream& body) {
    const auto self = shared_from_this();
    BodyStream::Reader reader;
    reader.piece = [self, id](std::string piece) {
        self->io.post([self, id, piece = std::move(piece)] {
            if (auto* session = self->session_of(id)) session->send_body(piece);
        });
    };
    reader.end = [self, id] {
        self->io.post([self, id] {
            if (auto* session = self->session_of(id)) session->end_body();
        });
    };
    reader.broken = [self, id] { self->io.post([self, id] { self->end_stream(id); }); };
    body.read(std::move(reader));
}

void Client::use_certificate(const std::string& certificate_pem, const std::string& key_pem) {
    state_->identity.certificate_pem = certificate_pem;
    state_->identity.key_pem = key_pem;
    // What is damaged is said at once. A task must be copyable; the context moves.
    const auto context = std::make_shared<TlsContextPtr>(client_context(state_->identity));
    state_->io.post([state = state_, tls = state_->identity, context] {
        state->tls = std::move(*context);
        state->options.tls = tls;
        for (auto& [id, connection] : state->connections)
            connection.outdated = true;
    });
}

void Client::cancel(StreamId stream) {
    canceller(stream)();
}

std::function<void()> Client::canceller(StreamId stream) {
    return [weak = std::weak_ptr<State>(state_), id = static_cast<std::uint64_t>(stream)] {
        const auto state = weak.lock();
        if (!state || !*state->alive) return;
        const auto at = state->gates.find(id);
        if (at == state->gates.end()) return;
        *at->second = false;
        state->gates.erase(at);
        state->io.post([state, id] { state->end_stream(id); });
    };
}

void Client::open_websocket(Target target, Request request, std::string subprotocols,
                            OnChannel on_channel) {
    const std::string key = to_base64(secret_bytes(16));
    request.headers.set("Connection", "Upgrade");
    request.headers.set("Upgrade", "websocket");
    request.headers.set("Sec-WebSocket-Version", "13");
    request.headers.set("Sec-WebSocket-Key", key);
    if (!subprotocols.empty()) request.headers.set("Sec-WebSocket-Protocol", subprotocols);
    auto call = state_->new_call(target, request, Call::Kind::websocket);
    call->websocket_key = key;
    state_->open_channel(std::move(target), std::move(call), std::move(on_channel));
}

void Client::open_upgrade(Target target, Request request, OnChannel on_channel) {
    auto call = state_->new_call(target, request, Call::Kind::raw);
    state_->open_channel(std::move(target), std::move(call), std::move(on_channel));
}

/// What a channel does reaches its session on the sockets' thread, as long as that is there.
SocketChannel::Ends Client::State::channel_ends(std::uint64_t id) {
    SocketChannel::Ends ends;
    ends.flow = std::make_shared<Flow>();
    const auto self = shared_from_this();
    ends.send = [self, id, flow = ends.flow](std::string message) {
        self->io.post([self, id, flow, message = std::move(message)]() mutable {
            if (auto* session = self->session_of(id))
                session->send_message(std::move(message), flow);
        });
    };
    ends.close = [self, id] {
        self->io.post([self, id] {
            if (auto* session = self->session_of(id)) session->close_channel();
        });
    };
    ends.pace = [self, id](Backlog onward) {
        self->io.post([self, id, onward = std::move(onward)]() mutable {
            if (auto* session = self->session_of(id))
                session->read_no_faster_than(std::move(onward));
        });
    };
    return ends;
}

void Client::State::open_channel(Target target, std::unique_ptr<Call> call, OnChannel on_channel) {
    call->stream = next_stream++;
    call->repeatable = false;
    const auto to_home = way_home(std::make_shared<bool>(true));
    // At home only: the channel belongs to whoever got it.
    const auto channel = std::make_shared<std::weak_ptr<SocketChannel>>();
    call->on_head = [to_home, channel, ends = channel_ends(call->stream),
                     on_channel = std::move(on_channel), state = this](Response answer) {
        to_home([channel, ends, on_channel, state, answer = std::move(answer)] {
            if (answer.status != 101) return on_channel(nullptr, answer);
            const auto made = std::make_shared<SocketChannel>(ends, state->home);
            *channel = made;
            on_channel(made, answer);
        });
    };
    call->on_message = [to_home, channel, held = call->onward.home](std::string message) {
        to_home([channel, held, message = std::move(message)] {
            if (const auto open = channel->lock()) open->message_came(message);
            held->waiting -= message.size();
        });
    };
    call->on_end = [to_home, channel] {
        to_home([channel] {
            if (const auto open = channel->lock()) open->connection_closed();
        });
    };
    post_run(std::move(target), std::move(call));
}

std::optional<Url> parse_url(std::string_view text) {
    Url url;
    if (text.starts_with("https://")) {
        url.target.scheme = Target::Scheme::https;
        url.target.port = 443;
        text.remove_prefix(8);
    } else if (text.starts_with("http://")) {
        text.remove_prefix(7);
    } else {
        return std::nullopt;
    }
    const std::size_t path = text.find_first_of("/?#");
    std::string_view authority = text.substr(0, path);
    std::string_view rest = path == std::string_view::npos ? "" : text.substr(path);
    rest = rest.substr(0, rest.find('#'));
    const std::size_t question = rest.find('?');
    url.path = rest.substr(0, question);
    if (url.path.empty()) url.path = "/";
    if (question != std::string_view::npos) url.query = rest.substr(question + 1);
    const std::size_t colon = authority.rfind(':');
    if (colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos) {
        int port = 0;
        for (const char c : authority.substr(colon + 1)) {
            if (c < '0' || c > '9' || port > 65535) return std::nullopt;
            port = port * 10 + (c - '0');
        }
        if (port < 1 || port > 65535) return std::nullopt;
        url.target.port = port;
        authority = authority.substr(0, colon);
    }
    if (authority.starts_with('[') && authority.ends_with(']'))
        authority = authority.substr(1, authority.size() - 2);
    if (authority.empty()) return std::nullopt;
    url.target.host = authority;
    return url;
}

}  // namespace muster::net

// net/http2_client.cpp - nghttp2 as a client over a wire.
#include "net/http2_client.h"

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include "base/text.h"
#include "base/verify.h"
#include "net/dial.h"
#include "net/http2_frames.h"
#include "net/tls.h"
#include "net/wire.h"

namespace muster::net {
namespace {

constexpr std::int32_t window = 16 << 20;
constexpr Duration tick_every = milliseconds(250);

struct Call {
    Request request;
    Http2Client::OnResponse on_response;
    std::size_t sent = 0;  // Of the body.
    Response answer;
    std::string body;
    bool too_large = false;
};

std::string target_text(const Request& request) {
    std::string text = request.path.empty() ? "/" : request.path;
    char separator = '?';
    for (const auto& [name, value] : request.query) {
        text += separator + percent_encode(name) + "=" + percent_encode(value);
        separator = '&';
    }
    return text;
}

void fail(const Http2Client::OnResponse& on_response, const std::string& why) {
    Response failure;
    failure.status = 0;
    failure.body = make_bytes(why);
    on_response(std::move(failure));
}

class Http2ClientSession final : public Session {
public:
    Http2ClientSession(std::string authority, const ClientOptions& options)
        : authority_(std::move(authority)), options_(options) {}
    ~Http2ClientSession() override { nghttp2_session_del(session_); }

    void start(Request request, Http2Client::OnResponse on_response) {
        auto call = std::make_unique<Call>();
        call->request = std::move(request);
        call->on_response = std::move(on_response);
        if (!session_) {
            waiting_.push_back(std::move(call));
        } else {
            submit(std::move(call));
        }
    }
    bool is_over() const { return over_; }

    void opened(Outlet& outlet) override;
    void feed(std::string_view bytes) override;
    bool wants_bytes() const override { return true; }
    void pull(std::string& out, std::size_t enough) override;
    bool finished() const override;
    void closed(const std::string& why) override;

private:
    void submit(std::unique_ptr<Call> call);
    void progress();
    void stream_closed(std::int32_t id, std::uint32_t error);
    Call* find(std::int32_t id);
    static nghttp2_session_callbacks* new_callbacks();
    static Http2ClientSession& of(void* user) { return *static_cast<Http2ClientSession*>(user); }

    std::string authority_;
    const ClientOptions& options_;
    Outlet* outlet_ = nullptr;
    nghttp2_session* session_ = nullptr;
    std::deque<std::unique_ptr<Call>> waiting_;  // For the connection.
    std::map<std::int32_t, std::unique_ptr<Call>> calls_;
    bool over_ = false;
};

nghttp2_session_callbacks* Http2ClientSession::new_callbacks() {
    nghttp2_session_callbacks* calls = nullptr;
    VERIFY(nghttp2_session_callbacks_new(&calls) == 0);
    nghttp2_session_callbacks_set_on_header_callback(
        calls, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                  std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                  std::uint8_t, void* user) {
            Call* call = of(user).find(frame->hd.stream_id);
            if (!call) return 0;
            const std::string_view field(reinterpret_cast<const char*>(name), name_size);
            std::string text(reinterpret_cast<const char*>(value), value_size);
            if (field == ":status") {
                call->answer.status = static_cast<int>(parse_integer(text).value_or(0));
            } else {
                call->answer.headers.add(field, std::move(text));
            }
            return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        calls, [](nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                  std::size_t size, void* user) {
            Call* call = of(user).find(id);
            if (!call || call->too_large) return 0;
            call->body.append(reinterpret_cast<const char*>(data), size);
            call->too_large = call->body.size() > of(user).options_.response_limit;
            if (call->too_large)
                nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
            return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        calls, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
            of(user).stream_closed(id, error);
            return 0;
        });
    return calls;
}

void Http2ClientSession::opened(Outlet& outlet) {
    outlet_ = &outlet;
    if (outlet.protocol() != "h2") {
        over_ = true;
        for (auto& call : std::exchange(waiting_, {}))
            fail(call->on_response, "the server does not speak HTTP/2");
        return outlet_->flush_soon();
    }
    nghttp2_session_callbacks* calls = new_callbacks();
    VERIFY(nghttp2_session_client_new(&session_, calls, this) == 0);
    nghttp2_session_callbacks_del(calls);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(window)},
    };
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, window);
    for (auto& call : std::exchange(waiting_, {}))
        submit(std::move(call));
    progress();
}

void Http2ClientSession::submit(std::unique_ptr<Call> call) {
    const Request& request = call->request;
    const std::string path = target_text(request);
    std::vector<std::pair<std::string, std::string>> fields = {{":method", request.method},
                                                               {":scheme", "https"},
                                                               {":authority", authority_},
                                                               {":path", path}};
    for (const auto& [name, value] : request.headers.fields) {
        if (equal_ignoring_case(name, "Host") || equal_ignoring_case(name, "Connection")) continue;
        fields.emplace_back(to_lower(name), header_text(value));
    }
    std::vector<nghttp2_nv> list;
    for (const auto& [name, value] : fields)
        list.push_back(field_of(name, value));
    nghttp2_data_provider body{};
    body.source.ptr = call.get();
    body.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* out, std::size_t size,
                            std::uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
        Call& sending = *static_cast<Call*>(source->ptr);
        const std::string& text = *sending.request.body;
        const std::size_t step = std::min(size, text.size() - sending.sent);
        std::memcpy(out, text.data() + sending.sent, step);
        sending.sent += step;
        if (sending.sent == text.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
        return static_cast<ssize_t>(step);
    };
    const bool has_body = request.body && !request.body->empty();
    const std::int32_t id = nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                                   has_body ? &body : nullptr, nullptr);
    if (id < 0) return fail(call->on_response, nghttp2_strerror(id));
    calls_[id] = std::move(call);
    progress();
}

/// Something happened: the server's patience starts anew.
void Http2ClientSession::progress() {
    outlet_->set_deadline(calls_.empty() ? options_.idle_timeout : options_.response_timeout);
    outlet_->flush_soon();
}

void Http2ClientSession::feed(std::string_view bytes) {
    if (over_) return;
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    if (nghttp2_session_mem_recv(session_, data, bytes.size()) < 0) over_ = true;
    progress();
}

void Http2ClientSession::stream_closed(std::int32_t id, std::uint32_t error) {
    const auto at = calls_.find(id);
    if (at == calls_.end()) return;
    const std::unique_ptr<Call> call = std::move(at->second);
    calls_.erase(at);
    if (call->too_large)
        return fail(call->on_response, "the server's answer is larger than " +
                                           std::to_string(options_.response_limit) + " bytes");
    // A server may refuse a body before it has come: the answer counts, then.
    if (call->answer.status == 0)
        return fail(call->on_response,
                    std::string("the server ended the request: ") + nghttp2_http2_strerror(error));
    call->answer.body = make_bytes(std::move(call->body));
    call->on_response(std::move(call->answer));
}

Call* Http2ClientSession::find(std::int32_t id) {
    const auto at = calls_.find(id);
    return at == calls_.end() ? nullptr : at->second.get();
}

void Http2ClientSession::pull(std::string& out, std::size_t enough) {
    if (session_ && !pull_frames(session_, out, enough)) over_ = true;
}

bool Http2ClientSession::finished() const {
    return over_ || (session_ && !nghttp2_session_want_read(session_) &&
                     !nghttp2_session_want_write(session_));
}

void Http2ClientSession::closed(const std::string& why) {
    over_ = true;
    auto calls = std::exchange(calls_, {});
    auto waiting = std::exchange(waiting_, {});
    for (auto& [id, call] : calls)
        fail(call->on_response, why);
    for (auto& call : waiting)
        fail(call->on_response, why);
}

}  // namespace

struct Http2Client::State : std::enable_shared_from_this<Http2Client::State> {
    State(AsioLoop& own_loop, Target to, ClientOptions given)
        : loop(own_loop), target(std::move(to)), options(std::move(given)) {}

    AsioLoop& loop;
    Target target;
    ClientOptions options;
    TlsContextPtr tls;
    std::unique_ptr<Wire> wire;
    bool ticking = false;

    Http2ClientSession* session() const {
        return wire ? &static_cast<Http2ClientSession&>(wire->session()) : nullptr;
    }
    std::string connect();
    void tick();
};

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
    auto made = std::make_unique<Http2ClientSession>(peer.address, options);
    wire = std::make_unique<Wire>(
        loop, fd, connect_over(tls.get(), fd, options.tls, target.host, Offer::http2),
        std::move(peer), std::move(made), [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->wire = nullptr;
        });
    wire->start(options.connect_timeout);
    if (!std::exchange(ticking, true))
        loop.after(tick_every, [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->tick();
        });
    return "";
}

void Http2Client::State::tick() {
    if (wire) wire->tick();
    ticking = wire != nullptr;
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
    const Http2ClientSession* session = state_->session();
    if (session && session->is_over()) state_->wire = nullptr;
    if (!state_->wire) {
        if (const std::string why = state_->connect(); !why.empty()) {
            state_->loop.post(
                [on_response = std::move(on_response), why] { fail(on_response, why); });
            return;
        }
    }
    state_->session()->start(std::move(request), std::move(on_response));
}

}  // namespace muster::net

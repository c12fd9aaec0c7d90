// net/http2_client_session.cpp - nghttp2 as a client.
#include "net/http2_client_session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/verify.h"
#include "net/http2_frames.h"

namespace muster::net {
namespace {

constexpr std::int32_t window = 16 << 20;
/// Whoever is told "not read" as often as this is told so.
constexpr int tries_max = 4;

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

std::chrono::nanoseconds span_of(Duration duration) {
    return std::chrono::nanoseconds(duration.nanoseconds);
}

Http2ClientSession& session_of(void* user) {
    return *static_cast<Http2ClientSession*>(user);
}

}  // namespace

void Http2Call::fail(const std::string& why) {
    if (cancelled) return;
    Response failure;
    failure.status = 0;
    failure.body = make_bytes(why);
    if (!is_stream()) return on_response(std::move(failure));
    if (!std::exchange(head_given, true) && stream.on_head) stream.on_head(std::move(failure));
    if (!cancelled && stream.on_closed) stream.on_closed();
}

Http2ClientSession::Http2ClientSession(std::string authority, const ClientOptions& options,
                                       Again again)
    : authority_(std::move(authority)), options_(options), again_(std::move(again)) {}

nghttp2_session_callbacks* Http2ClientSession::new_callbacks() {
    nghttp2_session_callbacks* calls = nullptr;
    VERIFY(nghttp2_session_callbacks_new(&calls) == 0);
    nghttp2_session_callbacks_set_on_header_callback(
        calls, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                  std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                  std::uint8_t, void* user) {
            if (const Http2CallPtr call = session_of(user).find(frame->hd.stream_id))
                session_of(user).take_field(*call, text_of(name, name_size),
                                            std::string(text_of(value, value_size)));
            return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        calls, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
            session_of(user).take_frame(*frame);
            return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        calls, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                  std::size_t size, void* user) {
            session_of(user).take_data(id, text_of(data, size));
            return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        calls, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
            session_of(user).stream_closed(id, error);
            return 0;
        });
    return calls;
}

void Http2ClientSession::opened(Outlet& outlet) {
    outlet_ = &outlet;
    heard_ = answered_ = line_moved_ = Clock::now();
    if (outlet.protocol() != "h2") {
        over_ = true;
        for (auto& call : std::exchange(line_, {}))
            call->fail("the server does not speak HTTP/2");
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
    settle();
}

void Http2ClientSession::start(Http2CallPtr call) {
    if (line_.empty()) line_moved_ = Clock::now();
    line_.push_back(std::move(call));
    if (session_) settle();
}

void Http2ClientSession::leave() {
    going_ = true;
    if (outlet_ != nullptr) outlet_->flush_soon();
}

bool Http2ClientSession::may_go(const Http2Call& call) const {
    return !options_.may_go || options_.may_go(call.request);
}

/// The next in line, when the server grants a stream more. It is asked only now whether it still
/// may go, and nghttp2, which has nothing else to send, gives its bytes out at once: what nghttp2
/// is given beyond the granted streams it would keep, and send later without a question. (To refuse
/// a frame when nghttp2 is about to send it is too late: its header has changed the compression
/// that both ends share.) False: there is nobody who can go.
bool Http2ClientSession::submit_next() {
    const std::size_t granted =
        nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    while (!line_.empty() && calls_.size() < granted) {
        const Http2CallPtr call = std::move(line_.front());
        line_.pop_front();
        line_moved_ = Clock::now();
        if (may_go(*call)) {
            submit(call);
            return true;
        }
        again_(call);
    }
    return false;
}

/// The server takes no more over this connection.
void Http2ClientSession::give_line_back() {
    going_ = true;
    for (const Http2CallPtr& call : std::exchange(line_, {})) {
        if (++call->tries < tries_max) {
            again_(call);
        } else {
            call->fail("the server ended one connection after the other before its turn came");
        }
    }
}

void Http2ClientSession::submit(const Http2CallPtr& call) {
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
    list.reserve(fields.size());
    for (const auto& [name, value] : fields)
        list.push_back(field_of(name, value));
    nghttp2_data_provider body{};
    body.read_callback = read_body;
    const bool has_body = request.body && !request.body->empty();
    const std::int32_t id = nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                                   has_body ? &body : nullptr, nullptr);
    if (id < 0) {
        line_.push_front(call);
        return give_line_back();
    }
    call->moved = Clock::now();
    if (!call->is_stream() && whole_++ == 0) answered_ = call->moved;
    calls_[id] = call;
}

ssize_t Http2ClientSession::read_body(nghttp2_session*, std::int32_t id, std::uint8_t* out,
                                      std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                                      void* user) {
    const Http2CallPtr call = session_of(user).find(id);
    if (!call) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    // It may have waited for the server's window. What the server has of it is not carried out.
    if (!session_of(user).may_go(*call)) {
        call->held_back = true;
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    const std::string& text = *call->request.body;
    const std::size_t step = std::min(size, text.size() - call->sent);
    std::copy_n(text.data() + call->sent, step, out);
    call->sent += step;
    if (call->sent == text.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    session_of(user).answered_ = call->moved = Clock::now();
    return static_cast<ssize_t>(step);
}

void Http2ClientSession::cancel(const Http2CallPtr& call) {
    std::erase(line_, call);
    for (const auto& [id, one] : calls_) {
        if (one != call) continue;
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
        forget(id);
        return settle();
    }
}

/// What is to be sent goes out; without calls the connection is kept for a while only.
void Http2ClientSession::settle() {
    if (!why_.empty()) return;
    const bool is_idle = calls_.empty() && line_.empty();
    outlet_->set_deadline(is_idle ? options_.idle_timeout : Duration());
    outlet_->flush_soon();
}

void Http2ClientSession::feed(std::string_view bytes) {
    if (over_) return;
    heard_ = Clock::now();
    pinged_ = false;
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    if (nghttp2_session_mem_recv(session_, data, bytes.size()) < 0) over_ = true;
    if (sent_away_) give_line_back();  // After those that were sent before them and not read.
    settle();
}

void Http2ClientSession::take_field(Http2Call& call, std::string_view name, std::string value) {
    if (name == ":status") {
        call.answer = {};
        call.answer.status = static_cast<int>(parse_integer(value).value_or(0));
    } else {
        call.answer.headers.add(name, std::move(value));
    }
}

void Http2ClientSession::take_frame(const nghttp2_frame& frame) {
    if (frame.hd.type == NGHTTP2_GOAWAY) going_ = sent_away_ = true;
    if (frame.hd.type != NGHTTP2_HEADERS) return;
    const Http2CallPtr call = find(frame.hd.stream_id);
    if (!call) return;
    answered_ = call->moved = heard_;
    const bool is_final = call->answer.status >= 200;
    if (!call->is_stream() || !is_final || std::exchange(call->head_given, true)) return;
    if (call->stream.on_head) call->stream.on_head(call->answer);
}

void Http2ClientSession::take_data(std::int32_t id, std::string_view data) {
    const Http2CallPtr call = find(id);
    if (!call || call->too_large) return;
    if (call->is_stream()) {
        if (call->stream.on_piece) call->stream.on_piece(data);
        return;
    }
    answered_ = call->moved = heard_;
    call->body += data;
    call->too_large = call->body.size() > options_.response_limit;
    if (call->too_large) nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

void Http2ClientSession::stream_closed(std::int32_t id, std::uint32_t error) {
    const Http2CallPtr call = find(id);
    if (!call) return;
    forget(id);
    if (std::exchange(call->held_back, false)) {
        call->sent = 0;
        return again_(call);
    }
    if (call->too_large)
        return call->fail("the server's answer is larger than " +
                          std::to_string(options_.response_limit) + " bytes");
    if (call->answer.status == 0) {
        // Refused, or beyond what the server read before it said that it goes.
        if (error == NGHTTP2_REFUSED_STREAM && ++call->tries < tries_max) {
            call->sent = 0;
            return again_(call);
        }
        return call->fail(std::string("the server ended the request: ") +
                          nghttp2_http2_strerror(error));
    }
    if (call->is_stream()) {
        if (call->stream.on_closed) call->stream.on_closed();
        return;
    }
    // A server may refuse a body before it has come (NO_ERROR): the answer counts, then. Else a
    // part of it may be missing.
    if (error != NGHTTP2_NO_ERROR)
        return call->fail(std::string("the server broke its answer off: ") +
                          nghttp2_http2_strerror(error));
    call->answer.body = make_bytes(std::move(call->body));
    call->on_response(std::move(call->answer));
}

Http2CallPtr Http2ClientSession::find(std::int32_t id) const {
    const auto at = calls_.find(id);
    return at == calls_.end() ? nullptr : at->second;
}

void Http2ClientSession::forget(std::int32_t id) {
    const auto at = calls_.find(id);
    if (!at->second->is_stream()) --whole_;
    calls_.erase(at);
}

void Http2ClientSession::pull(std::string& out, std::size_t enough) {
    if (!session_) return;
    do {
        if (!pull_frames(session_, out, enough)) over_ = true;
    } while (!over_ && out.size() < enough && submit_next());
}

/// What was pulled may be a part of what must not go any more; whose it is cannot be told any more.
bool Http2ClientSession::may_send_rest() {
    for (const auto& [id, call] : calls_) {
        if (may_go(*call)) continue;
        why_ = "ended in the middle of sending: its time was over";
        return false;
    }
    return true;
}

bool Http2ClientSession::finished() const {
    if (over_ || (going_ && calls_.empty() && line_.empty())) return true;
    return session_ && !nghttp2_session_want_read(session_) &&
           !nghttp2_session_want_write(session_);
}

/// Calls of which nothing has moved for too long, though others have: something between the two
/// ends may have lost one stream. Those in line wait for those before them, and end when nobody
/// leaves it any more.
void Http2ClientSession::end_overdue(Clock::time_point now) {
    const auto patience = span_of(options_.response_timeout);
    std::vector<std::pair<std::int32_t, Http2CallPtr>> overdue;
    for (const auto& [id, call] : calls_) {
        if (!call->is_stream() && now - call->moved > patience) overdue.emplace_back(id, call);
    }
    std::deque<Http2CallPtr> stuck;
    if (now - line_moved_ > patience) stuck = std::exchange(line_, {});
    if (overdue.empty() && stuck.empty()) return;
    for (const auto& [id, call] : overdue) {
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
        forget(id);
    }
    settle();
    for (const auto& [id, call] : overdue)
        call->fail("timed out");
    for (const Http2CallPtr& call : stuck)
        call->fail("timed out: the server had no stream for it");
}

/// A connection over which nothing comes is asked whether it is still there.
void Http2ClientSession::tick() {
    const bool is_idle = calls_.empty() && line_.empty();
    if (!session_ || over_ || is_idle || !why_.empty()) return;
    const Clock::time_point now = Clock::now();
    if (whole_ > 0 && now - answered_ > span_of(options_.response_timeout))
        return give_up("timed out");
    end_overdue(now);
    if (now - heard_ < span_of(options_.ping_after)) return;
    if (!std::exchange(pinged_, true)) {
        asked_ = now;
        nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
        outlet_->flush_soon();
    } else if (now - asked_ > span_of(options_.ping_patience)) {
        give_up("timed out: the server does not answer a ping");
    }
}

void Http2ClientSession::give_up(const std::string& why) {
    why_ = why;
    going_ = true;
    outlet_->set_deadline(nanoseconds(1));
}

void Http2ClientSession::closed(const std::string& why) {
    over_ = true;
    whole_ = 0;
    const auto calls = std::exchange(calls_, {});
    const auto line = std::exchange(line_, {});
    for (const auto& [id, call] : calls)
        call->fail(why_.empty() ? why : why_);
    for (const auto& call : line)
        call->fail(why_.empty() ? why : why_);
}

}  // namespace muster::net

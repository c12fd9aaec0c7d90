// net/http2_server.cpp - a server's HTTP/2 connection over nghttp2: how requests come.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/verify.h"
#include "net/http2_server_session.h"

namespace muster::net {
namespace {

/// What may be under way of a body that is passed on as it comes, and so the most that is kept of
/// one whose taker has stopped: with the usual 1000 streams all in use 64 MB, as `bodies_limit`.
/// That the bound is one of each stream, and the connection's own window opens as bytes come, is
/// what lets the other streams go on beside those that stand still.
constexpr std::uint32_t passed_on_window = 64 << 10;
/// Of a body that is gathered first. A stream has it once its head has said that it is such a one.
constexpr std::int32_t gathered_window = 1 << 20;
constexpr std::int32_t connection_window = 16 << 20;
/// Of all unfinished requests of one connection together.
constexpr std::size_t bodies_limit = 64 << 20;

Http2Session& of(void* user) {
    return *static_cast<Http2Session*>(user);
}

nghttp2_session_callbacks* new_callbacks() {
    nghttp2_session_callbacks* calls = nullptr;
    VERIFY(nghttp2_session_callbacks_new(&calls) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(
        calls, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
            if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;  // Trailers.
            return of(user).stream_begins(frame->hd.stream_id);
        });
    nghttp2_session_callbacks_set_on_header_callback(
        calls, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                  std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                  std::uint8_t, void* user) {
            if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
            return of(user).field_came(frame->hd.stream_id,
                                       {reinterpret_cast<const char*>(name), name_size},
                                       {reinterpret_cast<const char*>(value), value_size});
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        calls, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                  std::size_t size, void* user) {
            return of(user).data_came(id, {reinterpret_cast<const char*>(data), size});
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        calls, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
            const bool header = frame->hd.type == NGHTTP2_HEADERS;
            const bool carries = header || frame->hd.type == NGHTTP2_DATA;
            const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
            if (carries && ends) return of(user).request_ended(frame->hd.stream_id);
            return header ? of(user).header_came(frame->hd.stream_id) : 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        calls, [](nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
            of(user).stream_closed(id);
            return 0;
        });
    return calls;
}

}  // namespace

void Http2Session::opened(Outlet& outlet) {
    outlet_ = &outlet;
    nghttp2_session_callbacks* calls = new_callbacks();
    nghttp2_option* option = nullptr;
    VERIFY(nghttp2_option_new(&option) == 0);
    // A streamed body may come no faster than it is passed on: windows open when we say so.
    nghttp2_option_set_no_auto_window_update(option, 1);
    VERIFY(nghttp2_session_server_new2(&session_, calls, this, option) == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(calls);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, rules_->streams_at_once},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, passed_on_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(rules_->header_limit)},
    };
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, connection_window);
    outlet_->set_deadline(rules_->idle_timeout);
    outlet_->flush_soon();
}

void Http2Session::feed(std::string_view bytes) {
    if (broken_) return;
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    // On a violation nghttp2 has a GOAWAY ready to be pulled; what comes after it is noise.
    if (nghttp2_session_mem_recv(session_, data, bytes.size()) < 0) broken_ = true;
    ask_gates();
    outlet_->flush_soon();
}

/// Of those whose bodies have not come together with their heads.
void Http2Session::ask_gates() {
    for (const std::int32_t id : std::exchange(heads_, {})) {
        Http2Stream* stream = find(id);
        if (!stream || stream->refused || stream->delivered) continue;
        if (ask_gate(rules_->home, link_, id, stream->request)) {
            stream->asked_gate = Http2Stream::Asked::waits;
        } else {
            let_pass(id, *stream);
        }
    }
}

/// The body may come: what has come of it makes room for more.
void Http2Session::let_pass(std::int32_t id, Http2Stream& stream) {
    stream.asked_gate = Http2Stream::Asked::passed;
    nghttp2_session_consume_stream(session_, id, std::exchange(stream.unread, 0));
    const auto length = parse_integer(stream.request.headers.get("content-length"));
    if (!length || *length > passed_on_window)
        nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, id, gathered_window);
    outlet_->flush_soon();
}

void Http2Session::decided(Stream id, Verdict verdict) {
    Http2Stream* stream = find(id);
    // Its end may have come meanwhile: then the handler decides.
    if (!stream || stream->refused || stream->delivered) return;
    const auto number = static_cast<std::int32_t>(id);
    if (verdict.refusal) return refuse(number, *stream, *verdict.refusal);
    stream->whose = std::move(verdict.account);
    stream->request.admitted = std::move(verdict.admitted);
    if (stream->whose && stream->reading.bytes() > 0) stream->reading.move_to(stream->whose);
    let_pass(number, *stream);
}

/// Charges so much in place of what was charged for the request that is coming. Large steps.
bool Http2Session::hold(Http2Stream& stream, std::size_t bytes) {
    constexpr std::size_t step = 4 << 10;
    const auto& standing = outlet_->peer().standing;
    if (!standing || bytes <= std::max(step, stream.reading.bytes())) return true;
    if (stream.reading.bytes() == 0)
        stream.reading = Charge(stream.whose ? stream.whose : standing->account(), standing);
    return stream.reading.grow(bytes - stream.reading.bytes() + step);
}

int Http2Session::stream_begins(std::int32_t id) {
    streams_[id].request.peer = outlet_->peer();
    // Requests under way keep the connection; a body that does not come is ended by its stream.
    outlet_->set_deadline({});
    return 0;
}

int Http2Session::field_came(std::int32_t id, std::string_view name, std::string_view value) {
    Http2Stream* stream = find(id);
    if (!stream || stream->refused) return 0;
    stream->header_size += name.size() + value.size() + 32;  // As RFC 9113 counts.
    Request& request = stream->request;
    if (stream->header_size > rules_->header_limit) {
        refuse(id, *stream, 431,
               "the request's header fields are larger than " +
                   std::to_string(rules_->header_limit) + " bytes");
    } else if (!hold(*stream, stream->header_size)) {
        refuse_for_room(id, *stream);
    } else if (name == ":method") {
        request.method = value;
        stream->head_only = value == "HEAD";
    } else if (name == ":path") {
        set_target(request, value);
    } else if (name == ":authority") {
        request.headers.set("host", std::string(value));
    } else if (!name.starts_with(':')) {
        request.headers.add(name, std::string(value));
    }
    return 0;
}

/// A header without the end of its request.
int Http2Session::header_came(std::int32_t id) {
    Http2Stream* stream = find(id);
    if (!stream || stream->refused || stream->delivered) return 0;
    stream->request.body = make_bytes("");
    if (!rules_->streamed_body || !rules_->streamed_body(stream->request)) {
        heads_.push_back(id);
        return 0;
    }
    if (!charge_request(stream->request, stream->header_size, passed_on_window)) {
        refuse_for_room(id, *stream);
        return 0;
    }
    stream->reading.clear();
    stream->delivered = true;
    stream->uploading = true;
    stream->pending = deliver(rules_->home, link_, id, std::move(stream->request), Body::coming);
    return 0;
}

void Http2Session::body_taken(Stream id, std::size_t bytes) {
    if (!find(id)) return;
    nghttp2_session_consume_stream(session_, static_cast<std::int32_t>(id), bytes);
    outlet_->flush_soon();
}

int Http2Session::data_came(std::int32_t id, std::string_view bytes) {
    Http2Stream* stream = find(id);
    nghttp2_session_consume_connection(session_, bytes.size());
    if (stream && stream->uploading && !stream->complete) {
        stream->pending.at_home(
            [piece = std::string(bytes)](Exchange& exchange) { exchange.body_came(piece); });
        return 0;
    }
    if (stream && !stream->refused && stream->asked_gate != Http2Stream::Asked::passed) {
        stream->unread += bytes.size();
    } else {
        nghttp2_session_consume_stream(session_, id, bytes.size());
    }
    if (!stream || stream->refused || stream->delivered) return 0;
    if (stream->body.size() + bytes.size() > rules_->body_limit) {
        refuse(id, *stream, 413, too_large_text(rules_->body_limit));
    } else if (!hold(*stream, stream->header_size + stream->body.size() + bytes.size())) {
        refuse_for_room(id, *stream);
    } else if (bodies_size_ + bytes.size() > bodies_limit) {
        refuse(id, *stream, 429, "too many large requests at once on this connection");
    } else {
        stream->body += bytes;
        bodies_size_ += bytes.size();
    }
    return 0;
}

int Http2Session::request_ended(std::int32_t id) {
    Http2Stream* stream = find(id);
    if (stream && std::exchange(stream->uploading, false))
        stream->pending.at_home([](Exchange& exchange) { exchange.body_ended(); });
    if (!stream || stream->refused || stream->delivered) return 0;
    bodies_size_ -= stream->body.size();
    stream->request.body =
        charged_body(std::exchange(stream->body, {}), stream->request, stream->whose);
    stream->reading.clear();
    if (!charge_request(stream->request, stream->header_size)) {
        refuse_for_room(id, *stream);
        return 0;
    }
    stream->delivered = true;
    stream->pending = deliver(rules_->home, link_, id, std::move(stream->request));
    return 0;
}

std::unique_ptr<ServerSession> make_http2_session(std::shared_ptr<const Rules> rules) {
    return std::make_unique<Http2Session>(std::move(rules));
}

}  // namespace muster::net

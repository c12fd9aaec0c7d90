// net/http2_server_answer.cpp - a server's HTTP/2 connection over nghttp2: how answers go out.
#include <utility>
#include <vector>

#include "base/text.h"
#include "net/http2_frames.h"
#include "net/http2_server_session.h"

namespace muster::net {
namespace {

Http2Session& of(void* user) {
    return *static_cast<Http2Session*>(user);
}

}  // namespace

/// Answers before the request has ended; what still comes is dropped.
void Http2Session::refuse(std::int32_t id, Http2Stream& stream, int status,
                          const std::string& text) {
    const char* reason = status == 413   ? "RequestEntityTooLarge"
                         : status == 429 ? "TooManyRequests"
                                         : "BadRequest";
    refuse(id, stream, status_response(status, reason, text));
}

void Http2Session::refuse_for_room(std::int32_t id, Http2Stream& stream) {
    refuse(id, stream, too_many_response("the server holds too much for this client: try later"));
}

void Http2Session::refuse(std::int32_t id, Http2Stream& stream, const Response& response) {
    bodies_size_ -= stream.body.size();
    stream.body = {};
    stream.request = {};
    stream.reading.clear();
    stream.refused = true;
    stream.complete = true;
    stream.pieces.add(response.body);
    submit_head(id, stream, response);
}

void Http2Session::stream_closed(std::int32_t id) {
    const auto at = streams_.find(id);
    if (at == streams_.end()) return;
    bodies_size_ -= at->second.body.size();
    const bool sent_whole = at->second.complete && at->second.pieces.empty();
    if (at->second.delivered && !sent_whole) {
        at->second.pending.at_home([](Exchange& exchange) { exchange.connection_closed(); });
    }
    streams_.erase(at);
    if (streams_.empty()) outlet_->set_deadline(rules_->idle_timeout);
}

Http2Stream* Http2Session::find(Stream id) {
    const auto at = streams_.find(static_cast<std::int32_t>(id));
    return at == streams_.end() ? nullptr : &at->second;
}

void Http2Session::submit_head(Stream id, Http2Stream& stream, const Response& head) {
    stream.answered = true;
    const std::string status = std::to_string(head.status);
    std::vector<std::pair<std::string, std::string>> fields = {{":status", status}};
    for (const auto& [name, value] : head.headers.fields) {
        if (equal_ignoring_case(name, "Connection") ||
            equal_ignoring_case(name, "Transfer-Encoding"))
            continue;
        std::string lower = name;
        for (char& c : lower)
            c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        fields.emplace_back(std::move(lower), header_text(value));
    }
    std::vector<nghttp2_nv> list;
    for (const auto& [name, value] : fields)
        list.push_back(field_of(name, value));
    nghttp2_data_provider body{};
    body.source.ptr = &stream;  // Nodes of a map stay where they are.
    body.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* out, std::size_t size,
                            std::uint32_t* flags, nghttp2_data_source* source, void* user) {
        return of(user).read_body(*static_cast<Http2Stream*>(source->ptr), out, size, flags);
    };
    const bool bodiless = stream.complete && stream.pieces.empty();
    nghttp2_submit_response(session_, static_cast<std::int32_t>(id), list.data(), list.size(),
                            bodiless ? nullptr : &body);
    outlet_->flush_soon();
}

ssize_t Http2Session::read_body(Http2Stream& stream, std::uint8_t* out, std::size_t size,
                                std::uint32_t* flags) {
    const std::size_t filled = stream.pieces.take(reinterpret_cast<char*>(out), size);
    stream.taken += filled;
    if (stream.pieces.empty() && stream.complete) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (filled == 0) {
        return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(filled);
}

void Http2Session::respond(Stream id, Response response) {
    Http2Stream* stream = find(id);
    if (!stream || stream->answered) return;
    stream->complete = true;
    stream->stall = {response.account, 0};
    if (response.rope) {
        response.headers.set("content-length", std::to_string(response.rope->size()));
        if (!stream->head_only) stream->pieces.add(response.rope);
    } else if (response.body && !response.body->empty()) {
        response.headers.set("content-length", std::to_string(response.body->size()));
        if (stream->head_only) {
            stream->pending.flow->took(response.body->size());
        } else {
            stream->pieces.add(response.body, stream->pending.flow);
        }
    }
    submit_head(id, *stream, response);
}

void Http2Session::begin(Stream id, Response head) {
    Http2Stream* stream = find(id);
    if (!stream || stream->answered) return;
    stream->complete = stream->head_only;
    stream->stall = {head.account, 0};
    submit_head(id, *stream, head);
}

void Http2Session::write(Stream id, Bytes piece) {
    Http2Stream* stream = find(id);
    if (!stream) return;
    if (stream->complete) {
        stream->pending.flow->took(piece->size());
        return;
    }
    stream->pieces.add(std::move(piece), stream->pending.flow);
    resume(id);
}

void Http2Session::write_rope(Stream id, RopePtr rope) {
    Http2Stream* stream = find(id);
    if (!stream || stream->complete) return;
    stream->pieces.add(std::move(rope));
    resume(id);
}

void Http2Session::finish(Stream id) {
    Http2Stream* stream = find(id);
    if (!stream) return;
    stream->complete = true;
    resume(id);
}

void Http2Session::resume(Stream id) {
    nghttp2_session_resume_data(session_, static_cast<std::int32_t>(id));
    outlet_->flush_soon();
}

void Http2Session::abandon(Stream id) {
    Http2Stream* stream = find(id);
    if (!stream) return;
    if (!stream->answered)
        return respond(id, status_response(500, "InternalError", "the request was not answered"));
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, static_cast<std::int32_t>(id),
                              NGHTTP2_INTERNAL_ERROR);
    outlet_->flush_soon();
}

/// RST_STREAM: what waits for the client goes with the stream.
void Http2Session::cut(Stream id) {
    if (Http2Stream* stream = find(id)) stream->pieces.clear();
    abandon(id);
}

void Http2Session::pull(std::string& out, std::size_t enough) {
    if (!pull_frames(session_, out, enough)) broken_ = true;
}

bool Http2Session::finished() const {
    const bool silent = !nghttp2_session_want_write(session_);
    return broken_ ||
           (silent && (!nghttp2_session_want_read(session_) || (leaving_ && streams_.empty())));
}

void Http2Session::closed(const std::string&) {
    link_->session = nullptr;
    for (auto& [id, stream] : std::exchange(streams_, {})) {
        if (!stream.delivered) continue;
        stream.pending.at_home([](Exchange& exchange) { exchange.connection_closed(); });
    }
}

void Http2Session::tick() {
    const auto patience = rules_->request_timeout.nanoseconds / seconds(1).nanoseconds;
    for (auto& [id, stream] : streams_) {
        const bool stands =
            stream.stall.has_lasted(std::exchange(stream.taken, 0), !stream.pieces.empty());
        if (!stands && (stream.delivered || ++stream.ticks <= patience)) continue;
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
        outlet_->flush_soon();
    }
}

void Http2Session::go_away() {
    if (std::exchange(leaving_, true)) return;
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                          nullptr, 0);
    outlet_->flush_soon();
}

}  // namespace muster::net

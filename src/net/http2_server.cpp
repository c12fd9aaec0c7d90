// net/http2_server.cpp - a server's HTTP/2 connection over nghttp2: many streams, flow control,
// bytes pulled when the socket takes them.
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include <nghttp2/nghttp2.h>

#include "base/text.h"
#include "base/verify.h"
#include "net/http2_frames.h"
#include "net/server_session.h"

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

struct Http2Stream {
    Request request;
    std::string body;
    std::size_t header_size = 0;
    bool authority_seen = false;
    bool answered = false;   // By the handler or by us: the head is submitted.
    bool refused = false;    // What still comes of it is dropped.
    bool head_only = false;  // HEAD: the answer has no body.
    bool delivered = false;
    bool uploading = false;  // Delivered, and its body still comes.
    bool complete = false;   // Nothing follows what is in `pieces`.
    Pending pending;
    std::deque<Bytes> pieces;
    std::size_t sent = 0;  // Of the first piece.
    int ticks = 0;         // How long its end has not come.
};

class Http2Session final : public ServerSession {
public:
    explicit Http2Session(std::shared_ptr<const Rules> rules)
        : rules_(std::move(rules)), link_(std::make_shared<Link>(Link{rules_->io, this})) {}
    ~Http2Session() override { nghttp2_session_del(session_); }

    void opened(Outlet& outlet) override;
    void feed(std::string_view bytes) override;
    bool wants_bytes() const override { return true; }
    void pull(std::string& out, std::size_t enough) override;
    bool finished() const override;
    void closed(const std::string& why) override;

    void respond(Stream stream, Response response) override;
    void begin(Stream stream, Response head) override;
    void write(Stream stream, Bytes piece) override;
    void finish(Stream stream) override;
    void abandon(Stream stream) override;
    // RFC 8441 is not spoken: a request that comes this way never asks for a WebSocket.
    void upgrade(Stream, std::string) override {}
    void body_taken(Stream stream, std::size_t bytes) override;
    void upgrade_raw(Stream, Response) override {}
    void read_no_faster_than(Stream, Backlog) override {}
    void send_message(Stream, std::string) override {}
    void close_channel(Stream) override {}
    void tick() override;
    void go_away() override;

    // nghttp2's callbacks:
    int stream_begins(std::int32_t id);
    int field_came(std::int32_t id, std::string_view name, std::string_view value);
    int header_came(std::int32_t id);
    int data_came(std::int32_t id, std::string_view bytes);
    int request_ended(std::int32_t id);
    void stream_closed(std::int32_t id);
    ssize_t read_body(Http2Stream& stream, std::uint8_t* out, std::size_t size,
                      std::uint32_t* flags);

private:
    Http2Stream* find(Stream id);
    void submit_head(Stream id, Http2Stream& stream, const Response& head);
    void refuse(std::int32_t id, Http2Stream& stream, int status, const std::string& text);
    void resume(Stream id);

    std::shared_ptr<const Rules> rules_;
    Outlet* outlet_ = nullptr;
    std::shared_ptr<Link> link_;
    nghttp2_session* session_ = nullptr;
    std::map<std::int32_t, Http2Stream> streams_;
    std::size_t bodies_size_ = 0;
    bool broken_ = false;
    bool leaving_ = false;
};

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
    outlet_->flush_soon();
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
        const auto length = parse_integer(stream->request.headers.get("content-length"));
        if (length && *length <= passed_on_window) return 0;
        nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, id, gathered_window);
        outlet_->flush_soon();
        return 0;
    }
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
    nghttp2_session_consume_stream(session_, id, bytes.size());
    if (!stream || stream->refused || stream->delivered) return 0;
    if (stream->body.size() + bytes.size() > rules_->body_limit) {
        refuse(id, *stream, 413, too_large_text(rules_->body_limit));
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
    stream->delivered = true;
    bodies_size_ -= stream->body.size();
    stream->request.body = make_bytes(std::move(stream->body));
    stream->body = {};
    stream->pending = deliver(rules_->home, link_, id, std::move(stream->request));
    return 0;
}

/// Answers before the request has ended; what still comes is dropped.
void Http2Session::refuse(std::int32_t id, Http2Stream& stream, int status,
                          const std::string& text) {
    bodies_size_ -= stream.body.size();
    stream.body = {};
    stream.refused = true;
    const char* reason = status == 413   ? "RequestEntityTooLarge"
                         : status == 429 ? "TooManyRequests"
                                         : "BadRequest";
    const Response response = status_response(status, reason, text);
    stream.complete = true;
    stream.pieces.push_back(response.body);
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
    std::size_t filled = 0;
    while (filled < size && !stream.pieces.empty()) {
        const std::string& piece = *stream.pieces.front();
        const std::size_t step = std::min(size - filled, piece.size() - stream.sent);
        std::memcpy(out + filled, piece.data() + stream.sent, step);
        filled += step;
        stream.sent += step;
        if (stream.sent == piece.size()) {
            stream.pieces.pop_front();
            stream.sent = 0;
        }
    }
    if (stream.pending.flow) stream.pending.flow->waiting -= filled;
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
    if (response.body && !response.body->empty()) {
        response.headers.set("content-length", std::to_string(response.body->size()));
        if (stream->head_only) {
            stream->pending.flow->waiting -= response.body->size();
        } else {
            stream->pieces.push_back(response.body);
        }
    }
    submit_head(id, *stream, response);
}

void Http2Session::begin(Stream id, Response head) {
    Http2Stream* stream = find(id);
    if (!stream || stream->answered) return;
    stream->complete = stream->head_only;
    submit_head(id, *stream, head);
}

void Http2Session::write(Stream id, Bytes piece) {
    Http2Stream* stream = find(id);
    if (!stream) return;
    if (stream->complete) {
        stream->pending.flow->waiting -= piece->size();
        return;
    }
    stream->pieces.push_back(std::move(piece));
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
        if (stream.delivered || ++stream.ticks <= patience) continue;
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
        outlet_->flush_soon();
    }
}

void Http2Session::go_away() {
    leaving_ = true;
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                          nullptr, 0);
    outlet_->flush_soon();
}

}  // namespace

std::unique_ptr<ServerSession> make_http2_session(std::shared_ptr<const Rules> rules) {
    return std::make_unique<Http2Session>(std::move(rules));
}

}  // namespace muster::net

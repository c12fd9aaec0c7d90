// net/http1_server_answer.cpp - a server's HTTP/1.1 connection: how answers go out, whole or in
// chunks, and what comes after an upgrade.
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "net/http1_server_session.h"
#include "net/status_text.h"

namespace muster::net {
namespace {

/// Keeps WebSockets alive through whatever closes silent connections.
constexpr int ticks_per_ping = 10;

}  // namespace

/// `length` absent: the body comes in chunks, or ends with the connection for HTTP/1.0.
void Http1Session::put_head(const Response& head, std::optional<std::size_t> length) {
    out_ = "HTTP/1.1 " + std::to_string(head.status) + " " + status_text(head.status) + "\r\n";
    for (const auto& [name, value] : head.headers.fields) {
        if (equal_ignoring_case(name, "Content-Length") ||
            equal_ignoring_case(name, "Transfer-Encoding") ||
            equal_ignoring_case(name, "Connection")) {
            continue;
        }
        out_ += name + ": " + header_text(value) + "\r\n";
    }
    const bool bodiless = head.status == 204 || head.status == 304;
    if (length) {
        if (!bodiless) out_ += "Content-Length: " + std::to_string(*length) + "\r\n";
    } else if (chunked_) {
        out_ += "Transfer-Encoding: chunked\r\n";
    } else {
        keep_alive_ = false;
    }
    if (!keep_alive_) out_ += "Connection: close\r\n";
    out_ += "\r\n";
    put_piece(make_bytes(std::exchange(out_, {})), false);
}

void Http1Session::put_piece(Bytes piece, bool counted) {
    pieces_.add(std::move(piece), counted ? pending_.flow : nullptr);
    outlet_->flush_soon();
}

void Http1Session::respond(Stream stream, Response response) {
    if (!is_current(stream) || phase_ != Phase::answering) return;
    if (uploading_) keep_alive_ = false;  // What still comes of the body is nobody's.
    if (!response.body) response.body = make_bytes("");
    stall_ = {response.account, 0};
    const bool bodiless = head_only_ || response.status == 204 || response.status == 304;
    put_head(response, response.rope ? response.rope->size() : response.body->size());
    if (!bodiless && response.rope) {
        pieces_.add(std::move(response.rope));
    } else if (!bodiless) {
        put_piece(response.body, true);
    }
    answer_complete();
}

void Http1Session::begin(Stream stream, Response head) {
    if (!is_current(stream) || phase_ != Phase::answering) return;
    phase_ = Phase::streaming;
    stall_ = {head.account, 0};
    if (uploading_) keep_alive_ = false;
    promised_ = std::nullopt;
    if (const auto size = parse_integer(head.headers.get("Content-Length")); size && *size >= 0)
        promised_ = static_cast<std::size_t>(*size);
    put_head(head, promised_);
}

void Http1Session::write(Stream stream, Bytes piece) {
    if (!is_current(stream) || phase_ != Phase::streaming || head_only_) return;
    if (promised_) {
        if (piece->size() > *promised_) return abandon(stream);
        *promised_ -= piece->size();
        return put_piece(std::move(piece), true);
    }
    if (!chunked_) return put_piece(std::move(piece), true);
    put_chunk_head(piece->size());
    put_piece(std::move(piece), true);
    put_piece(make_bytes("\r\n"), false);
}

void Http1Session::put_chunk_head(std::size_t size) {
    char text[24];
    std::snprintf(text, sizeof text, "%zx\r\n", size);
    put_piece(make_bytes(text), false);
}

void Http1Session::write_rope(Stream stream, RopePtr rope) {
    if (!is_current(stream) || phase_ != Phase::streaming || head_only_ || rope->size() == 0)
        return;
    if (promised_) {
        if (rope->size() > *promised_) return abandon(stream);
        *promised_ -= rope->size();
    }
    const bool chunk = !promised_ && chunked_;
    if (chunk) put_chunk_head(rope->size());
    pieces_.add(std::move(rope));
    if (chunk) put_piece(make_bytes("\r\n"), false);
    outlet_->flush_soon();
}

void Http1Session::cut(Stream stream) {
    if (!is_current(stream) || phase_ != Phase::streaming) return;
    pieces_.clear();
    abandon(stream);
}

void Http1Session::finish(Stream stream) {
    if (!is_current(stream) || phase_ != Phase::streaming) return;
    if (promised_) {
        if (*promised_ > 0 && !head_only_) return abandon(stream);
    } else if (chunked_ && !head_only_) {
        put_piece(make_bytes("0\r\n\r\n"), false);
    }
    answer_complete();
}

void Http1Session::abandon(Stream stream) {
    if (!is_current(stream)) return;
    if (phase_ == Phase::answering)
        return respond(stream,
                       status_response(500, "InternalError", "the request was not answered"));
    if (phase_ != Phase::streaming) return;
    // The client sees that the stream is broken by its missing end.
    keep_alive_ = false;
    answer_complete();
}

void Http1Session::answer_complete() {
    asked_ = {};
    pending_ = {};
    uploading_ = false;
    outlet_->flush_soon();
    if (!keep_alive_ || leaving_) {
        phase_ = Phase::last_words;
        input_.clear();
        return;
    }
    phase_ = Phase::reading;
    outlet_->set_deadline(rules_->idle_timeout);
    read_requests();
}

void Http1Session::upgrade(Stream stream, std::string subprotocol) {
    if (!is_current(stream) || phase_ != Phase::answering) return;
    std::string head =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: " +
        websocket_accept(asked_.get("Sec-WebSocket-Key")) + "\r\n";
    if (!subprotocol.empty()) head += "Sec-WebSocket-Protocol: " + subprotocol + "\r\n";
    put_piece(make_bytes(head + "\r\n"), false);
    phase_ = Phase::websocket;
    socket_.emplace(WebSocket::End::server,
                    [this](std::string message) { message_came(std::move(message)); });
    if (!input_.empty()) socket_->feed(std::exchange(input_, {}));
    take_socket_output();
}

void Http1Session::upgrade_raw(Stream stream, Response head) {
    if (!is_current(stream) || phase_ != Phase::answering) return;
    std::string text = "HTTP/1.1 101 Switching Protocols\r\n";
    for (const auto& [name, value] : head.headers.fields)
        text += name + ": " + header_text(value) + "\r\n";
    put_piece(make_bytes(text + "\r\n"), false);
    phase_ = Phase::raw;
    if (!input_.empty()) raw_came(std::exchange(input_, {}));
}

void Http1Session::read_no_faster_than(Stream stream, Backlog onward) {
    if (is_current(stream)) onward_.beyond = std::move(onward);
}

void Http1Session::raw_came(std::string_view bytes) {
    message_came(std::string(bytes));
    if (!hold_onward()) close_channel(stream_);
}

/// Charges for what came after an upgrade and has not been taken yet, where it is now.
bool Http1Session::hold_onward() {
    const std::size_t beyond = onward_.beyond ? onward_.beyond->load() : 0;
    return hold((socket_ ? socket_->held() : 0) + onward_.home->waiting + beyond);
}

void Http1Session::message_came(std::string bytes) {
    onward_.home->waiting += bytes.size();
    pending_.at_home([bytes = std::move(bytes), held = onward_.home](Exchange& exchange) {
        exchange.message_came(bytes);
        held->waiting -= bytes.size();
    });
}

void Http1Session::send_message(Stream stream, std::string message) {
    if (is_current(stream) && phase_ == Phase::raw)
        return put_piece(make_bytes(std::move(message)), true);
    if (!is_current(stream) || !socket_) return;
    socket_->send(message);
    // The frame's few bytes of header are not counted.
    const std::string framed = socket_->take_output();
    if (framed.empty()) {  // After the goodbye.
        pending_.flow->took(message.size());
        return;
    }
    const std::size_t header = framed.size() - message.size();
    put_piece(make_bytes(framed.substr(0, header)), false);
    put_piece(make_bytes(std::move(message)), true);
}

void Http1Session::close_channel(Stream stream) {
    if (is_current(stream) && phase_ == Phase::raw) {
        phase_ = Phase::last_words;
        return outlet_->flush_soon();
    }
    if (!is_current(stream) || !socket_) return;
    socket_->close();
    take_socket_output();
    outlet_->set_deadline(seconds(5));  // For the client's own goodbye.
}

void Http1Session::take_socket_output() {
    if (std::string bytes = socket_->take_output(); !bytes.empty())
        put_piece(make_bytes(std::move(bytes)), false);
    outlet_->flush_soon();
}

void Http1Session::pull(std::string& out, std::size_t enough) {
    if (out.size() >= enough || pieces_.empty()) return;
    const std::size_t before = out.size();
    pieces_.append_to(out, enough - before);
    taken_ += out.size() - before;
}

bool Http1Session::finished() const {
    if (!pieces_.empty()) return false;
    if (socket_) return socket_->finished();
    return phase_ == Phase::last_words || (leaving_ && phase_ == Phase::reading);
}

void Http1Session::closed(const std::string&) {
    link_->session = nullptr;
    if (pending_.at_home) {
        pending_.at_home([](Exchange& exchange) { exchange.connection_closed(); });
    }
}

void Http1Session::tick() {
    if (stall_.has_lasted(std::exchange(taken_, 0), !pieces_.empty()))
        return outlet_->set_deadline(nanoseconds(1));
    if (socket_ || phase_ == Phase::raw) static_cast<void>(hold_onward());
    if (!socket_ || ++ticks_ % ticks_per_ping != 0) return;
    socket_->ping();
    take_socket_output();
}

void Http1Session::go_away() {
    leaving_ = true;
    keep_alive_ = false;
    if (phase_ == Phase::raw) phase_ = Phase::last_words;
    if (socket_) {
        socket_->close(1001);
        take_socket_output();
    }
    outlet_->flush_soon();
}

}  // namespace muster::net

// net/http1_server.cpp - a server's HTTP/1.1 connection: one request at a time, answers whole or in
// chunks, and WebSockets.
#include <cstdio>
#include <deque>
#include <optional>
#include <utility>

#include "base/text.h"
#include "net/http1_parser.h"
#include "net/server_session.h"
#include "net/status_text.h"
#include "net/websocket.h"

namespace muster::net {
namespace {

/// How much of later requests may wait here while one is being answered.
constexpr std::size_t input_limit = 64 << 10;
/// Keeps WebSockets alive through whatever closes silent connections.
constexpr int ticks_per_ping = 10;

class Http1Session final : public ServerSession {
public:
    explicit Http1Session(std::shared_ptr<const Rules> rules)
        : rules_(std::move(rules)),
          parser_(Http1Parser::Reads::requests, {rules_->header_limit, 0}),
          link_(std::make_shared<Link>(Link{rules_->io, this})) {}

    void opened(Outlet& outlet) override;
    void feed(std::string_view bytes) override;
    bool wants_bytes() const override {
        if (phase_ == Phase::raw) return !onward_.is_full();
        if (uploading_) return untaken_ <= onward_limit;
        return socket_ || input_.size() < input_limit;
    }
    void pull(std::string& out, std::size_t enough) override;
    bool finished() const override;
    void closed(const std::string& why) override;
    void tick() override;

    void respond(Stream stream, Response response) override;
    void begin(Stream stream, Response head) override;
    void write(Stream stream, Bytes piece) override;
    void finish(Stream stream) override;
    void abandon(Stream stream) override;
    void body_taken(Stream stream, std::size_t bytes) override;
    void upgrade(Stream stream, std::string subprotocol) override;
    void upgrade_raw(Stream stream, Response head) override;
    void read_no_faster_than(Stream stream, Backlog onward) override;
    void send_message(Stream stream, std::string message) override;
    void close_channel(Stream stream) override;
    void go_away() override;

private:
    /// Reading a request, waiting for its answer, sending it, or past HTTP.
    enum class Phase { reading, answering, streaming, last_words, websocket, raw };

    void read_requests();
    bool read_request();
    void header_came();
    Request request_so_far() const;
    void request_came();
    void upload_begins(Request request);
    void read_upload();
    bool is_too_large() const;
    void hand_over(Request request, Body body);
    void refuse(Http1Parser::Problem problem);
    void put_head(const Response& head, std::optional<std::size_t> length);
    void put_piece(Bytes piece, bool counted);
    void answer_complete();
    void take_socket_output();
    void raw_came(std::string_view bytes);
    bool is_current(Stream stream) const { return stream == stream_; }

    std::shared_ptr<const Rules> rules_;
    Outlet* outlet_ = nullptr;
    Http1Parser parser_;
    std::shared_ptr<Link> link_;
    std::string input_;
    Phase phase_ = Phase::reading;
    Stream stream_ = 0;
    Pending pending_;
    Headers asked_;  // The headers of the request being answered.
    bool header_seen_ = false;
    bool keep_alive_ = true;
    bool head_only_ = false;
    bool chunked_ = false;
    bool leaving_ = false;
    std::string out_;
    struct Piece {
        Bytes bytes;
        std::size_t sent = 0;
        std::shared_ptr<Flow> flow;  // Null for the protocol's own bytes.
    };
    std::deque<Piece> pieces_;
    bool uploading_ = false;               // The body of the request that is answered still comes.
    std::size_t untaken_ = 0;              // Of that body, handed over and not yet passed on.
    std::optional<std::size_t> promised_;  // Of a streamed answer, by its Content-Length.
    std::optional<WebSocket> socket_;
    Onward onward_;
    int ticks_ = 0;
};

void Http1Session::opened(Outlet& outlet) {
    outlet_ = &outlet;
    outlet_->set_deadline(rules_->request_timeout);
}

void Http1Session::feed(std::string_view bytes) {
    if (socket_) {
        socket_->feed(bytes);
        return take_socket_output();
    }
    if (phase_ == Phase::raw) return raw_came(bytes);
    if (phase_ == Phase::last_words) return;
    input_ += bytes;
    if (uploading_) {
        read_upload();
    } else if (phase_ == Phase::reading) {
        read_requests();
    }
}

void Http1Session::read_requests() {
    while (phase_ == Phase::reading && !input_.empty() && read_request()) {
    }
}

/// Gives the parser what there is; false when it needs more.
bool Http1Session::read_request() {
    if (!parser_.started()) outlet_->set_deadline(rules_->request_timeout);
    const std::size_t used = parser_.feed(input_);
    input_.erase(0, used);
    if (parser_.problem() != Http1Parser::Problem::none) {
        refuse(parser_.problem());
        return false;
    }
    if (!parser_.header_done()) return used > 0;
    if (!std::exchange(header_seen_, true)) header_came();
    if (phase_ != Phase::reading) return false;
    if (is_too_large()) {
        refuse(Http1Parser::Problem::body_too_large);
        return false;
    }
    if (parser_.done()) {
        request_came();
        return true;
    }
    if (used == 0 && input_.size() >= input_limit) refuse(Http1Parser::Problem::malformed);
    return used > 0;
}

void Http1Session::header_came() {
    asked_ = parser_.headers();
    const auto size = parse_integer(asked_.get("Content-Length"));
    const bool large = size && static_cast<std::size_t>(*size) > rules_->body_limit;
    if (rules_->streamed_body && !parser_.done()) {
        Request request = request_so_far();
        if (rules_->streamed_body(request)) return upload_begins(std::move(request));
    }
    if (large) return refuse(Http1Parser::Problem::body_too_large);
    const bool waits = equal_ignoring_case(asked_.get("Expect"), "100-continue");
    if (waits && !parser_.is_http10() && !parser_.done()) {
        put_piece(make_bytes("HTTP/1.1 100 Continue\r\n\r\n"), false);
    }
}

bool Http1Session::is_too_large() const {
    return parser_.body_size() > rules_->body_limit;
}

Request Http1Session::request_so_far() const {
    Request request;
    request.method = parser_.method();
    set_target(request, parser_.target());
    request.headers = asked_;
    request.body = make_bytes("");
    request.peer = outlet_->peer();
    return request;
}

void Http1Session::request_came() {
    Request request = request_so_far();
    request.body = make_bytes(parser_.take_body());
    outlet_->set_deadline({});
    hand_over(std::move(request), Body::whole);
    parser_.next();
    header_seen_ = false;
}

/// The handler gets the request now and its body as it comes.
void Http1Session::upload_begins(Request request) {
    if (equal_ignoring_case(asked_.get("Expect"), "100-continue"))
        put_piece(make_bytes("HTTP/1.1 100 Continue\r\n\r\n"), false);
    uploading_ = true;
    untaken_ = 0;
    hand_over(std::move(request), Body::coming);
    read_upload();
}

void Http1Session::read_upload() {
    outlet_->set_deadline(rules_->request_timeout);
    while (uploading_) {
        const std::size_t used = parser_.feed(input_);
        input_.erase(0, used);
        if (parser_.problem() != Http1Parser::Problem::none) {
            uploading_ = false;
            keep_alive_ = false;
            pending_.at_home([](Exchange& exchange) { exchange.connection_closed(); });
            phase_ = Phase::last_words;
            return outlet_->flush_soon();
        }
        if (std::string piece = parser_.take_body(); !piece.empty()) {
            untaken_ += piece.size();
            pending_.at_home(
                [piece = std::move(piece)](Exchange& exchange) { exchange.body_came(piece); });
        }
        if (parser_.done()) {
            uploading_ = false;
            outlet_->set_deadline({});
            pending_.at_home([](Exchange& exchange) { exchange.body_ended(); });
            parser_.next();
            header_seen_ = false;
        } else if (used == 0 || input_.empty()) {
            return;
        }
    }
}

void Http1Session::body_taken(Stream stream, std::size_t bytes) {
    if (!is_current(stream)) return;
    untaken_ -= std::min(bytes, untaken_);
    outlet_->flush_soon();
}

void Http1Session::hand_over(Request request, Body body) {
    keep_alive_ = parser_.keeps_alive() && !leaving_;
    head_only_ = request.method == "HEAD";
    chunked_ = !parser_.is_http10();
    phase_ = Phase::answering;
    pending_ = deliver(rules_->home, link_, ++stream_, std::move(request), body);
}

void Http1Session::refuse(Http1Parser::Problem problem) {
    const int status = static_cast<int>(problem);
    keep_alive_ = false;
    phase_ = Phase::last_words;
    input_.clear();
    const std::string text = problem == Http1Parser::Problem::body_too_large
                                 ? too_large_text(rules_->body_limit)
                             : problem == Http1Parser::Problem::header_too_large
                                 ? "the request's header fields are larger than " +
                                       std::to_string(rules_->header_limit) + " bytes"
                                 : "this is not an HTTP/1.1 request";
    const Response response =
        status_response(status, status == 413 ? "RequestEntityTooLarge" : "BadRequest", text);
    put_head(response, response.body->size());
    put_piece(response.body, false);
    outlet_->flush_soon();
}

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
    if (!piece->empty()) {
        pieces_.push_back({std::move(piece), 0, counted ? pending_.flow : nullptr});
    }
    outlet_->flush_soon();
}

void Http1Session::respond(Stream stream, Response response) {
    if (!is_current(stream) || phase_ != Phase::answering) return;
    if (uploading_) keep_alive_ = false;  // What still comes of the body is nobody's.
    if (!response.body) response.body = make_bytes("");
    const bool bodiless = head_only_ || response.status == 204 || response.status == 304;
    put_head(response, response.body->size());
    if (!bodiless) put_piece(response.body, true);
    answer_complete();
}

void Http1Session::begin(Stream stream, Response head) {
    if (!is_current(stream) || phase_ != Phase::answering) return;
    phase_ = Phase::streaming;
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
    char size[24];
    std::snprintf(size, sizeof size, "%zx\r\n", piece->size());
    put_piece(make_bytes(size), false);
    put_piece(std::move(piece), true);
    put_piece(make_bytes("\r\n"), false);
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
    socket_.emplace(WebSocket::End::server, [this](std::string message) {
        pending_.at_home(
            [message = std::move(message)](Exchange& exchange) { exchange.message_came(message); });
    });
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
    onward_.home->waiting += bytes.size();
    pending_.at_home([bytes = std::string(bytes), held = onward_.home](Exchange& exchange) {
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
        pending_.flow->waiting -= message.size();
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
    while (out.size() < enough && !pieces_.empty()) {
        Piece& piece = pieces_.front();
        const std::size_t size = std::min(piece.bytes->size() - piece.sent, enough);
        out.append(*piece.bytes, piece.sent, size);
        piece.sent += size;
        if (piece.flow) piece.flow->waiting -= size;
        if (piece.sent == piece.bytes->size()) pieces_.pop_front();
    }
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

}  // namespace

std::unique_ptr<ServerSession> make_http1_session(std::shared_ptr<const Rules> rules) {
    return std::make_unique<Http1Session>(std::move(rules));
}

}  // namespace muster::net

// net/http1_server.cpp - a server's HTTP/1.1 connection: how requests are read, and what is
// refused.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "net/http1_server_session.h"

namespace muster::net {

void Http1Session::opened(Outlet& outlet) {
    outlet_ = &outlet;
    outlet_->set_deadline(rules_->request_timeout);
}

void Http1Session::feed(std::string_view bytes) {
    if (socket_) {
        socket_->feed(bytes);
        if (!hold_onward()) socket_->close(1013);
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
    while (phase_ == Phase::reading && asked_gate_ != Asked::waits && !input_.empty() &&
           read_request()) {
    }
    if (phase_ == Phase::reading && parser_.started()) request_waits();
}

/// A request has come in part: what there is of it is charged, and its body is not read before the
/// gate has let its head pass.
void Http1Session::request_waits() {
    if (!hold(came_))
        return refuse(too_many_response("the server holds too much for this client: try later"));
    if (!header_seen_ || asked_gate_ != Asked::no) return;
    if (ask_gate(rules_->home, link_, stream_ + 1, request_so_far())) {
        asked_gate_ = Asked::waits;
    } else {
        expect_body();
    }
}

/// Charges so much in place of what was charged for what comes. In large steps.
bool Http1Session::hold(std::size_t bytes) {
    constexpr std::size_t step = 16 << 10;
    const auto& standing = outlet_->peer().standing;
    if (!standing) return true;
    const std::size_t wanted = (bytes + step - 1) / step * step;
    if (wanted == reading_.bytes()) return true;
    if (reading_.bytes() == 0) reading_ = Charge(whose_ ? whose_ : standing->account(), standing);
    return reading_.set(wanted);
}

void Http1Session::decided(Stream stream, Verdict verdict) {
    if (stream != stream_ + 1 || phase_ != Phase::reading || asked_gate_ != Asked::waits) return;
    if (verdict.refusal) return refuse(*verdict.refusal);
    whose_ = std::move(verdict.account);
    admitted_ = std::move(verdict.admitted);
    if (whose_ && reading_.bytes() > 0) reading_.move_to(whose_);
    expect_body();
    read_requests();
    outlet_->flush_soon();
}

/// The client may send the body, if it waits for a word.
void Http1Session::expect_body() {
    asked_gate_ = Asked::passed;
    if (equal_ignoring_case(asked_.get("Expect"), "100-continue") && !parser_.is_http10())
        put_piece(make_bytes("HTTP/1.1 100 Continue\r\n\r\n"), false);
}

/// Gives the parser what there is; false when it needs more.
bool Http1Session::read_request() {
    if (!parser_.started()) outlet_->set_deadline(rules_->request_timeout);
    const std::size_t used = parser_.feed(input_);
    input_.erase(0, used);
    came_ += used;
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
    // RFC 9112 3.2: a proxy before this server could have understood another host.
    const auto hosts =
        std::count_if(asked_.fields.begin(), asked_.fields.end(),
                      [](const auto& field) { return equal_ignoring_case(field.first, "Host"); });
    if (hosts > 1 || (hosts == 0 && !parser_.is_http10()))
        return refuse(status_response(
            400, "BadRequest",
            hosts > 1 ? "too many Host headers: send one" : "missing required Host header"));
    const auto size = parse_integer(asked_.get("Content-Length"));
    const bool large = size && static_cast<std::size_t>(*size) > rules_->body_limit;
    if (rules_->streamed_body && !parser_.done()) {
        Request request = request_so_far();
        if (rules_->streamed_body(request)) return upload_begins(std::move(request));
    }
    if (large) return refuse(Http1Parser::Problem::body_too_large);
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
    const std::size_t head_size = came_ - std::min(came_, parser_.body_size());
    request.body = charged_body(parser_.take_body(), request, whose_);
    request.admitted = std::exchange(admitted_, nullptr);
    reading_.clear();
    whose_ = nullptr;
    came_ = 0;
    asked_gate_ = Asked::no;
    outlet_->set_deadline({});
    if (!charge_request(request, head_size))
        return refuse(too_many_response("the server holds too much for this client: try later"));
    hand_over(std::move(request), Body::whole);
    parser_.next();
    header_seen_ = false;
}

/// The handler gets the request now and its body as it comes.
void Http1Session::upload_begins(Request request) {
    if (equal_ignoring_case(asked_.get("Expect"), "100-continue"))
        put_piece(make_bytes("HTTP/1.1 100 Continue\r\n\r\n"), false);
    if (!charge_request(request, std::exchange(came_, 0)))
        return refuse(too_many_response("the server holds too much for this client: try later"));
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
            if (!hold(untaken_)) return outlet_->set_deadline(nanoseconds(1));
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
    static_cast<void>(hold(untaken_));  // It is less.
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
    const std::string text = problem == Http1Parser::Problem::body_too_large
                                 ? too_large_text(rules_->body_limit)
                             : problem == Http1Parser::Problem::header_too_large
                                 ? "the request's header fields are larger than " +
                                       std::to_string(rules_->header_limit) + " bytes"
                                 : "this is not an HTTP/1.1 request";
    refuse(status_response(status, status == 413 ? "RequestEntityTooLarge" : "BadRequest", text));
}

void Http1Session::refuse(const Response& response) {
    keep_alive_ = false;
    phase_ = Phase::last_words;
    input_.clear();
    parser_.next();
    reading_.clear();
    put_head(response, response.body->size());
    put_piece(response.body, false);
    outlet_->flush_soon();
}

std::unique_ptr<ServerSession> make_http1_session(std::shared_ptr<const Rules> rules) {
    return std::make_unique<Http1Session>(std::move(rules));
}

}  // namespace muster::net

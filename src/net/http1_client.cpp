// net/http1_client.cpp - writes a request, reads its answer whole, in pieces, or as a WebSocket.
#include "net/http1_client.h"

#include <utility>

#include "base/verify.h"

namespace muster::net {
namespace {

constexpr std::size_t header_limit = 256 << 10;

}  // namespace

Http1ClientSession::Http1ClientSession(Owner owner)
    : owner_(std::move(owner)), parser_(Http1Parser::Reads::responses, {header_limit, 0}) {}

void Http1ClientSession::start(std::unique_ptr<Call> call) {
    VERIFY(idle());
    call_ = std::move(call);
    if (outlet_) put_request();
}

void Http1ClientSession::opened(Outlet& outlet) {
    outlet_ = &outlet;
    if (call_) put_request();
}

void Http1ClientSession::put_request() {
    parser_.next(call_->head_only ? Http1Parser::Body::none : Http1Parser::Body::expected);
    input_.clear();
    body_.clear();
    head_given_ = false;
    out_ += call_->bytes;
    outlet_->set_deadline(call_->response_timeout);
    outlet_->flush_soon();
}

void Http1ClientSession::drop_call() {
    call_ = nullptr;
    over_ = true;
    if (outlet_) outlet_->flush_soon();
}

void Http1ClientSession::feed(std::string_view bytes) {
    if (socket_) {
        socket_->feed(bytes);
        return take_socket_output();
    }
    if (!call_) {  // Nothing was asked: the connection is out of step.
        over_ = true;
        return outlet_->flush_soon();
    }
    input_ += bytes;
    read();
}

void Http1ClientSession::read() {
    while (call_ && !socket_ && !input_.empty()) {
        const std::size_t used = parser_.feed(input_);
        input_.erase(0, used);
        if (parser_.problem() != Http1Parser::Problem::none)
            return fail("the server's answer is not HTTP/1.1");
        if (parser_.header_done() && !head_given_) head_came();
        if (call_ && head_given_ && !socket_) body_came();
        if (used == 0) return;
    }
}

void Http1ClientSession::head_came() {
    if (parser_.status() == 101 && call_->kind == Call::Kind::websocket) return start_websocket();
    if (parser_.status() < 200) {  // "100 Continue" and its like come before the answer.
        parser_.next(call_->head_only ? Http1Parser::Body::none : Http1Parser::Body::expected);
        return;
    }
    head_given_ = true;
    answer_ = {};
    answer_.status = parser_.status();
    answer_.headers = parser_.headers();
    if (call_->kind != Call::Kind::stream) return;
    outlet_->set_deadline({});
    call_->on_head(std::exchange(answer_, {}));
}

void Http1ClientSession::body_came() {
    std::string piece = parser_.take_body();
    if (call_->kind == Call::Kind::stream) {
        if (!piece.empty()) call_->on_piece(std::move(piece));
    } else if (body_.size() + piece.size() > call_->limit) {
        return fail("the server's answer is larger than " + std::to_string(call_->limit) +
                    " bytes");
    } else {
        body_ += piece;
    }
    if (parser_.done()) answer_complete();
}

void Http1ClientSession::answer_complete() {
    over_ = over_ || !parser_.keeps_alive() || !input_.empty();
    end_call();
    outlet_->set_deadline({});
    outlet_->flush_soon();
    kept_ = true;
    if (!over_) owner_.on_idle();
}

void Http1ClientSession::end_call() {
    const std::unique_ptr<Call> call = std::move(call_);
    if (call->kind != Call::Kind::stream) {
        answer_.body = make_bytes(std::exchange(body_, {}));
        call->on_head(std::exchange(answer_, {}));
    }
    if (call->on_end) call->on_end();
}

void Http1ClientSession::start_websocket() {
    const Headers headers = parser_.headers();
    if (headers.get("Sec-WebSocket-Accept") != websocket_accept(call_->websocket_key))
        return fail("the server's answer to the WebSocket is wrong");
    outlet_->set_deadline({});
    socket_.emplace(WebSocket::End::client,
                    [this](std::string message) { call_->on_message(std::move(message)); });
    Response head;
    head.status = 101;
    head.headers = headers;
    call_->on_head(std::move(head));
    if (!input_.empty()) socket_->feed(std::exchange(input_, {}));
    take_socket_output();
}

void Http1ClientSession::send_message(std::string message, Flow& flow) {
    flow.waiting -= message.size();
    if (!socket_) return;
    socket_->send(message);
    take_socket_output();
}

void Http1ClientSession::close_channel() {
    if (!socket_) return;
    socket_->close();
    take_socket_output();
    outlet_->set_deadline(seconds(5));  // For the server's own goodbye.
}

void Http1ClientSession::take_socket_output() {
    out_ += socket_->take_output();
    outlet_->flush_soon();
}

void Http1ClientSession::pull(std::string& out, std::size_t) {
    out += std::exchange(out_, {});
}

bool Http1ClientSession::finished() const {
    return (over_ && !call_) || (socket_ && socket_->finished());
}

void Http1ClientSession::closed(const std::string& why) {
    over_ = true;
    if (!call_) return;
    if (kept_ && call_->repeatable && !parser_.started()) return owner_.again(std::move(call_));
    if (!socket_ && head_given_) {
        parser_.end_of_stream();  // Answers without length end this way.
        if (parser_.problem() == Http1Parser::Problem::none && parser_.done()) return end_call();
    }
    fail(why);
}

/// Ends the call; when its head was given already, only with an end.
void Http1ClientSession::fail(const std::string& why) {
    over_ = true;
    const std::unique_ptr<Call> call = std::move(call_);
    const bool told = socket_ || (head_given_ && call->kind == Call::Kind::stream);
    if (!told) {
        Response failure;
        failure.status = 0;
        failure.body = make_bytes(why);
        call->on_head(std::move(failure));
    }
    if (call->on_end) call->on_end();
    if (outlet_) outlet_->flush_soon();
}

}  // namespace muster::net

// net/http1_client.cpp - writes a request, reads its answer whole, in pieces, or as a WebSocket.
#include "net/http1_client.h"

#include <cstdio>
#include <utility>

#include "base/verify.h"
#include "net/client.h"

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
    asked_ = false;
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
    if (raw_ && call_) return message_came(std::string(bytes));
    if (!call_) {  // Nothing was asked: the connection is out of step.
        over_ = true;
        return outlet_->flush_soon();
    }
    input_ += bytes;
    read();
}

void Http1ClientSession::read() {
    while (call_ && !socket_ && !raw_ && !input_.empty()) {
        const std::size_t used = parser_.feed(input_);
        input_.erase(0, used);
        if (parser_.problem() != Http1Parser::Problem::none)
            return fail("the server's answer is not HTTP/1.1");
        if (parser_.header_done() && !head_given_) head_came();
        if (call_ && head_given_ && !socket_ && !raw_) body_came();
        if (used == 0) return;
    }
}

void Http1ClientSession::head_came() {
    if (parser_.status() == 101 && call_->kind == Call::Kind::websocket) return start_websocket();
    if (parser_.status() == 101 && call_->kind == Call::Kind::raw) return start_raw();
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
        if (!piece.empty()) {
            call_->onward.home->waiting += piece.size();
            call_->on_piece(std::move(piece));
        }
    } else if (body_.size() + piece.size() > call_->limit && call_->cuts) {
        body_ += piece.substr(0, call_->limit - body_.size());
        over_ = true;
        end_call();
        return outlet_->flush_soon();
    } else if (body_.size() + piece.size() > call_->limit) {
        return fail("the server's answer is larger than " + std::to_string(call_->limit) +
                    " bytes");
    } else {
        body_ += piece;
    }
    if (parser_.done()) answer_complete();
}

/// Before the connection is there, the pieces wait behind the head.
void Http1ClientSession::send_body(std::string_view piece) {
    if (!call_ || call_->upload == Call::Upload::none) return;
    std::string& out = outlet_ ? out_ : call_->bytes;
    const bool chunked = call_->upload == Call::Upload::chunked;
    if (chunked) {
        char size[24];
        std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
        out += size;
    }
    out += piece;
    if (chunked) out += "\r\n";
    body_unsent_ += piece.size();
    if (outlet_) outlet_->flush_soon();
}

void Http1ClientSession::end_body() {
    if (!call_) return;
    if (call_->upload == Call::Upload::chunked) (outlet_ ? out_ : call_->bytes) += "0\r\n\r\n";
    call_->upload = Call::Upload::none;
    if (outlet_) outlet_->flush_soon();
}

void Http1ClientSession::answer_complete() {
    over_ =
        over_ || call_->upload != Call::Upload::none || !parser_.keeps_alive() || !input_.empty();
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
                    [this](std::string message) { message_came(std::move(message)); });
    Response head;
    head.status = 101;
    head.headers = headers;
    call_->on_head(std::move(head));
    if (!input_.empty()) socket_->feed(std::exchange(input_, {}));
    take_socket_output();
}

void Http1ClientSession::start_raw() {
    raw_ = true;
    outlet_->set_deadline({});
    Response head;
    head.status = 101;
    head.headers = parser_.headers();
    call_->on_head(std::move(head));
    if (!input_.empty()) message_came(std::exchange(input_, {}));
}

void Http1ClientSession::message_came(std::string bytes) {
    call_->onward.home->waiting += bytes.size();
    call_->on_message(std::move(bytes));
}

void Http1ClientSession::read_no_faster_than(Backlog onward) {
    if (call_) call_->onward.beyond = std::move(onward);
}

void Http1ClientSession::send_message(std::string message, const std::shared_ptr<Flow>& flow) {
    if (raw_) {
        raw_flow_ = flow;
        out_ += message;
        return outlet_->flush_soon();
    }
    flow->waiting -= message.size();
    if (!socket_) return;
    socket_->send(message);
    take_socket_output();
}

void Http1ClientSession::close_channel() {
    if (raw_) {
        over_ = true;
        return outlet_->flush_soon();
    }
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
    if (call_ && !std::exchange(asked_, true) && call_->may_go && !call_->may_go()) {
        out_.clear();
        return fail(too_late);
    }
    if (const std::size_t sent = std::exchange(body_unsent_, 0); sent > 0 && call_)
        call_->on_sent(sent);
    if (raw_flow_) raw_flow_->waiting -= out_.size();
    out += std::exchange(out_, {});
}

bool Http1ClientSession::finished() const {
    return (over_ && (!call_ || raw_)) || (socket_ && socket_->finished());
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
    const bool told = socket_ || raw_ || (head_given_ && call->kind == Call::Kind::stream);
    if (!told) {
        Response failure;
        failure.status = 0;
        failure.body = make_bytes(why);
        call->on_head(std::move(failure));
    } else if (call->on_broken) {
        call->on_broken(why);
    }
    if (call->on_end) call->on_end();
    if (outlet_) outlet_->flush_soon();
}

}  // namespace muster::net

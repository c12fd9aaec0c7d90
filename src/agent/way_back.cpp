// agent/way_back.cpp - see way_back.h.
#include "agent/way_back.h"

#include "api/json.h"

namespace muster::agent {

void WayBack::respond(net::Response response) {
    caller_.post([self = shared_from_this(), response = std::move(response)]() mutable {
        self->responder_->respond(std::move(response));
    });
}

void WayBack::refuse(Reason reason, const std::string& message) {
    using api::Value;
    const int code = reason_code(reason);
    const Value status = Value::object({{"kind", "Status"},
                                        {"apiVersion", "v1"},
                                        {"metadata", Value::object()},
                                        {"status", "Failure"},
                                        {"message", message},
                                        {"reason", reason_word(reason)},
                                        {"code", code}});
    net::Response response;
    response.status = code;
    response.headers.set("Content-Type", "application/json");
    response.body = make_bytes(api::to_json(status));
    respond(std::move(response));
}

void WayBack::begin(net::Response head) {
    caller_.post([self = shared_from_this(), head = std::move(head)]() mutable {
        self->responder_->begin(std::move(head));
    });
}

void WayBack::write(std::string text) {
    if (text.empty()) return;
    const std::size_t size = text.size();
    posted_ += size;
    caller_.post([self = shared_from_this(), size, bytes = make_bytes(std::move(text))] {
        self->responder_->write(bytes);
        self->posted_ -= size;
        self->waiting_ = self->responder_->buffered();
    });
}

/// What waits shrinks without a word: who has stopped sending must ask.
std::size_t WayBack::buffered() {
    if (waiting_ > 0 && !asking_.exchange(true))
        caller_.post([self = shared_from_this()] {
            self->waiting_ = self->responder_->buffered();
            self->asking_ = false;
        });
    return posted_ + waiting_;
}

void WayBack::finish() {
    caller_.post([self = shared_from_this()] { self->responder_->finish(); });
}

void WayBack::upgrade(std::string protocol,
                      std::function<void(std::shared_ptr<net::Channel>)> ready) {
    caller_.post(
        [self = shared_from_this(), protocol = std::move(protocol), ready = std::move(ready)] {
            ready(self->responder_->upgrade_websocket(protocol));
        });
}

void WayBack::watch_client() {
    responder_->on_closed([self = shared_from_this()] { self->gone_ = true; });
}

void ChannelBack::send(std::string message) {
    const std::size_t size = message.size();
    posted_ += size;
    caller_.post([self = shared_from_this(), size, message = std::move(message)]() mutable {
        self->channel_->send(std::move(message));
        self->posted_ -= size;
        self->waiting_ = self->channel_->buffered();
    });
}

std::size_t ChannelBack::buffered() {
    if (waiting_ > 0 && !asking_.exchange(true))
        caller_.post([self = shared_from_this()] {
            self->waiting_ = self->channel_->buffered();
            self->asking_ = false;
        });
    return posted_ + waiting_;
}

void ChannelBack::close() {
    caller_.post([self = shared_from_this()] { self->channel_->close(); });
}

void ChannelBack::listen(Loop& agent, std::function<void(std::string)> on_message,
                         std::function<void()> on_closed) {
    channel_->read_no_faster_than(untaken_);
    channel_->on_message(
        [&agent, untaken = untaken_, on_message = std::move(on_message)](std::string_view message) {
            *untaken += message.size();
            agent.post([on_message, text = std::string(message)] { on_message(text); });
        });
    channel_->on_closed([&agent, on_closed = std::move(on_closed)] { agent.post(on_closed); });
}

}  // namespace muster::agent

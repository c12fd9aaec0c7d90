// net/websocket.h - RFC 6455 framing without sockets: bytes to messages and back, for both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster::net {

/// The answer to a Sec-WebSocket-Key.
std::string websocket_accept(std::string_view key);

/// One end of a WebSocket. Answers pings and closes by itself.
class WebSocket {
public:
    /// Only clients mask what they send, and servers insist on it.
    enum class End { server, client };
    using OnMessage = std::function<void(std::string message)>;

    WebSocket(End end, OnMessage on_message) : end_(end), on_message_(std::move(on_message)) {}

    /// Takes bytes that came; whole messages go to `on_message`, text and binary alike.
    void feed(std::string_view bytes);

    /// What the calls below and the answers to pings have put out; the caller takes it.
    std::string take_output();

    void send(std::string_view message);
    void ping();
    /// Starts or answers the closing handshake; nothing can be sent after it.
    void close(std::uint16_t code = 1000);

    /// Bytes of messages that have not come whole.
    std::size_t held() const { return input_.size() + message_.size(); }

    /// Both have said goodbye, or the other broke the rules: close the connection.
    bool finished() const { return finished_; }

private:
    enum Opcode : std::uint8_t {
        more = 0,
        text = 1,
        binary = 2,
        goodbye = 8,
        ping_it = 9,
        pong = 10
    };
    bool take_frame();
    void frame_came(Opcode opcode, bool last, std::string payload);
    void put_frame(Opcode opcode, std::string_view payload);

    End end_;
    OnMessage on_message_;
    std::string input_;
    std::string output_;
    std::string message_;  // Of the frames so far.
    bool in_message_ = false;
    bool said_goodbye_ = false;
    bool finished_ = false;
};

}  // namespace muster::net

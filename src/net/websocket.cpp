// net/websocket.cpp - reads and writes WebSocket frames.
#include "net/websocket.h"

#include <utility>

#include <openssl/sha.h>

#include "base/text.h"
#include "net/secret.h"

namespace muster::net {
namespace {

constexpr std::size_t message_limit = 16 << 20;

std::uint8_t byte_at(std::string_view text, std::size_t at) {
    return static_cast<std::uint8_t>(text[at]);
}

void mask(std::string& payload, std::string_view key) {
    for (std::size_t i = 0; i < payload.size(); ++i)
        payload[i] = static_cast<char>(payload[i] ^ key[i % 4]);
}

}  // namespace

std::string websocket_accept(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::string hash(SHA_DIGEST_LENGTH, '\0');
    SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
    return to_base64(hash);
}

void WebSocket::feed(std::string_view bytes) {
    input_ += bytes;
    while (!finished_ && take_frame()) {
    }
}

/// One whole frame off the input; false when there is none yet.
bool WebSocket::take_frame() {
    if (input_.size() < 2) return false;
    const bool last = (byte_at(input_, 0) & 0x80) != 0;
    const bool reserved = (byte_at(input_, 0) & 0x70) != 0;
    const auto opcode = static_cast<Opcode>(byte_at(input_, 0) & 0x0f);
    const bool masked = (byte_at(input_, 1) & 0x80) != 0;
    std::uint64_t size = byte_at(input_, 1) & 0x7f;
    std::size_t at = 2;
    const std::size_t extra = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (input_.size() < at + extra) return false;
    if (extra > 0) size = 0;
    for (std::size_t i = 0; i < extra; ++i)
        size = size << 8 | byte_at(input_, at++);
    const bool control = opcode >= goodbye;
    if (reserved || masked != (end_ == End::server) || (control && (!last || size > 125))) {
        close(1002);
        finished_ = true;
        return false;
    }
    if (size > message_limit || message_.size() + size > message_limit) {
        close(1009);
        finished_ = true;
        return false;
    }
    const std::size_t key_size = masked ? 4 : 0;
    if (input_.size() < at + key_size + size) return false;
    std::string payload = input_.substr(at + key_size, size);
    if (masked) mask(payload, std::string_view(input_).substr(at, 4));
    input_.erase(0, at + key_size + size);
    frame_came(opcode, last, std::move(payload));
    return true;
}

void WebSocket::frame_came(Opcode opcode, bool last, std::string payload) {
    switch (opcode) {
        case ping_it:
            if (!said_goodbye_) put_frame(pong, payload);
            return;
        case pong:
            return;
        case goodbye:
            close();
            finished_ = true;
            return;
        case text:
        case binary:
        case more:
            if ((opcode == more) != in_message_) break;
            in_message_ = !last;
            message_ += payload;
            if (last) on_message_(std::exchange(message_, {}));
            return;
    }
    close(1002);
    finished_ = true;
}

std::string WebSocket::take_output() {
    return std::exchange(output_, {});
}

void WebSocket::send(std::string_view message) {
    if (!said_goodbye_) put_frame(binary, message);
}

void WebSocket::ping() {
    if (!said_goodbye_) put_frame(ping_it, "");
}

void WebSocket::close(std::uint16_t code) {
    if (std::exchange(said_goodbye_, true)) return;
    const char payload[2] = {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
    put_frame(goodbye, {payload, sizeof payload});
}

void WebSocket::put_frame(Opcode opcode, std::string_view payload) {
    const std::uint8_t masked = end_ == End::client ? 0x80 : 0;
    output_ += static_cast<char>(0x80 | opcode);
    if (payload.size() < 126) {
        output_ += static_cast<char>(masked | payload.size());
    } else {
        const bool wide = payload.size() > 0xffff;
        output_ += static_cast<char>(masked | (wide ? 127 : 126));
        for (int shift = wide ? 56 : 8; shift >= 0; shift -= 8)
            output_ += static_cast<char>(payload.size() >> shift & 0xff);
    }
    if (masked == 0) {
        output_ += payload;
        return;
    }
    const std::string key = secret_bytes(4);
    std::string hidden(payload);
    mask(hidden, key);
    output_ += key + hidden;
}

}  // namespace muster::net

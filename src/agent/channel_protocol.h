// agent/channel_protocol.h - the messages of exec and attach over a WebSocket: a channel's number,
// then bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::agent {

enum class ExecChannel : unsigned char { in = 0, out = 1, error = 2, status = 3, resize = 4 };

std::string channel_message(ExecChannel channel, std::string_view bytes);

/// One message of the client.
struct ClientMessage {
    enum class Kind { input, end_of_input, resize, other };
    Kind kind = Kind::other;
    std::string_view bytes;  // Input.
    int width = 0;           // Resize.
    int height = 0;
};

/// In v5 a message may close a channel (255, then its number).
ClientMessage parse_client_message(std::string_view message);

/// The Status object on the status channel that ends a command: success, its exit code, or why it
/// could not be run.
std::string exit_status(int code, std::string_view failure);

}  // namespace muster::agent

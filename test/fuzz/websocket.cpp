// test/fuzz/websocket.cpp - WebSocket frames, as a server and as a client takes them.
#include "net/websocket.h"

#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    for (const auto end : {net::WebSocket::End::server, net::WebSocket::End::client}) {
        std::size_t bytes = 0;
        net::WebSocket socket(end, [&](const std::string& message) { bytes += message.size(); });
        const std::size_t half = input.size() / 2;
        socket.feed(input.substr(0, half));
        socket.feed(input.substr(half));
        socket.take_output();
        demand(bytes <= input.size(), "no message is longer than what came");
        if (!socket.finished()) socket.close();
    }
}

}  // namespace

Target websocket_target() {
    return {"websocket",
            {std::string("\x81\x83\x01\x02\x03\x04\x60\x62\x62", 9), std::string("\x82\x02hi", 4),
             std::string("\x89\x80\0\0\0\0", 6), std::string("\x88\x82\0\0\0\0\x03\xe8", 8),
             std::string("\x01\x81\0\0\0\0a\x80\x81\0\0\0\0b", 14),
             std::string("\x82\xfe\0\x7e\0\0\0\0", 8),
             std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14)},
            take};
}

}  // namespace muster::fuzz

// agent/spdy.h - the frames of SPDY/3.1 as kubectl's port-forward uses them inside a WebSocket.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

/// Something that the client sent.
struct SpdyEvent {
    enum class Kind { opened, data, reset, ping, going_away };
    Kind kind = Kind::data;
    std::uint32_t stream = 0;                    // Of ping: its number.
    std::map<std::string, std::string> headers;  // Of opened; names in lower case.
    std::string data;
    bool last = false;  // The client sends no more on this stream.
};

/// The server's side of one connection: bytes in, events out; and frames to be sent.
class Spdy {
public:
    Spdy();
    ~Spdy();
    Spdy(const Spdy&) = delete;
    Spdy& operator=(const Spdy&) = delete;

    /// Takes bytes in pieces of any size. Throws Error (bad_request) when they are not SPDY/3.
    std::vector<SpdyEvent> take(std::string_view bytes);

    /// Bytes of a frame that has not come whole.
    std::size_t held() const { return rest_.size(); }

    /// Accepts a stream.
    std::string reply(std::uint32_t stream);
    static std::string ping(std::uint32_t number);
    static std::string reset(std::uint32_t stream);
    enum class Last { no, yes };
    static std::string data(std::uint32_t stream, std::string_view bytes, Last last);

private:
    struct Compression;
    std::string header_block(std::string_view compressed);
    void take_control(int type, unsigned flags, std::string_view payload,
                      std::vector<SpdyEvent>& events);

    std::string rest_;
    std::unique_ptr<Compression> compression_;
};

/// The words that both ends of SPDY/3 know before the first header.
const std::string& spdy_dictionary();

}  // namespace muster::agent

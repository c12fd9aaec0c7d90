// agent/spdy.cpp - see spdy.h.
#include "agent/spdy.h"

#include <array>

#include <zlib.h>

#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

constexpr std::size_t kHead = 8;
constexpr std::size_t kFrameLimit = 256 << 10;  // Less than what may wait of a connection.
constexpr std::size_t kHeadersLimit = 64 << 10;
constexpr unsigned kFin = 1;
enum Type { syn_stream = 1, syn_reply = 2, rst_stream = 3, ping_frame = 6, goaway = 7 };

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
        number = (number << 8) | static_cast<unsigned char>(bytes[at + i]);
    return number;
}

void append_number(std::string& out, std::uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>((number >> shift) & 0xff);
}

std::string control_frame(Type type, std::string_view payload) {
    std::string frame;
    append_number(frame, 0x80030000U | static_cast<std::uint32_t>(type));
    append_number(frame, static_cast<std::uint32_t>(payload.size()));
    frame += payload;
    return frame;
}

[[noreturn]] void fail(const char* what) {
    throw Error(Reason::bad_request, std::string("port-forward: ") + what);
}

std::map<std::string, std::string> parse_headers(std::string_view block) {
    std::map<std::string, std::string> headers;
    std::size_t at = 0;
    const auto next_number = [&]() -> std::size_t {
        if (at + 4 > block.size()) fail("a header block is cut off");
        at += 4;
        return number_at(block, at - 4);
    };
    const auto next_text = [&]() -> std::string {
        const std::size_t size = next_number();
        if (size > block.size() - at) fail("a header block is cut off");
        at += size;
        return std::string(block.substr(at - size, size));
    };
    const std::size_t count = next_number();
    for (std::size_t i = 0; i < count; ++i) {
        const std::string name = to_lower(next_text());
        headers[name] = next_text();
    }
    return headers;
}

const Bytef* bytes_of(std::string_view text) {
    return reinterpret_cast<const Bytef*>(text.data());
}

}  // namespace

/// One stream of compressed headers each way, for the life of the connection.
struct Spdy::Compression {
    Compression() {
        const bool good =
            ::inflateInit(&in) == Z_OK && ::deflateInit(&out, Z_DEFAULT_COMPRESSION) == Z_OK &&
            ::deflateSetDictionary(&out, bytes_of(spdy_dictionary()),
                                   static_cast<uInt>(spdy_dictionary().size())) == Z_OK;
        if (!good) throw Error(Reason::internal_error, "zlib cannot be started");
    }
    ~Compression() {
        ::inflateEnd(&in);
        ::deflateEnd(&out);
    }
    z_stream in{};
    z_stream out{};
};

Spdy::Spdy() : compression_(std::make_unique<Compression>()) {}

Spdy::~Spdy() = default;

std::vector<SpdyEvent> Spdy::take(std::string_view bytes) {
    std::vector<SpdyEvent> events;
    rest_ += bytes;
    std::size_t at = 0;
    while (rest_.size() - at >= kHead) {
        const std::string_view all = std::string_view(rest_).substr(at);
        const std::uint32_t first = number_at(all, 0);
        const std::uint32_t second = number_at(all, 4);
        const std::size_t length = second & 0xffffff;
        const unsigned flags = second >> 24;
        if (length > kFrameLimit) fail("a frame is too large");
        if (all.size() < kHead + length) break;
        const std::string_view payload = all.substr(kHead, length);
        if ((first & 0x80000000U) != 0) {
            if (((first >> 16) & 0x7fff) != 3) fail("the client does not speak SPDY/3");
            take_control(static_cast<int>(first & 0xffff), flags, payload, events);
        } else {
            SpdyEvent event;
            event.stream = first;
            event.data = payload;
            event.last = (flags & kFin) != 0;
            events.push_back(std::move(event));
        }
        at += kHead + length;
    }
    rest_.erase(0, at);
    return events;
}

void Spdy::take_control(int type, unsigned flags, std::string_view payload,
                        std::vector<SpdyEvent>& events) {
    SpdyEvent event;
    event.last = (flags & kFin) != 0;
    if (payload.size() >= 4) event.stream = number_at(payload, 0) & 0x7fffffff;
    if (type == syn_stream) {
        if (payload.size() < 10) fail("a stream's first frame is cut off");
        event.kind = SpdyEvent::Kind::opened;
        event.headers = parse_headers(header_block(payload.substr(10)));
    } else if (type == rst_stream && payload.size() >= 8) {
        event.kind = SpdyEvent::Kind::reset;
    } else if (type == ping_frame && payload.size() >= 4) {
        event.kind = SpdyEvent::Kind::ping;
        event.stream = number_at(payload, 0);
    } else if (type == goaway) {
        event.kind = SpdyEvent::Kind::going_away;
    } else {
        return;  // Settings and windows: this end needs neither.
    }
    events.push_back(std::move(event));
}

std::string Spdy::header_block(std::string_view compressed) {
    z_stream& in = compression_->in;
    std::string block;
    in.next_in = const_cast<Bytef*>(bytes_of(compressed));
    in.avail_in = static_cast<uInt>(compressed.size());
    std::array<char, 4096> piece;
    while (in.avail_in > 0) {
        in.next_out = reinterpret_cast<Bytef*>(piece.data());
        in.avail_out = static_cast<uInt>(piece.size());
        const int result = ::inflate(&in, Z_SYNC_FLUSH);
        if (result == Z_NEED_DICT) {
            if (::inflateSetDictionary(&in, bytes_of(spdy_dictionary()),
                                       static_cast<uInt>(spdy_dictionary().size())) != Z_OK)
                fail("headers are compressed with an unknown dictionary");
            continue;
        }
        if (result != Z_OK && result != Z_STREAM_END) fail("headers cannot be decompressed");
        block.append(piece.data(), piece.size() - in.avail_out);
        if (block.size() > kHeadersLimit) fail("headers are too large");
    }
    return block;
}

std::string Spdy::reply(std::uint32_t stream) {
    z_stream& out = compression_->out;
    const std::string block(4, '\0');  // No headers.
    std::array<char, 256> piece;
    out.next_in = const_cast<Bytef*>(bytes_of(block));
    out.avail_in = static_cast<uInt>(block.size());
    out.next_out = reinterpret_cast<Bytef*>(piece.data());
    out.avail_out = static_cast<uInt>(piece.size());
    ::deflate(&out, Z_SYNC_FLUSH);
    std::string payload;
    append_number(payload, stream);
    payload.append(piece.data(), piece.size() - out.avail_out);
    return control_frame(syn_reply, payload);
}

std::string Spdy::ping(std::uint32_t number) {
    std::string payload;
    append_number(payload, number);
    return control_frame(ping_frame, payload);
}

std::string Spdy::reset(std::uint32_t stream) {
    std::string payload;
    append_number(payload, stream);
    append_number(payload, 5);  // CANCEL
    return control_frame(rst_stream, payload);
}

std::string Spdy::data(std::uint32_t stream, std::string_view bytes, Last last) {
    std::string frame;
    append_number(frame, stream);
    append_number(frame,
                  (last == Last::yes ? kFin << 24 : 0U) | static_cast<std::uint32_t>(bytes.size()));
    frame += bytes;
    return frame;
}

}  // namespace muster::agent

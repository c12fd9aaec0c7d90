// net/gzip.cpp - zlib behind two functions.
#include "net/gzip.h"

#include <zlib.h>

#include "base/verify.h"

namespace muster::net {
namespace {

constexpr int gzip_window = 15 + 16;  // zlib's way to say "with gzip's head and tail".
/// The fastest level: JSON shrinks to a tenth with it, and slower ones save little more.
constexpr int level = 1;
constexpr int memory_level = 8;

Bytef* bytes_of(std::string_view text) {
    return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
}

}  // namespace

std::string gzip(std::string_view text) {
    z_stream stream{};
    VERIFY(deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory_level,
                        Z_DEFAULT_STRATEGY) == Z_OK);
    std::string packed(deflateBound(&stream, text.size()), '\0');
    stream.next_in = bytes_of(text);
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = bytes_of(packed);
    stream.avail_out = static_cast<uInt>(packed.size());
    VERIFY(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

std::optional<std::string> gunzip(std::string_view bytes, std::size_t limit) {
    z_stream stream{};
    VERIFY(inflateInit2(&stream, gzip_window) == Z_OK);
    stream.next_in = bytes_of(bytes);
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string text;
    int result = Z_OK;
    while (result == Z_OK && text.size() <= limit) {
        char piece[16 << 10];
        stream.next_out = reinterpret_cast<Bytef*>(piece);
        stream.avail_out = sizeof piece;
        result = inflate(&stream, Z_NO_FLUSH);
        text.append(piece, sizeof piece - stream.avail_out);
    }
    inflateEnd(&stream);
    if (result != Z_STREAM_END || text.size() > limit) return std::nullopt;
    return text;
}

}  // namespace muster::net

// net/http2_frames.h - what both ends of HTTP/2 do with nghttp2 in the same way.
#pragma once

#include <string>
#include <string_view>

#include <nghttp2/nghttp2.h>

namespace muster::net {

/// One header field for nghttp2, which copies it before the call that it is passed to returns.
inline nghttp2_nv field_of(std::string_view name, std::string_view value) {
    const auto bytes = [](std::string_view text) {
        return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

/// Appends frames that wait to be sent until `out` has `enough` bytes or none waits. False: the
/// session is broken.
inline bool pull_frames(nghttp2_session* session, std::string& out, std::size_t enough) {
    while (out.size() < enough) {
        const std::uint8_t* bytes = nullptr;
        const ssize_t size = nghttp2_session_mem_send(session, &bytes);
        if (size <= 0) return size == 0;
        out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    return true;
}

}  // namespace muster::net

// base/hash.h - a stable hash for names and cache keys: the same on every machine and in every run.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

/// FNV-1a, 64 bits. Not for secrets, nor against chosen input.
constexpr std::uint64_t stable_hash(std::string_view text,
                                    std::uint64_t start = 0xcbf29ce484222325ULL) {
    for (const char c : text) {
        start ^= static_cast<unsigned char>(c);
        start *= 0x100000001b3ULL;
    }
    return start;
}

}  // namespace muster

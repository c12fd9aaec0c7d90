// base/hash.h - a stable hash for names and cache keys: the same on every machine and in every run.
#pragma once

#include <cstdint>
#include <string>
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

/// A hash as it stands in names: 16 hexadecimal digits.
inline std::string to_digits(std::uint64_t hash) {
    std::string text(16, '0');
    for (auto digit = text.rbegin(); hash != 0; ++digit, hash >>= 4)
        *digit = "0123456789abcdef"[hash & 15];
    return text;
}

}  // namespace muster

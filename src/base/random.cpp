// base/random.cpp - splitmix64 and the names made from it.
#include "base/random.h"

#include <cstdio>

#include "base/verify.h"

namespace muster {

std::uint64_t Random::next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t bound) {
    VERIFY(bound > 0);
    // Values above the last full multiple of `bound` would make small results likelier.
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    std::uint64_t value = next();
    while (value >= limit)
        value = next();
    return value % bound;
}

std::string Random::suffix(int length) {
    static constexpr char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    std::string text;
    for (int i = 0; i < length; ++i)
        text += alphabet[below(sizeof(alphabet) - 1)];
    return text;
}

std::string Random::uuid() {
    const std::uint64_t high = (next() & ~0xf000ULL) | 0x4000ULL;
    const std::uint64_t low = (next() & ~(3ULL << 62)) | (2ULL << 62);
    char text[37];
    std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx",
                  static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                  static_cast<unsigned>(high & 0xffff), static_cast<unsigned>(low >> 48),
                  static_cast<unsigned long long>(low & 0xffffffffffffULL));
    return text;
}

}  // namespace muster

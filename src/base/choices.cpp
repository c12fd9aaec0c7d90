// base/choices.cpp - makes failing bytes shorter by leaving out pieces, then smaller one by one.
#include "base/choices.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace muster {

namespace {

using Fails = std::function<bool(const std::string&)>;

// Halves, quarters, ... of it are left out, from the end, where less depends on them.
bool make_shorter(std::string& bytes, const Fails& fails) {
    const std::size_t before = bytes.size();
    for (std::size_t piece = (bytes.size() + 1) / 2; piece > 0; piece /= 2) {
        for (std::size_t end = bytes.size(); end >= piece;) {
            std::string shorter = bytes;
            shorter.erase(end - piece, piece);
            if (fails(shorter)) {
                bytes = std::move(shorter);
                end = std::min(end, bytes.size());
            } else {
                end -= piece;
            }
        }
    }
    return bytes.size() < before;
}

// A byte is a choice by its rest: the first few numbers say nearly all.
bool make_smaller(std::string& bytes, const Fails& fails) {
    bool changed = false;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const int value = static_cast<unsigned char>(bytes[i]);
        for (const int less : {0, 1, 2, 3, 4, 5, 6, 7, value / 2}) {
            if (less >= value) continue;
            std::string smaller = bytes;
            smaller[i] = static_cast<char>(less);
            if (!fails(smaller)) continue;
            bytes = std::move(smaller);
            changed = true;
            break;
        }
    }
    return changed;
}

}  // namespace

std::string random_bytes(std::uint64_t seed, std::size_t least, std::size_t most) {
    Random random(seed);
    std::string bytes(least + random.below(most - least + 1), '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(random.below(256));
    return bytes;
}

std::string shrunk(std::string bytes, const Fails& still_fails) {
    constexpr int tries_most = 5'000;  // A slow case is told as short as it has become by then.
    int tries = 0;
    const Fails fails = [&](const std::string& fewer) {
        return ++tries <= tries_most && still_fails(fewer);
    };
    bool shorter = true;
    bool smaller = true;
    while (shorter || smaller) {
        shorter = make_shorter(bytes, fails);
        smaller = make_smaller(bytes, fails);
    }
    return bytes;
}

std::string numbers_of(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes)
        text += (text.empty() ? "" : " ") + std::to_string(static_cast<unsigned char>(byte));
    return text;
}

}  // namespace muster

// net/secret.cpp - randomness, hashes and base64, from OpenSSL where it has them.
#include "net/secret.h"

#include <array>
#include <cstring>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "base/error.h"

namespace muster::net {
namespace {

constexpr char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode(std::string_view bytes, const char* alphabet) {
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t left = bytes.size() - i < 3 ? bytes.size() - i : 3;
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            group = group << 8 | (k < left ? static_cast<std::uint8_t>(bytes[i + k]) : 0U);
        }
        for (std::size_t k = 0; k <= left; ++k)
            out += alphabet[group >> (18 - 6 * k) & 63];
    }
    return out;
}

std::optional<std::string> decode(std::string_view text, const char* alphabet) {
    if (text.size() % 4 == 1) return std::nullopt;
    std::array<std::int8_t, 256> values;
    values.fill(-1);
    for (int i = 0; i < 64; ++i)
        values[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::int8_t>(i);
    std::string out;
    out.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const int value = values[static_cast<std::uint8_t>(c)];
        if (value < 0) return std::nullopt;
        bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xffffff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out += static_cast<char>(bits >> count & 0xff);
        }
    }
    if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;  // Not what an encoder makes.
    return out;
}

}  // namespace

std::string secret_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1) {
        throw Error(Reason::internal_error, "this machine gives no random bytes");
    }
    return bytes;
}

std::uint64_t secret_seed() {
    std::uint64_t seed = 0;
    std::memcpy(&seed, secret_bytes(sizeof seed).data(), sizeof seed);
    return seed;
}

std::string sha256(std::string_view bytes) {
    std::string hash(SHA256_DIGEST_LENGTH, '\0');
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
           reinterpret_cast<unsigned char*>(hash.data()));
    return hash;
}

std::string sha256_hex(std::string_view bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string hex;
    for (const char c : sha256(bytes)) {
        hex += digits[static_cast<std::uint8_t>(c) >> 4];
        hex += digits[static_cast<std::uint8_t>(c) & 15];
    }
    return hex;
}

std::string base64(std::string_view bytes) {
    std::string text = encode(bytes, standard);
    text.append((4 - text.size() % 4) % 4, '=');
    return text;
}

std::string base64url(std::string_view bytes) {
    return encode(bytes, url_safe);
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    for (int i = 0; i < 2 && text.ends_with('='); ++i)
        text.remove_suffix(1);
    return decode(text, standard);
}

std::optional<std::string> from_base64url(std::string_view text) {
    return decode(text, url_safe);
}

bool equal_secrets(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace muster::net

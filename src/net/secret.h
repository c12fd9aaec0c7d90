// net/secret.h - randomness for keys and tokens, hashes, and comparing without telling how far it
// matched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::net {

/// Bytes nobody can guess, from OpenSSL. Throws Error when the machine has none to give.
std::string secret_bytes(std::size_t count);

/// A seed for base/random.h, from the same source.
std::uint64_t secret_seed();

/// The 32 bytes of the hash, and the same as 64 hex digits.
std::string sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

/// True when equal; takes the same time wherever they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace muster::net

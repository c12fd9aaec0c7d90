// net/secret.h - randomness for keys and tokens, hashes, and comparing without telling how far it
// matched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// Base64 with padding (Secrets, kubeconfigs), and the URL-safe form without (tokens, WebSocket
/// bearer subprotocols). Decoding is absent for anything that is not exactly that.
std::string base64(std::string_view bytes);
std::string base64url(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);
std::optional<std::string> from_base64url(std::string_view text);

/// True when equal; takes the same time wherever they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace muster::net

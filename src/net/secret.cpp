// net/secret.cpp - randomness and hashes, from OpenSSL.
#include "net/secret.h"

#include <cstring>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "base/error.h"
#include "base/text.h"

namespace muster::net {
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
    return to_hex(sha256(bytes));
}

bool equal_secrets(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace muster::net

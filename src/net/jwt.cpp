// net/jwt.cpp - ES256 signatures over the two first parts of a token.
#include "net/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>

#include "base/text.h"
#include "base/verify.h"
#include "net/openssl.h"
#include "net/secret.h"

namespace muster::net {
namespace {

constexpr int number_size = 32;  // Of r and of s on P-256.
using SignaturePtr = std::unique_ptr<ECDSA_SIG, FreeWith<ECDSA_SIG_free>>;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

/// OpenSSL writes signatures as ASN.1; tokens carry the two bare numbers.
std::string bare_signature(std::string_view asn1) {
    const unsigned char* at = bytes_of(asn1);
    const SignaturePtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(asn1.size())));
    VERIFY(signature != nullptr);
    std::string bare(2 * number_size, '\0');
    auto* out = reinterpret_cast<unsigned char*>(bare.data());
    VERIFY(BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, number_size) == number_size);
    VERIFY(BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + number_size, number_size) ==
           number_size);
    return bare;
}

std::string asn1_signature(std::string_view bare) {
    const SignaturePtr signature(ECDSA_SIG_new());
    ECDSA_SIG_set0(signature.get(), BN_bin2bn(bytes_of(bare), number_size, nullptr),
                   BN_bin2bn(bytes_of(bare) + number_size, number_size, nullptr));
    unsigned char* out = nullptr;
    const int size = i2d_ECDSA_SIG(signature.get(), &out);
    VERIFY(size > 0);
    std::string asn1(reinterpret_cast<char*>(out), static_cast<std::size_t>(size));
    OPENSSL_free(out);
    return asn1;
}

std::string id_of(EVP_PKEY* key) {
    unsigned char* der = nullptr;
    const int size = i2d_PUBKEY(key, &der);
    VERIFY(size > 0);
    std::string id =
        to_base64url(sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)}));
    OPENSSL_free(der);
    return id;
}

std::string header_of(EVP_PKEY* key) {
    return to_base64url(R"({"alg":"ES256","kid":")" + id_of(key) + "\"}");
}

std::string coordinate_of(EVP_PKEY* key, const char* which) {
    BIGNUM* number = nullptr;
    VERIFY(EVP_PKEY_get_bn_param(key, which, &number) == 1);
    std::string bytes(number_size, '\0');
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), number_size);
    BN_free(number);
    return to_base64url(bytes);
}

}  // namespace

std::string sign_jwt(const std::string& key_pem, std::string_view claims_json) {
    const KeyPtr key = private_key_of(key_pem);
    VERIFY(key != nullptr);
    const std::string text = header_of(key.get()) + "." + to_base64url(claims_json);
    const DigestPtr digest(EVP_MD_CTX_new());
    VERIFY(EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1);
    std::size_t size = 0;
    VERIFY(EVP_DigestSign(digest.get(), nullptr, &size, bytes_of(text), text.size()) == 1);
    std::string asn1(size, '\0');
    VERIFY(EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(asn1.data()), &size,
                          bytes_of(text), text.size()) == 1);
    asn1.resize(size);
    return text + "." + to_base64url(bare_signature(asn1));
}

std::optional<std::string> verified_claims(const std::string& key_pem, std::string_view token) {
    const KeyPtr key = public_key_of(key_pem);
    const std::size_t first = token.find('.');
    const std::size_t last = token.rfind('.');
    if (!key || first == std::string_view::npos || first == last) return std::nullopt;
    // The header is one that this key writes, so no other algorithm can be talked into.
    if (token.substr(0, first) != header_of(key.get())) return std::nullopt;
    const std::string_view text = token.substr(0, last);
    const auto bare = from_base64url(token.substr(last + 1));
    auto claims = from_base64url(token.substr(first + 1, last - first - 1));
    if (!bare || bare->size() != 2 * number_size || !claims) return std::nullopt;
    const std::string asn1 = asn1_signature(*bare);
    const DigestPtr digest(EVP_MD_CTX_new());
    VERIFY(EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1);
    const int good =
        EVP_DigestVerify(digest.get(), bytes_of(asn1), asn1.size(), bytes_of(text), text.size());
    if (good != 1) {
        openssl_error();
        return std::nullopt;
    }
    return claims;
}

std::string key_id(const std::string& key_pem) {
    const KeyPtr key = public_key_of(key_pem);
    VERIFY(key != nullptr);
    return id_of(key.get());
}

std::string key_set_json(const std::string& key_pem) {
    const KeyPtr key = public_key_of(key_pem);
    VERIFY(key != nullptr);
    return R"({"keys":[{"use":"sig","kty":"EC","kid":")" + id_of(key.get()) +
           R"(","crv":"P-256","alg":"ES256","x":")" +
           coordinate_of(key.get(), OSSL_PKEY_PARAM_EC_PUB_X) + R"(","y":")" +
           coordinate_of(key.get(), OSSL_PKEY_PARAM_EC_PUB_Y) + "\"}]}";
}

}  // namespace muster::net

// net/openssl.cpp - PEM in and out, and keys, for the rest of net/.
#include "net/openssl.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/error.h"
#include "base/verify.h"

namespace muster::net {
namespace {

BioPtr reader_of(const std::string& text) {
    return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string text_in(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(size)};
}

}  // namespace

int no_password(char*, int, int, void*) {
    return 0;
}

std::string openssl_error() {
    char text[256] = "no reason given";
    if (const unsigned long code = ERR_get_error(); code != 0)
        ERR_error_string_n(code, text, sizeof text);
    ERR_clear_error();
    return text;
}

KeyPtr private_key_of(const std::string& pem) {
    KeyPtr key(PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, no_password, nullptr));
    ERR_clear_error();
    return key;
}

KeyPtr public_key_of(const std::string& pem) {
    KeyPtr key(PEM_read_bio_PUBKEY(reader_of(pem).get(), nullptr, no_password, nullptr));
    ERR_clear_error();
    return key ? std::move(key) : private_key_of(pem);
}

CertificatePtr certificate_of(const std::string& pem) {
    CertificatePtr certificate(
        PEM_read_bio_X509(reader_of(pem).get(), nullptr, no_password, nullptr));
    ERR_clear_error();
    return certificate;
}

std::string to_pem(EVP_PKEY* private_key) {
    const BioPtr bio(BIO_new(BIO_s_mem()));
    VERIFY(PEM_write_bio_PKCS8PrivateKey(bio.get(), private_key, nullptr, nullptr, 0, nullptr,
                                         nullptr) == 1);
    return text_in(bio.get());
}

std::string to_pem(X509* certificate) {
    const BioPtr bio(BIO_new(BIO_s_mem()));
    VERIFY(PEM_write_bio_X509(bio.get(), certificate) == 1);
    return text_in(bio.get());
}

KeyPtr make_key() {
    KeyPtr key(EVP_EC_gen("P-256"));
    if (!key) throw Error(Reason::internal_error, "cannot make a key: " + openssl_error());
    return key;
}

}  // namespace muster::net

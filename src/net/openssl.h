// net/openssl.h - OpenSSL's objects as values that free themselves; for .cpp files of net/ only.
#pragma once

#include <memory>
#include <string>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace muster::net {

/// Calls one of OpenSSL's free functions.
template <auto Function>
struct FreeWith {
    template <class T>
    void operator()(T* object) const {
        Function(object);
    }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using KeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeWith<X509_free>>;
using StorePtr = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;
using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using TlsContextPtr = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>>;
using TlsPtr = std::unique_ptr<SSL, FreeWith<SSL_free>>;

/// PEM may be encrypted; nobody is there to be asked for a password. For OpenSSL's readers.
int no_password(char*, int, int, void*);

/// The oldest error OpenSSL remembers on this thread, in its words; forgets all of them.
std::string openssl_error();

/// Null when the PEM is not one. A private key is also a public one.
KeyPtr private_key_of(const std::string& pem);
KeyPtr public_key_of(const std::string& pem);  // Takes private keys too.
CertificatePtr certificate_of(const std::string& pem);

/// Requires: what is written is valid.
std::string to_pem(EVP_PKEY* private_key);
std::string to_pem(X509* certificate);

/// A new EC P-256 key. Throws Error when OpenSSL cannot.
KeyPtr make_key();

}  // namespace muster::net

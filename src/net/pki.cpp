// net/pki.cpp - makes and reads X.509 certificates.
#include "net/pki.h"

#include <algorithm>
#include <ctime>
#include <memory>

#include <arpa/inet.h>
#include <openssl/x509v3.h>

#include "base/error.h"
#include "base/verify.h"
#include "net/openssl.h"
#include "net/secret.h"

namespace muster::net {
namespace {

/// Other machines' clocks may be a little behind.
constexpr Duration backdated = minutes(5);
constexpr Duration authority_valid = hours(24 * 3650);

std::time_t seconds_of(Time time) {
    return static_cast<std::time_t>(time.since_epoch / 1'000'000'000);
}

void add_part(X509_NAME* name, const char* part, const std::string& value) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(value.data());
    const int added = X509_NAME_add_entry_by_txt(name, part, MBSTRING_UTF8, bytes,
                                                 static_cast<int>(value.size()), -1, 0);
    if (added != 1) {
        openssl_error();
        throw Error(Reason::invalid, "\"" + value +
                                         "\" cannot be a name in a certificate: 1 to 64 "
                                         "characters of UTF-8 can");
    }
}

void add_extension(X509* certificate, X509* issuer, int id, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value);
    VERIFY(extension != nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

void add_names(X509* certificate, const Subject& subject) {
    using Names = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;
    const Names names(GENERAL_NAMES_new());
    for (const std::string& text : subject.names) {
        GENERAL_NAME* name = GENERAL_NAME_new();
        ASN1_IA5STRING* value = ASN1_IA5STRING_new();
        ASN1_STRING_set(value, text.data(), static_cast<int>(text.size()));
        GENERAL_NAME_set0_value(name, GEN_DNS, value);
        sk_GENERAL_NAME_push(names.get(), name);
    }
    for (const std::string& text : subject.addresses) {
        ASN1_OCTET_STRING* value = a2i_IPADDRESS(text.c_str());
        if (!value) throw Error(Reason::invalid, "\"" + text + "\" is not an IP address");
        GENERAL_NAME* name = GENERAL_NAME_new();
        GENERAL_NAME_set0_value(name, GEN_IPADD, value);
        sk_GENERAL_NAME_push(names.get(), name);
    }
    if (sk_GENERAL_NAME_num(names.get()) == 0) return;
    VERIFY(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1);
}

/// A certificate with everything but its extensions and signature.
CertificatePtr start_certificate(const Subject& subject, EVP_PKEY* key, Time now, Duration valid) {
    CertificatePtr certificate(X509_new());
    X509_set_version(certificate.get(), X509_VERSION_3);
    std::string serial = secret_bytes(16);
    serial[0] = static_cast<char>(serial[0] & 0x7f);  // Positive.
    BIGNUM* number = BN_bin2bn(reinterpret_cast<const unsigned char*>(serial.data()), 16, nullptr);
    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.get()));
    BN_free(number);
    ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds_of(now - backdated));
    ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds_of(now + valid));
    X509_NAME* name = X509_get_subject_name(certificate.get());
    for (const std::string& organization : subject.organizations)
        add_part(name, "O", organization);
    if (!subject.common_name.empty()) add_part(name, "CN", subject.common_name);
    X509_set_pubkey(certificate.get(), key);
    return certificate;
}

void sign(X509* certificate, EVP_PKEY* key) {
    if (X509_sign(certificate, key, EVP_sha256()) == 0)
        throw Error(Reason::internal_error, "cannot sign a certificate: " + openssl_error());
}

KeyPair make_leaf(const KeyPair& authority, const Subject& subject, Time now, Duration valid,
                  const char* usage) {
    const CertificatePtr issuer = certificate_of(authority.certificate_pem);
    const KeyPtr issuer_key = private_key_of(authority.key_pem);
    if (!issuer || !issuer_key)
        throw Error(Reason::invalid, "the certificate authority's files are damaged");
    const KeyPtr key = make_key();
    const CertificatePtr leaf = start_certificate(subject, key.get(), now, valid);
    X509_set_issuer_name(leaf.get(), X509_get_subject_name(issuer.get()));
    add_extension(leaf.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE");
    add_extension(leaf.get(), issuer.get(), NID_key_usage, "critical,digitalSignature");
    add_extension(leaf.get(), issuer.get(), NID_ext_key_usage, usage);
    add_extension(leaf.get(), issuer.get(), NID_authority_key_identifier, "keyid");
    add_names(leaf.get(), subject);
    sign(leaf.get(), issuer_key.get());
    return {to_pem(leaf.get()), to_pem(key.get())};
}

Time time_of(const ASN1_TIME* time) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
    return {static_cast<std::int64_t>(timegm(&parts)) * 1'000'000'000};
}

std::string text_of(const ASN1_STRING* text) {
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, text);
    if (size < 0) return "";
    std::string out(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
    OPENSSL_free(utf8);
    return out;
}

void read_alternative_names(X509* certificate, Subject& subject) {
    using Names = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;
    const Names names(static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type == GEN_DNS) {
            subject.names.push_back(text_of(name->d.dNSName));
        } else if (name->type == GEN_IPADD) {
            const int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
            char text[INET6_ADDRSTRLEN] = "";
            inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text);
            subject.addresses.emplace_back(text);
        }
    }
}

bool contains_all(const std::vector<std::string>& have, const std::vector<std::string>& want) {
    return std::all_of(want.begin(), want.end(), [&](const std::string& one) {
        return std::find(have.begin(), have.end(), one) != have.end();
    });
}

}  // namespace

KeyPair make_authority(const std::string& name, Time now) {
    const KeyPtr key = make_key();
    const Subject subject{.common_name = name, .organizations = {}, .names = {}, .addresses = {}};
    const CertificatePtr root = start_certificate(subject, key.get(), now, authority_valid);
    X509_set_issuer_name(root.get(), X509_get_subject_name(root.get()));
    add_extension(root.get(), root.get(), NID_basic_constraints, "critical,CA:TRUE");
    add_extension(root.get(), root.get(), NID_key_usage, "critical,keyCertSign,digitalSignature");
    add_extension(root.get(), root.get(), NID_subject_key_identifier, "hash");
    sign(root.get(), key.get());
    return {to_pem(root.get()), to_pem(key.get())};
}

KeyPair make_server_certificate(const KeyPair& authority, const Subject& subject, Time now,
                                Duration valid) {
    return make_leaf(authority, subject, now, valid, "serverAuth");
}

KeyPair make_client_certificate(const KeyPair& authority, const Subject& subject, Time now,
                                Duration valid) {
    return make_leaf(authority, subject, now, valid, "clientAuth");
}

std::string make_signing_key() {
    return to_pem(make_key().get());
}

bool is_signing_key(const std::string& key_pem) {
    const KeyPtr key = private_key_of(key_pem);
    char curve[64] = "";
    std::size_t size = 0;
    return key && EVP_PKEY_is_a(key.get(), "EC") == 1 &&
           EVP_PKEY_get_group_name(key.get(), curve, sizeof curve, &size) == 1 &&
           std::string_view(curve, size) == SN_X9_62_prime256v1;
}

std::optional<Certificate> read_certificate(const std::string& certificate_pem) {
    const CertificatePtr x509 = certificate_of(certificate_pem);
    if (!x509) return std::nullopt;
    Certificate certificate;
    const X509_NAME* name = X509_get_subject_name(x509.get());
    for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
        const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
        const int id = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
        const std::string text = text_of(X509_NAME_ENTRY_get_data(entry));
        if (id == NID_commonName) certificate.subject.common_name = text;
        if (id == NID_organizationName) certificate.subject.organizations.push_back(text);
    }
    read_alternative_names(x509.get(), certificate.subject);
    certificate.not_before = time_of(X509_get0_notBefore(x509.get()));
    certificate.not_after = time_of(X509_get0_notAfter(x509.get()));
    certificate.authority = X509_check_ca(x509.get()) == 1;
    return certificate;
}

bool is_intact(const KeyPair& pair, const std::string& authority_pem) {
    const CertificatePtr certificate = certificate_of(pair.certificate_pem);
    const CertificatePtr authority = certificate_of(authority_pem);
    const KeyPtr key = private_key_of(pair.key_pem);
    if (!certificate || !authority || !key) return false;
    const bool signed_by = X509_verify(certificate.get(), X509_get0_pubkey(authority.get())) == 1;
    const bool belongs = X509_check_private_key(certificate.get(), key.get()) == 1;
    if (!signed_by || !belongs) openssl_error();
    return signed_by && belongs;
}

bool still_serves(const KeyPair& pair, const std::string& authority_pem, const Subject& subject,
                  Time now, Duration margin) {
    const auto certificate = read_certificate(pair.certificate_pem);
    return certificate && is_intact(pair, authority_pem) && certificate->not_before <= now &&
           now + margin < certificate->not_after &&
           contains_all(certificate->subject.names, subject.names) &&
           contains_all(certificate->subject.addresses, subject.addresses);
}

}  // namespace muster::net

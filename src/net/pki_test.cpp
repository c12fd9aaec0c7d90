// net/pki_test.cpp - certificates, tokens and hashes.
#include "net/pki.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "net/jwt.h"
#include "net/secret.h"

namespace muster::net {

namespace {

constexpr Time today{1'700'000'000'000'000'000};

Subject server_subject() {
    Subject subject;
    subject.common_name = "muster";
    subject.names = {"localhost", "kubernetes.default.svc"};
    subject.addresses = {"127.0.0.1", "::1", "10.96.0.1"};
    return subject;
}

}  // namespace

TEST_CASE("a client certificate says the user and the groups that were asked for") {
    const KeyPair authority = make_authority("muster-ca", today);
    Subject subject;
    subject.common_name = "kubernetes-admin";
    subject.organizations = {"system:masters", "dév"};
    const KeyPair pair = make_client_certificate(authority, subject, today, hours(24));
    const auto read = read_certificate(pair.certificate_pem);
    REQUIRE(read);
    CHECK(read->subject.common_name == "kubernetes-admin");
    CHECK(read->subject.organizations == subject.organizations);
    CHECK(read->not_after == today + hours(24));
    CHECK(read->not_before < today);
    CHECK_FALSE(read->authority);
    CHECK(is_intact(pair, authority.certificate_pem));
    CHECK(read_certificate(authority.certificate_pem)->authority);
}

TEST_CASE("a certificate of another authority, or with another key, is not intact") {
    const KeyPair ours = make_authority("muster-ca", today);
    const KeyPair theirs = make_authority("muster-ca", today);
    const KeyPair pair = make_server_certificate(ours, server_subject(), today, hours(1));
    CHECK_FALSE(is_intact(pair, theirs.certificate_pem));
    CHECK_FALSE(is_intact({pair.certificate_pem, theirs.key_pem}, ours.certificate_pem));
    CHECK_FALSE(is_intact({"", pair.key_pem}, ours.certificate_pem));
    CHECK_FALSE(read_certificate("no certificate"));
}

TEST_CASE("a server certificate serves until near its end, and only for the names it has") {
    const KeyPair authority = make_authority("muster-ca", today);
    Subject subject = server_subject();
    const KeyPair pair = make_server_certificate(authority, subject, today, hours(48));
    const std::string& ca = authority.certificate_pem;
    CHECK(still_serves(pair, ca, subject, today, hours(24)));
    CHECK_FALSE(still_serves(pair, ca, subject, today + hours(25), hours(24)));
    CHECK_FALSE(still_serves(pair, ca, subject, today - hours(1), hours(24)));
    subject.addresses.emplace_back("192.168.1.7");
    CHECK_FALSE(still_serves(pair, ca, subject, today, hours(24)));
}

TEST_CASE("a token's claims come back only with the key that signed it and nothing changed") {
    const std::string key = make_signing_key();
    const std::string claims = R"({"sub":"system:serviceaccount:default:default","exp":1})";
    const std::string token = sign_jwt(key, claims);
    CHECK(verified_claims(key, token) == claims);
    CHECK_FALSE(verified_claims(make_signing_key(), token));
    CHECK_FALSE(verified_claims(key, ""));
    CHECK_FALSE(verified_claims(key, "a.b.c"));
    CHECK_FALSE(verified_claims("", token));
    for (const std::size_t at : {std::size_t{3}, token.find('.') + 2, token.size() - 5}) {
        std::string changed = token;
        changed[at] = changed[at] == 'A' ? 'B' : 'A';
        CHECK_FALSE(verified_claims(key, changed));
    }
    const std::string unsigned_token =
        to_base64url(R"({"alg":"none"})") + "." + to_base64url(claims) + ".";
    CHECK_FALSE(verified_claims(key, unsigned_token));
}

TEST_CASE("the key set names the key that tokens name") {
    const std::string key = make_signing_key();
    CHECK(key_set_json(key).find(key_id(key)) != std::string::npos);
    const std::string token = sign_jwt(key, "{}");
    const auto header = from_base64url(token.substr(0, token.find('.')));
    REQUIRE(header);
    CHECK(header->find(key_id(key)) != std::string::npos);
}

TEST_CASE("hashes are those of the standard and secrets differ") {
    CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(secret_bytes(16) != secret_bytes(16));
    CHECK(equal_secrets("abc", "abc"));
    CHECK_FALSE(equal_secrets("abc", "abd"));
    CHECK_FALSE(equal_secrets("abc", "ab"));
}

}  // namespace muster::net

// net/tls_test.cpp - which handshakes a server takes part in, by what it puts up with.
#include "net/tls.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "net/pki.h"

namespace muster::net {
namespace {

constexpr Time test_day{1'700'000'000'000'000'000};

/// What two ends agree on; empty when they do not.
struct Agreed {
    std::string version;
    std::string cipher;
};

/// A server with these limits and a client that speaks nothing newer than `newest`.
Agreed shake_hands(const TlsLimits& limits, int newest) {
    const KeyPair authority = make_authority("test", test_day);
    Subject subject;
    subject.addresses = {"127.0.0.1"};
    const KeyPair pair = make_server_certificate(authority, subject, test_day, hours(24 * 3650));
    const TlsContextPtr serving =
        server_context(ServerTls{pair.certificate_pem, pair.key_pem, "", limits});
    ClientTls trusting;
    trusting.authority_pem = authority.certificate_pem;
    const TlsContextPtr asking = client_context(trusting);
    SSL_CTX_set_max_proto_version(asking.get(), newest);
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    Agreed agreed;
    {
        const TlsPtr server = accept_over(serving.get(), ends[0]);
        const TlsPtr client = connect_over(asking.get(), ends[1], trusting, "127.0.0.1");
        for (int turn = 0; turn < 20; ++turn) {
            SSL_do_handshake(client.get());
            SSL_do_handshake(server.get());
        }
        if (SSL_is_init_finished(client.get()) == 1 && SSL_is_init_finished(server.get()) == 1)
            agreed = {SSL_get_version(server.get()),
                      SSL_CIPHER_standard_name(SSL_get_current_cipher(server.get()))};
        handshake_problem(server.get());
    }
    close(ends[0]);
    close(ends[1]);
    return agreed;
}

}  // namespace

TEST_CASE("a server without limits takes TLS 1.2 and 1.3, and nothing older") {
    CHECK(shake_hands({}, TLS1_3_VERSION).version == "TLSv1.3");
    CHECK(shake_hands({}, TLS1_2_VERSION).version == "TLSv1.2");
    CHECK(shake_hands({}, TLS1_1_VERSION).version.empty());
}

TEST_CASE("a server that wants TLS 1.3 takes nothing older") {
    CHECK(shake_hands({.only_1_3 = true}, TLS1_3_VERSION).version == "TLSv1.3");
    CHECK(shake_hands({.only_1_3 = true}, TLS1_2_VERSION).version.empty());
}

TEST_CASE("of cipher suites of TLS 1.2 only those that are named are taken") {
    const std::string wanted = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
    CHECK(shake_hands({.cipher_suites = {wanted}}, TLS1_2_VERSION).cipher == wanted);
    CHECK(shake_hands({.cipher_suites = {wanted}}, TLS1_3_VERSION).version == "TLSv1.3");
    // Those of the other key cannot be used, those of 1.3 are no older version's.
    CHECK(shake_hands({.cipher_suites = {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}}, TLS1_2_VERSION)
              .version.empty());
    CHECK(
        shake_hands({.cipher_suites = {"TLS_AES_128_GCM_SHA256"}}, TLS1_2_VERSION).version.empty());
    CHECK_THROWS_AS(check_limits({.cipher_suites = {"TLS_NOTHING"}}), Error);
}

TEST_CASE("curves are those of OpenSSL, by the names that Go has for them too") {
    CHECK(shake_hands({.curves = {"CurveP256", "X25519", "P384"}}, TLS1_3_VERSION).version ==
          "TLSv1.3");
    CHECK_THROWS_AS(check_limits({.curves = {"P999"}}), Error);
}

}  // namespace muster::net

// net/tls.cpp - OpenSSL contexts and connections as Muster wants them.
#include "net/tls.h"

#include <cerrno>
#include <string_view>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/verify.h"
#include "net/dial.h"
#include "net/pki.h"

namespace muster::net {
namespace {

/// ALPN's wire form: each name behind its length.
constexpr std::string_view offered = "\x02h2\x08http/1.1";

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

/// Where a connection keeps the first thing that was wrong with the other end's certificate.
int problem_slot() {
    static const int slot = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return slot;
}

/// Lets every certificate through the handshake and remembers what was wrong with it, so that the
/// answer can be a 401 in words instead of an alert.
int remember_problem(int good, X509_STORE_CTX* store) {
    if (good == 1) return 1;
    auto* connection =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    if (!SSL_get_ex_data(connection, problem_slot())) {
        // The texts are static.
        const char* text = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
        SSL_set_ex_data(connection, problem_slot(), const_cast<char*>(text));
    }
    return 1;
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned in_size, void*) {
    unsigned char* chosen = nullptr;
    const int found = SSL_select_next_proto(&chosen, out_size, bytes_of(offered),
                                            static_cast<unsigned>(offered.size()), in, in_size);
    *out = chosen;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

TlsContextPtr new_context(const SSL_METHOD* method) {
    TlsContextPtr context(SSL_CTX_new(method));
    VERIFY(context != nullptr);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context.get(), 1);
    // Resumption saves nothing measurable here and would skip looking at client certificates.
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE |
                                           SSL_OP_IGNORE_UNEXPECTED_EOF);
    return context;
}

void use_pair(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem,
              const char* whose) {
    const CertificatePtr certificate = certificate_of(certificate_pem);
    const KeyPtr key = private_key_of(key_pem);
    if (!certificate || !key || SSL_CTX_use_certificate(context, certificate.get()) != 1 ||
        SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
        openssl_error();
        throw Error(Reason::invalid, std::string("the ") + whose +
                                         " certificate and its key are damaged or do not belong "
                                         "together");
    }
}

/// All certificates of a PEM text; how many there were.
int trust(SSL_CTX* context, const std::string& authorities_pem) {
    const BioPtr bio(
        BIO_new_mem_buf(authorities_pem.data(), static_cast<int>(authorities_pem.size())));
    X509_STORE* store = SSL_CTX_get_cert_store(context);
    int count = 0;
    while (X509* authority = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)) {
        count += X509_STORE_add_cert(store, authority);
        X509_free(authority);
    }
    ERR_clear_error();
    return count;
}

/// The curve as OpenSSL calls it: "CurveP256" and "P256" are its "P-256".
std::string curve_of(std::string_view name) {
    if (name.starts_with("Curve")) name.remove_prefix(5);
    const bool of_nist = name.size() == 4 && name.front() == 'P';
    return of_nist ? "P-" + std::string(name.substr(1)) : std::string(name);
}

void limit_ciphers(SSL_CTX* context, const std::vector<std::string>& suites) {
    std::string older;  // Than TLS 1.3, which has other names with OpenSSL.
    for (const std::string& suite : suites) {
        const std::string name = OPENSSL_cipher_name(suite.c_str());
        if (name == "(NONE)")
            throw Error(Reason::invalid, "\"" + suite + "\" is no cipher suite that is known here");
        if (!name.starts_with("TLS_")) older += (older.empty() ? "" : ":") + name;
    }
    if (older.empty()) {
        SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    } else if (SSL_CTX_set_cipher_list(context, older.c_str()) != 1) {
        openssl_error();
        throw Error(Reason::invalid, "none of these cipher suites can be used here: " + older);
    }
}

void limit_curves(SSL_CTX* context, const std::vector<std::string>& curves) {
    std::string names;
    for (const std::string& curve : curves) {
        const std::string name = curve_of(curve);
        names += (names.empty() ? "" : ":") + name;
        if (SSL_CTX_set1_groups_list(context, name.c_str()) == 1) continue;
        openssl_error();
        throw Error(Reason::invalid, "\"" + curve + "\" is no curve that is known here");
    }
    SSL_CTX_set1_groups_list(context, names.c_str());
}

void limit(SSL_CTX* context, const TlsLimits& limits) {
    if (limits.only_1_3) SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    if (!limits.cipher_suites.empty()) limit_ciphers(context, limits.cipher_suites);
    if (!limits.curves.empty()) limit_curves(context, limits.curves);
}

int socket_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int send_some(BIO* bio, const char* data, int size) {
    BIO_clear_retry_flags(bio);
    const auto sent = send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return static_cast<int>(sent);
}

int receive_some(BIO* bio, char* data, int size) {
    BIO_clear_retry_flags(bio);
    const auto got = recv(socket_of(bio), data, static_cast<std::size_t>(size), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    return static_cast<int>(got);
}

long control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/// OpenSSL's own socket BIO writes without MSG_NOSIGNAL: a client that goes away would kill us.
BIO* new_socket_bio(int fd) {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
        BIO_meth_set_write(made, send_some);
        BIO_meth_set_read(made, receive_some);
        BIO_meth_set_ctrl(made, control);
        return made;
    }();
    BIO* bio = BIO_new(method);
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
    BIO_set_init(bio, 1);
    return bio;
}

TlsPtr over(SSL_CTX* context, int fd) {
    TlsPtr connection(SSL_new(context));
    VERIFY(connection != nullptr);
    BIO* bio = new_socket_bio(fd);
    SSL_set_bio(connection.get(), bio, bio);
    return connection;
}

}  // namespace

void check_limits(const TlsLimits& limits) {
    limit(new_context(TLS_server_method()).get(), limits);
}

TlsContextPtr server_context(const ServerTls& tls) {
    TlsContextPtr context = new_context(TLS_server_method());
    limit(context.get(), tls.limits);
    use_pair(context.get(), tls.certificate_pem, tls.key_pem, "server's");
    SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
    if (tls.client_authority_pem.empty()) return context;
    if (trust(context.get(), tls.client_authority_pem) == 0)
        throw Error(Reason::invalid, "the authority for client certificates is damaged");
    const CertificatePtr authority = certificate_of(tls.client_authority_pem);
    SSL_CTX_add_client_CA(context.get(), authority.get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, remember_problem);
    return context;
}

TlsContextPtr client_context(const ClientTls& tls) {
    TlsContextPtr context = new_context(TLS_client_method());
    if (!tls.certificate_pem.empty())
        use_pair(context.get(), tls.certificate_pem, tls.key_pem, "client's");
    if (tls.authority_pem.empty()) {
        SSL_CTX_set_default_verify_paths(context.get());
    } else if (trust(context.get(), tls.authority_pem) == 0) {
        throw Error(Reason::invalid, "the certificate authority of the server is damaged");
    }
    const bool verify = tls.verify == ClientTls::Verify::yes;
    SSL_CTX_set_verify(context.get(), verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    return context;
}

TlsPtr accept_over(SSL_CTX* context, int fd) {
    TlsPtr connection = over(context, fd);
    SSL_set_accept_state(connection.get());
    return connection;
}

TlsPtr connect_over(SSL_CTX* context, int fd, const ClientTls& tls, const std::string& host,
                    Offer offer) {
    TlsPtr connection = over(context, fd);
    SSL_set_connect_state(connection.get());
    const std::string& name = tls.server_name.empty() ? host : tls.server_name;
    if (is_address(name)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection.get()), name.c_str());
    } else {
        SSL_set1_host(connection.get(), name.c_str());
        SSL_set_tlsext_host_name(connection.get(), name.c_str());
    }
    static constexpr std::string_view http1 = "\x08http/1.1";
    static constexpr std::string_view http2 = "\x02h2";
    const std::string_view names = offer == Offer::http2 ? http2 : http1;
    SSL_set_alpn_protos(connection.get(), bytes_of(names), static_cast<unsigned>(names.size()));
    return connection;
}

void describe_peer(SSL* connection, Peer& peer) {
    X509* shown = SSL_get0_peer_certificate(connection);
    if (!shown) return;
    if (const void* problem = SSL_get_ex_data(connection, problem_slot())) {
        peer.certificate_problem = static_cast<const char*>(problem);
        return;
    }
    const auto certificate = read_certificate(to_pem(shown));
    VERIFY(certificate.has_value());
    peer.certificate_name = certificate->subject.common_name;
    peer.certificate_groups = certificate->subject.organizations;
}

std::string chosen_protocol(SSL* connection) {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(connection, &name, &size);
    return {reinterpret_cast<const char*>(name), size};
}

std::string handshake_problem(SSL* connection) {
    const long verified = SSL_get_verify_result(connection);
    if (!SSL_is_server(connection) && verified != X509_V_OK) {
        openssl_error();
        return std::string("the server's certificate is not trusted: ") +
               X509_verify_cert_error_string(verified);
    }
    const unsigned long code = ERR_peek_error();
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    const std::string text = reason ? reason : "the other end closed the connection";
    ERR_clear_error();
    return "TLS handshake failed: " + text;
}

}  // namespace muster::net

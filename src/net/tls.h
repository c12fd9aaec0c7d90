// net/tls.h - TLS for both ends of a connection; for .cpp files of net/ only.
#pragma once

#include <string>

#include "net/client.h"
#include "net/http.h"
#include "net/openssl.h"
#include "net/server.h"

namespace muster::net {

/// A context that offers h2 and http/1.1 and, with a client authority, asks for a certificate
/// without insisting. Throws Error when the PEM texts are damaged.
TlsContextPtr server_context(const ServerTls& tls);

/// Throws Error when the PEM texts are damaged.
TlsContextPtr client_context(const ClientTls& tls);

/// One connection over a non-blocking socket that stays the caller's. Writing to a closed socket
/// raises no signal.
TlsPtr accept_over(SSL_CTX* context, int fd);
enum class Offer { http1, http2 };
TlsPtr connect_over(SSL_CTX* context, int fd, const ClientTls& tls, const std::string& host,
                    Offer offer = Offer::http1);

/// After a server's handshake: the name and groups of a good client certificate, or what is wrong
/// with it.
void describe_peer(SSL* connection, Peer& peer);

/// The protocol chosen by ALPN; empty when none.
std::string chosen_protocol(SSL* connection);

/// Why a handshake failed, in words; forgets OpenSSL's errors.
std::string handshake_problem(SSL* connection);

}  // namespace muster::net

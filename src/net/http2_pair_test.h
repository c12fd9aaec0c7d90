// net/http2_pair_test.h - for net's own tests: a server with TLS and an Http2Client that believes
// it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "net/http2_client.h"
#include "net/loopback_test.h"

namespace muster::net {

struct Pair {
    explicit Pair(Handler handler, Duration gather = {}, ServerOptions options = {}) {
        const KeyPair authority = make_authority("muster-ca", test_day);
        Subject subject;
        subject.addresses = {"127.0.0.1"};
        const KeyPair own = make_server_certificate(authority, subject, test_day, hours(87600));
        options.tls = ServerTls{own.certificate_pem, own.key_pem, ""};
        server = std::make_unique<TestServer>(std::move(handler), std::move(options));
        client_options.tls.authority_pem = authority.certificate_pem;
        client_options.response_limit = 100'000;
        client_options.gather = gather;
        loop.start("client");
        target = server->target(Target::Scheme::https);
        connect(client_options);
    }
    /// The server ends first: a stream that is still open tells so, as it would at any bad moment,
    /// and a sanitizer sees when that reaches what the test has let go of already.
    ~Pair() {
        server = nullptr;
        run_on(loop, [&] { client = nullptr; });
        loop.stop();
    }
    /// Another client, in place of the one that there is.
    void connect(ClientOptions options) {
        if (options.response_limit == 0) options.response_limit = 256 << 20;
        run_on(loop, [&] { client = std::make_unique<Http2Client>(loop, target, options); });
    }

    ClientOptions client_options;
    std::unique_ptr<TestServer> server;
    AsioLoop loop;
    Target target;
    std::unique_ptr<Http2Client> client;
};

inline Request post(const std::string& path, std::string body) {
    Request request;
    request.method = "POST";
    request.path = path;
    request.query = {{"a", "b c"}};
    request.headers.set("X-Own", "1");
    request.body = make_bytes(std::move(body));
    return request;
}

}  // namespace muster::net

// kube/http_transport.cpp - adds address and credentials to requests.
#include "kube/http_transport.h"

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "kube/retry_after.h"

namespace muster::kube {
namespace {

constexpr int tries_max = 6;
constexpr Duration wait_max = seconds(30);

void say_for_whom(const Impersonation& whom, net::Headers& headers) {
    if (whom.user.empty()) return;
    headers.set("Impersonate-User", whom.user);
    if (!whom.uid.empty()) headers.set("Impersonate-Uid", whom.uid);
    for (const std::string& group : whom.groups)
        headers.add("Impersonate-Group", group);
    for (const auto& [name, value] : whom.extra)
        headers.add("Impersonate-Extra-" + net::percent_encode(name), value);
}

/// What an API server may answer with: the longest list.
constexpr std::size_t answer_limit = 256 << 20;

}  // namespace

/// A request on its way, as it would be sent again.
struct HttpTransport::Sending {
    net::Request request;
    OnResponse on_response;
    int tries = 0;
    std::string token = {};            // What it was sent with last.
    std::string certificate_pem = {};  // The same.
};

HttpTransport::HttpTransport(net::AsioLoop& io, Loop& home, Connection connection,
                             net::ClientOptions options)
    : home_(home), connection_(std::move(connection)) {
    const auto url = net::parse_url(connection_.server);
    if (!url)
        throw Error(Reason::invalid, "\"" + connection_.server +
                                         "\" is not the address of an API server; one looks like "
                                         "https://127.0.0.1:6443");
    url_ = *url;
    while (url_.path.ends_with('/'))
        url_.path.pop_back();
    if (connection_.credentials) {
        connection_.credentials->token(home.now());
        const Credential& first = connection_.credentials->present();
        if (first.token.empty() && first.key_pem.empty())
            throw Error(Reason::unauthorized, connection_.credentials->problem());
        if (!first.key_pem.empty()) {
            connection_.tls.certificate_pem = first.certificate_pem;
            connection_.tls.key_pem = first.key_pem;
        }
    }
    options.tls = connection_.tls;
    options.response_limit = answer_limit;
    client_ = std::make_unique<net::Client>(io, home, std::move(options));
}

HttpTransport::HttpTransport(net::AsioLoop& loop, Loop& home, Connection connection,
                             net::ClientOptions options, Sends sends)
    : HttpTransport(loop, home, std::move(connection), options) {
    if (url_.target.scheme != net::Target::Scheme::https) return;  // A proxy on this machine.
    options.tls = connection_.tls;
    options.response_limit = answer_limit;
    ordered_ = std::make_unique<net::Http2Client>(loop, url_.target, std::move(options));
    together_ = sends == Sends::together;
}

void HttpTransport::send(net::Request request, OnResponse on_response) {
    send_out(std::make_shared<Sending>(Sending{std::move(request), std::move(on_response)}));
}

void HttpTransport::send_out(const std::shared_ptr<Sending>& sending) {
    ++sending->tries;
    const auto take = [this, sending, alive = std::weak_ptr<int>(alive_)](net::Response response) {
        if (!alive.expired()) take_answer(sending, std::move(response));
    };
    net::Request request = addressed(sending->request);
    if (connection_.credentials) {
        sending->token = connection_.credentials->present().token;
        sending->certificate_pem = connection_.credentials->present().certificate_pem;
    }
    if (ordered_) return ordered_->send(std::move(request), take);
    client_->send(url_.target, std::move(request), take);
}

void HttpTransport::take_answer(const std::shared_ptr<Sending>& sending, net::Response response) {
    if (response.status == 401 && connection_.credentials && sending->tries < tries_max) {
        Credentials& credentials = *connection_.credentials;
        const Credential& present = credentials.present();
        const bool is_newer =
            present.token != sending->token || present.certificate_pem != sending->certificate_pem;
        if (is_newer) return send_out(sending);
        if (credentials.refused(home_.now())) {
            credentials.token(home_.now());
            if (!credentials.is_under_way()) return send_out(sending);
            return credentials.when_renewed([this, sending, alive = std::weak_ptr<int>(alive_)] {
                if (!alive.expired()) send_out(sending);
            });
        }
    }
    const Duration wait = asked_wait(response, wait_max);
    // Who asks for a Lease has to know soon that it was not answered, and asks again itself.
    const bool is_lease = sending->request.path.starts_with("/apis/coordination.k8s.io/");
    const bool again = response.status == 429 && sending->request.method == "GET" && !is_lease &&
                       wait > Duration() && sending->tries < tries_max;
    if (!again) return sending->on_response(std::move(response));
    home_.after(wait, [this, sending, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) send_out(sending);
    });
}

Transport::StreamId HttpTransport::open(net::Request request, Stream stream) {
    // Whoever keeps a stream open opens it again: with a newer token, then.
    stream.on_head = [this, on_head = std::move(stream.on_head)](net::Response head) {
        if (head.status == 401 && connection_.credentials)
            connection_.credentials->refused(home_.now());
        if (on_head) on_head(std::move(head));
    };
    if (together_) {
        net::Http2Client::Stream calls{std::move(stream.on_head), std::move(stream.on_piece),
                                       std::move(stream.on_closed)};
        const auto id = ordered_->open(addressed(std::move(request)), std::move(calls));
        return StreamId{static_cast<std::uint64_t>(id)};
    }
    net::Client::Stream calls;
    calls.on_head = std::move(stream.on_head);
    calls.on_piece = std::move(stream.on_piece);
    calls.on_closed = std::move(stream.on_closed);
    const auto id = client_->open(url_.target, addressed(std::move(request)), std::move(calls));
    return StreamId{static_cast<std::uint64_t>(id)};
}

void HttpTransport::cancel(StreamId stream) {
    const auto id = static_cast<std::uint64_t>(stream);
    if (together_) return ordered_->cancel(net::Http2Client::StreamId{id});
    client_->cancel(net::Client::StreamId{id});
}

void HttpTransport::open_websocket(net::Request request, std::string subprotocols,
                                   net::Client::OnChannel on_channel) {
    client_->open_websocket(url_.target, addressed(std::move(request)), std::move(subprotocols),
                            std::move(on_channel));
}

/// A plugin may give another one as it gives another token, and in files it may be replaced.
void HttpTransport::follow_certificate() {
    const Credential& present = connection_.credentials->present();
    // Of two files one may have been read before it was replaced: then the pair is not the last.
    const bool is_same = present.certificate_pem == connection_.tls.certificate_pem &&
                         present.key_pem == connection_.tls.key_pem;
    if (present.key_pem.empty() || is_same) return;
    connection_.tls.certificate_pem = present.certificate_pem;  // A damaged one is not tried twice.
    connection_.tls.key_pem = present.key_pem;
    try {
        client_->use_certificate(present.certificate_pem, present.key_pem);
        if (ordered_) ordered_->use_certificate(present.certificate_pem, present.key_pem);
    } catch (const Error& error) {
        log_warning("kube",
                    std::string("the new client certificate cannot be used: ") + error.what());
    }
}

net::Request HttpTransport::addressed(net::Request request) {
    request.path = url_.path + request.path;
    std::string token = connection_.token;
    if (connection_.credentials) {
        token = connection_.credentials->token(home_.now());
        const std::string& problem = connection_.credentials->problem();
        if (!problem.empty() && problem != told_) log_warning("kube", problem);
        told_ = problem;
        follow_certificate();
    }
    if (!token.empty()) request.headers.set("Authorization", "Bearer " + token);
    say_for_whom(connection_.impersonate, request.headers);
    if (!request.headers.has("User-Agent")) request.headers.set("User-Agent", "muster");
    return request;
}

}  // namespace muster::kube

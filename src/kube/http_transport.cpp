// kube/http_transport.cpp - adds address and credentials to requests.
#include "kube/http_transport.h"

#include <utility>

#include "base/error.h"

namespace muster::kube {

HttpTransport::HttpTransport(net::AsioLoop& io, Loop& home, Connection connection,
                             net::ClientOptions options)
    : connection_(std::move(connection)) {
    const auto url = net::parse_url(connection_.server);
    if (!url)
        throw Error(Reason::invalid, "\"" + connection_.server +
                                         "\" is not the address of an API server; one looks like "
                                         "https://127.0.0.1:6443");
    url_ = *url;
    while (url_.path.ends_with('/'))
        url_.path.pop_back();
    options.tls = connection_.tls;
    client_ = std::make_unique<net::Client>(io, home, std::move(options));
}

HttpTransport::HttpTransport(net::AsioLoop& loop, Loop& home, Connection connection,
                             net::ClientOptions options, Sends)
    : HttpTransport(loop, home, std::move(connection), options) {
    if (url_.target.scheme != net::Target::Scheme::https) return;  // A proxy on this machine.
    options.tls = connection_.tls;
    ordered_ = std::make_unique<net::Http2Client>(loop, url_.target, std::move(options));
}

void HttpTransport::send(net::Request request, OnResponse on_response) {
    if (ordered_) return ordered_->send(addressed(std::move(request)), std::move(on_response));
    client_->send(url_.target, addressed(std::move(request)), std::move(on_response));
}

Transport::StreamId HttpTransport::open(net::Request request, Stream stream) {
    net::Client::Stream calls;
    calls.on_head = std::move(stream.on_head);
    calls.on_piece = std::move(stream.on_piece);
    calls.on_closed = std::move(stream.on_closed);
    const auto id = client_->open(url_.target, addressed(std::move(request)), std::move(calls));
    return StreamId{static_cast<std::uint64_t>(id)};
}

void HttpTransport::cancel(StreamId stream) {
    client_->cancel(net::Client::StreamId{static_cast<std::uint64_t>(stream)});
}

void HttpTransport::open_websocket(net::Request request, std::string subprotocols,
                                   net::Client::OnChannel on_channel) {
    client_->open_websocket(url_.target, addressed(std::move(request)), std::move(subprotocols),
                            std::move(on_channel));
}

net::Request HttpTransport::addressed(net::Request request) const {
    request.path = url_.path + request.path;
    if (!connection_.token.empty())
        request.headers.set("Authorization", "Bearer " + connection_.token);
    if (!connection_.impersonate.empty())
        request.headers.set("Impersonate-User", connection_.impersonate);
    if (!request.headers.has("User-Agent")) request.headers.set("User-Agent", "muster");
    return request;
}

}  // namespace muster::kube

// apiserver/proxy_answer.h - what a pod answers, on its way to the proxy's client.
#pragma once

#include <memory>

#include "apiserver/exchange.h"
#include "apiserver/proxy_page.h"

namespace muster::apiserver {

/// A responder for the node: rewrites redirects and pages, and drops headers that are between this
/// server and the pod only. Status 0 becomes a Status object with the reason.
std::shared_ptr<net::Responder> proxy_answer(ExchangePtr exchange, ProxyPlace place);

/// Removes the headers that concern one connection only. Those of an upgrade may stay.
enum class Upgrade { stays, goes };
void remove_connection_headers(net::Headers& headers, Upgrade upgrade);

}  // namespace muster::apiserver

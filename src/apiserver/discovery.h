// apiserver/discovery.h - what the server serves, told to clients: group lists, resource lists,
// aggregated discovery, OpenAPI.
#pragma once

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Answers /api, /apis, /apis/GROUP, /apis/GROUP/VERSION, /api/v1, /version, /openapi/... False:
/// the path is none of them.
bool serve_discovery(Context& context, const ExchangePtr& exchange);

}  // namespace muster::apiserver

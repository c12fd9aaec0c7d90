// apiserver/openapi.h - /openapi/v3: the index and one document for each group version.
#pragma once

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Answers a path below /openapi. Throws StatusError (404) for others than v3's.
void serve_openapi(Context& context, Exchange& exchange);

}  // namespace muster::apiserver

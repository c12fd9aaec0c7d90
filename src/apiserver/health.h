// apiserver/health.h - /healthz, /livez, /readyz.
#pragma once

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Answers a health path, with ?verbose and single checks below it. False: the path is none.
bool serve_health(Exchange& exchange);

}  // namespace muster::apiserver

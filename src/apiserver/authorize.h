// apiserver/authorize.h - may the user do what the request asks?
#pragma once

#include <string_view>

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Throws StatusError 403 when the user may not.
void authorize(const Context& context, const Exchange& exchange);

/// The same of another verb: an apply that creates, and a connection that runs something, are
/// asked for by a PATCH or a GET and need the right to create.
void authorize_as(const Context& context, const Exchange& exchange, std::string_view verb);

}  // namespace muster::apiserver

// apiserver/authenticate.h - who is asking: certificates, tokens, service accounts, impersonation.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/exchange.h"
#include "apiserver/user.h"

namespace muster::apiserver {

/// Browsers cannot set headers on WebSockets; their token comes as a subprotocol that begins so.
inline constexpr std::string_view token_protocol = "base64url.bearer.authorization.k8s.io.";

/// The user of a request. Anonymous when it names nobody. Throws StatusError (401) for credentials
/// that are wrong, and 403 when it may not impersonate whom it wants to.
User authenticate(Context& context, const net::Request& request);

/// The user that a token stands for; absent when it is none of ours, expired, or its account is
/// gone. `audience` empty: the server's own.
std::optional<User> user_of_token(Context& context, std::string_view token,
                                  std::string_view audience = "");

/// serviceaccounts/NAME/token: a token for the account.
void serve_token_request(Context& context, const ExchangePtr& exchange);

}  // namespace muster::apiserver

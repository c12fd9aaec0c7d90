// apiserver/authenticate.h - who is asking: certificates, tokens, service accounts, impersonation.
#pragma once

#include <optional>
#include <set>
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

/// True when to find out who asks takes no signature to be looked at: it has no token, or a token
/// that was good lately.
bool identifies_at_once(Context& context, const net::Request& request);

/// Whom a token stands for, and before whom.
struct TokenOwner {
    User user;
    bool is_for_us = false;
    std::set<std::string> audiences;  // None of a token from the list of the server's options.
};

/// Absent when it is none of ours, expired, or its account is gone. Its signature is looked at
/// once: that costs more than the rest of a request.
std::optional<TokenOwner> owner_of_token(Context& context, std::string_view token);

/// serviceaccounts/NAME/token: a token for the account.
void serve_token_request(Context& context, const ExchangePtr& exchange);

}  // namespace muster::apiserver

// apiserver/token_secret.h - Secrets of type kubernetes.io/service-account-token: tokens that last
// as long as the Secret and its account do.
#pragma once

#include <optional>
#include <string_view>

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Gives the Secret of an account that is there its token, the cluster's authority and its
/// namespace, where it lacks them. The account owns it from then on, and takes it along.
void fill_token_secret(Context& context, api::Value& secret);

/// True for claims as Kubernetes writes them in such tokens.
bool is_of_token_secret(const api::Value& claims);

/// Whose token it is; absent when the Secret has gone or has another one, or the account has gone.
std::optional<User> user_of_token_secret(Context& context, const api::Value& claims,
                                         std::string_view token);

}  // namespace muster::apiserver

// control/ray/auth.h - token authentication of a Ray cluster: where its token is, and who gets it.
#pragma once

#include <optional>
#include <string>

#include "api/value.h"
#include "control/controller.h"
#include "kube/cache.h"

namespace muster::control::ray {

/// authOptions asks for a token.
bool uses_token(const api::Value& cluster_spec);

/// The Secret with the token, under the key auth_token: named by the user, else as the cluster.
std::string token_secret_name(const api::Value& cluster_spec, const std::string& cluster);

/// What makes Ray in a container ask for the token and show it: added to its environment.
void add_token(api::Value& container, const api::Value& cluster_spec, const std::string& cluster);

/// Makes the Secret when it is the cluster's own and absent; a token nobody can guess is drawn
/// outside first. False while there is none yet.
bool has_token(const kube::Cache& seen, const kube::Object& cluster, Reconciled& result);

/// What a request to the cluster's dashboard must carry; absent when it needs nothing, or the
/// Secret is not there.
std::optional<Header> token_header(const kube::Cache& seen, const kube::Object& cluster);

}  // namespace muster::control::ray

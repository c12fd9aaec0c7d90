// net/jwt.h - JSON Web Tokens signed with ES256: service account tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::net {

/// A compact token with these claims (a JSON object), its header naming ES256 and the key's id.
/// Requires: a private EC P-256 key as PEM.
std::string sign_jwt(const std::string& key_pem, std::string_view claims_json);

/// The claims of a token whose signature this key (public or private, PEM) made; absent for
/// anything else. Expiry and audience are the caller's to judge. Costs about 0.1 ms: keep what it
/// said for a token that comes again.
std::optional<std::string> verified_claims(const std::string& key_pem, std::string_view token);

/// The id of a key: base64url of the SHA-256 of its public part, as Kubernetes makes it.
std::string key_id(const std::string& key_pem);

/// The JSON Web Key Set with the public part of a key: what /openid/v1/jwks answers.
std::string key_set_json(const std::string& key_pem);

}  // namespace muster::net

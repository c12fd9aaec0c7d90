// apiserver/token_secret.cpp - makes and knows the tokens in Secrets.
#include "apiserver/token_secret.h"

#include <string>

#include "api/json.h"
#include "api/owner.h"
#include "apiserver/commit.h"
#include "apiserver/stored.h"
#include "base/text.h"
#include "net/jwt.h"
#include "net/secret.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::string_view secret_type = "kubernetes.io/service-account-token";
constexpr std::string_view issuer = "kubernetes/serviceaccount";
constexpr const char* name_annotation = "kubernetes.io/service-account.name";
constexpr const char* uid_annotation = "kubernetes.io/service-account.uid";
constexpr const char* claim_prefix = "kubernetes.io/serviceaccount/";

std::string claim(const Value& claims, const char* name) {
    return claims[std::string(claim_prefix) + name].text();
}

Value claims_of(const Value& secret, const Value& account) {
    const std::string ns = secret["metadata"]["namespace"].text();
    const std::string name = account["metadata"]["name"].text();
    const auto key = [](const char* part) { return std::string(claim_prefix) + part; };
    Value claims = Value::object({{"iss", issuer}});
    claims.set(key("namespace"), ns);
    claims.set(key("secret.name"), secret["metadata"]["name"]);
    claims.set(key("service-account.name"), name);
    claims.set(key("service-account.uid"), account["metadata"]["uid"]);
    claims.set("sub", "system:serviceaccount:" + ns + ":" + name);
    return claims;
}

}  // namespace

void fill_token_secret(Context& context, Value& secret) {
    const std::string& key_pem = context.options.service_account_key_pem;
    if (secret["type"].text_or("") != secret_type || key_pem.empty()) return;
    if (!secret["metadata"]["deletionTimestamp"].is_null()) return;
    const Value& annotations = secret["metadata"]["annotations"];
    const std::string ns = secret["metadata"]["namespace"].text();
    const Value account = newest_of(context, *api::find_kind("", "serviceaccounts"), ns,
                                    annotations[name_annotation].text_or(""))
                              .object;
    if (account.is_null()) return;
    const std::string uid = annotations[uid_annotation].text();
    if (!uid.empty() && account["metadata"]["uid"].text_or("") != uid) return;
    if (uid.empty())
        secret.at("metadata").at("annotations").set(uid_annotation, account["metadata"]["uid"]);
    if (!api::is_owned_by(secret, account["metadata"]["uid"].text_or("")))
        secret.at("metadata")
            .at("ownerReferences")
            .push(Value::object({{"apiVersion", "v1"},
                                 {"kind", "ServiceAccount"},
                                 {"name", account["metadata"]["name"]},
                                 {"uid", account["metadata"]["uid"]}}));
    Value& data = secret.at("data");
    if (!data.is_object()) data = Value::object();
    const auto& authority = context.options.certificate_authority_pem;
    if (!authority.empty()) data.set("ca.crt", to_base64(authority));
    if (data["namespace"].text_or("").empty()) data.set("namespace", to_base64(ns));
    if (data["token"].text_or("").empty())
        data.set("token",
                 to_base64(net::sign_jwt(key_pem, api::to_json(claims_of(secret, account)))));
}

bool is_of_token_secret(const Value& claims) {
    return claims["iss"].text_or("") == issuer;
}

std::optional<User> user_of_token_secret(Context& context, const Value& claims,
                                         std::string_view token) {
    const std::string ns = claim(claims, "namespace");
    const std::string name = claim(claims, "service-account.name");
    const std::string uid = claim(claims, "service-account.uid");
    if (ns.empty() || name.empty() || uid.empty()) return std::nullopt;
    const Value secret =
        newest_of(context, *api::find_kind("", "secrets"), ns, claim(claims, "secret.name")).object;
    if (secret["type"].text_or("") != secret_type ||
        !secret["metadata"]["deletionTimestamp"].is_null())
        return std::nullopt;
    const auto kept = from_base64(secret["data"]["token"].text_or(""));
    if (!kept || !net::equal_secrets(*kept, token)) return std::nullopt;
    const Value account =
        newest_of(context, *api::find_kind("", "serviceaccounts"), ns, name).object;
    if (account["metadata"]["uid"].text_or("") != uid ||
        !account["metadata"]["deletionTimestamp"].is_null())
        return std::nullopt;
    User user;
    user.name = "system:serviceaccount:" + ns + ":" + name;
    user.uid = uid;
    user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns,
                   "system:authenticated"};
    return user;
}

}  // namespace muster::apiserver

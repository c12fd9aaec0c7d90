// apiserver/token_request.cpp - serviceaccounts/NAME/token: signing tokens for service accounts.
#include <algorithm>
#include <utility>

#include "api/json.h"
#include "apiserver/answer.h"
#include "apiserver/authenticate.h"
#include "apiserver/commit.h"
#include "apiserver/decode.h"
#include "apiserver/status_error.h"
#include "net/jwt.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::int64_t usual_seconds = 3600;
constexpr std::int64_t least_seconds = 600;
constexpr std::int64_t most_seconds = std::int64_t{1} << 32;

/// The claim about the object that the token is bound to, which must exist.
void bind_token(Context& context, const Value& ref, const std::string& ns, Value& own) {
    if (ref.is_null()) return;
    const std::string kind = ref["kind"].text();
    const std::string name = ref["name"].text();
    if (kind != "Pod" && kind != "Secret") {
        const std::string version = ref["apiVersion"].text();
        throw bad_request(std::string("cannot bind token to object of type ") +
                          (version.find('/') == std::string::npos ? "/" : "") + version +
                          ", Kind=" + kind);
    }
    const api::Kind& bound = *api::find_kind_named("", kind);
    const Newest found = newest_of(context, bound, ns, name);
    if (found.object.is_null()) throw not_found(bound.resource(), name);
    const std::string uid = found.object["metadata"]["uid"].text();
    const std::string given = ref["uid"].text();
    if (!given.empty() && given != uid) {
        throw conflict(bound.resource(), name,
                       "the UID in the bound object reference (" + given +
                           ") does not match the UID in record. The object might have been "
                           "deleted and then recreated");
    }
    own.set(kind == "Pod" ? "pod" : "secret", Value::object({{"name", name}, {"uid", uid}}));
}

/// Throws StatusError for a life that is too short or too long.
void check_seconds(std::int64_t wanted) {
    if (wanted >= least_seconds && wanted <= most_seconds) return;
    const char* why = wanted < least_seconds
                          ? "may not specify a duration less than 10 minutes"
                          : "may not specify a duration larger than 2^32 seconds";
    throw invalid(api::GroupResource{"authentication.k8s.io", "TokenRequest"}, "",
                  {{"FieldValueInvalid", "spec.expirationSeconds",
                    "Invalid value: " + std::to_string(wanted) + ": " + why}});
}

}  // namespace

void serve_token_request(Context& context, const ExchangePtr& exchange) {
    const Route& route = exchange->route;
    if (context.options.service_account_key_pem.empty()) {
        throw unavailable("this server has no key to sign tokens with");
    }
    Value body = typed_body(*exchange, "authentication.k8s.io/v1", "TokenRequest");
    const Newest account = newest_of(context, *exchange->kind, route.ns, route.name);
    if (account.object.is_null()) throw not_found(exchange->kind->resource(), route.name);
    const std::int64_t wanted = body["spec"]["expirationSeconds"].integer_or(usual_seconds);
    check_seconds(wanted);
    Value audiences = body["spec"]["audiences"];
    if (audiences.empty()) audiences = Value::array({Value(context.options.issuer)});
    const Time now = context.loop.now();
    const std::int64_t issued = now.since_epoch / 1'000'000'000;
    Value own = Value::object(
        {{"namespace", route.ns},
         {"serviceaccount",
          Value::object({{"name", route.name}, {"uid", account.object["metadata"]["uid"]}})}});
    bind_token(context, body["spec"]["boundObjectRef"], route.ns, own);
    const Value claims =
        Value::object({{"aud", audiences},
                       {"exp", issued + wanted},
                       {"iat", issued},
                       {"iss", context.options.issuer},
                       {"jti", context.random.uuid()},
                       {"kubernetes.io", own},
                       {"nbf", issued},
                       {"sub", "system:serviceaccount:" + route.ns + ":" + route.name}});
    body.set("kind", "TokenRequest");
    body.set("apiVersion", "authentication.k8s.io/v1");
    body.at("metadata").set("name", route.name);
    body.at("metadata").set("namespace", route.ns);
    body.at("metadata").set("uid", context.random.uuid());
    body.at("metadata").set("creationTimestamp", to_rfc3339(now));
    body.at("spec").set("audiences", audiences);
    body.at("spec").set("expirationSeconds", wanted);
    body.set("status",
             Value::object({{"token", net::sign_jwt(context.options.service_account_key_pem,
                                                    api::to_json(claims))},
                            {"expirationTimestamp", to_rfc3339(now + seconds(wanted))}}));
    send_value(*exchange, 201, body);
}

}  // namespace muster::apiserver

// apiserver/authenticate.cpp - credentials to users.
#include "apiserver/authenticate.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "api/json.h"
#include "apiserver/commit.h"
#include "apiserver/status_error.h"
#include "apiserver/token_secret.h"
#include "base/text.h"
#include "net/jwt.h"
#include "net/secret.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::string_view account_prefix = "system:serviceaccount:";

void add_group(User& user, std::string group) {
    if (!user.in_group(group)) user.groups.push_back(std::move(group));
}

std::string bearer_of(const net::Request& request) {
    const std::string_view header = request.headers.get("Authorization");
    const auto halves = split_first(trim(header), ' ');
    if (halves && equal_ignoring_case(halves->before, "bearer")) {
        return std::string(trim(halves->after));
    }
    for (const std::string_view part : split(request.headers.get("Sec-WebSocket-Protocol"), ',')) {
        const std::string_view protocol = trim(part);
        if (!protocol.starts_with(token_protocol)) continue;
        return from_base64url(protocol.substr(token_protocol.size())).value_or("");
    }
    return {};
}

/// Claims of a token that this server signed. A signature costs 0.1 ms, so good ones are kept.
std::optional<Value> claims_of(Context& context, std::string_view token) {
    const std::string id = net::sha256(token);
    if (const Value* known = context.known_claims.find(id)) return *known;
    const auto text = net::verified_claims(context.options.service_account_key_pem, token);
    if (!text) return std::nullopt;
    auto parsed = api::parse_json(*text);
    if (!std::holds_alternative<api::Parsed>(parsed)) return std::nullopt;
    context.known_claims.keep(id, std::get<api::Parsed>(parsed).value);
    return std::get<api::Parsed>(std::move(parsed)).value;
}

std::set<std::string> audiences_of(const Value& claims) {
    const Value& given = claims["aud"];
    if (given.is_string()) return {given.text()};
    std::set<std::string> audiences;
    for (const Value& each : given.items())
        audiences.insert(each.text());
    return audiences;
}

/// The object is still the one that the token was made for.
bool still_there(Context& context, const char* plural, std::string_view ns, const Value& claim) {
    const Newest found =
        newest_of(context, *api::find_kind("", plural), ns, claim["name"].text_or(""));
    return !found.object.is_null() && found.object["metadata"]["uid"] == claim["uid"];
}

std::optional<User> user_of_account(Context& context, const Value& claims) {
    const std::int64_t now = context.loop.now().since_epoch / 1'000'000'000;
    if (claims["iss"].text_or("") != context.options.issuer) return std::nullopt;
    if (claims["exp"].integer_or(0) <= now || claims["nbf"].integer_or(0) > now + 60) {
        return std::nullopt;
    }
    const Value& own = claims["kubernetes.io"];
    const std::string ns = own["namespace"].text();
    const std::string name = own["serviceaccount"]["name"].text();
    if (!still_there(context, "serviceaccounts", ns, own["serviceaccount"])) return std::nullopt;
    for (const auto& [claim, plural] : {std::pair("pod", "pods"), std::pair("secret", "secrets")}) {
        if (own.has(claim) && !still_there(context, plural, ns, own[claim])) return std::nullopt;
    }
    User user;
    user.name = std::string(account_prefix) + ns + ":" + name;
    user.uid = own["serviceaccount"]["uid"].text();
    user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns,
                   "system:authenticated"};
    if (own.has("pod")) {
        user.extra = {{"authentication.kubernetes.io/pod-name", {own["pod"]["name"].text()}},
                      {"authentication.kubernetes.io/pod-uid", {own["pod"]["uid"].text()}}};
    }
    return user;
}

void check_impersonation(Context& context, const User& user, Attributes attributes) {
    attributes.verb = "impersonate";
    if (context.rbac.allows(user, attributes)) return;
    User named = user;
    throw forbidden({attributes.group, attributes.resource}, attributes.name,
                    denial_text(named, attributes));
}

/// The user that the Impersonate headers name, if `user` may.
User impersonated(Context& context, const User& user, const net::Request& request) {
    const std::string name(request.headers.get("Impersonate-User"));
    User other;
    if (name.empty()) {
        throw bad_request("impersonating groups or extra fields needs the header Impersonate-User");
    }
    Attributes attributes;
    attributes.resource = "users";
    attributes.name = name;
    if (name.starts_with(account_prefix)) {
        const auto halves = split_first(std::string_view(name).substr(account_prefix.size()), ':');
        if (!halves) throw bad_request("not a service account: " + name);
        attributes.resource = "serviceaccounts";
        attributes.ns = halves->before;
        attributes.name = halves->after;
        other.groups = {"system:serviceaccounts", "system:serviceaccounts:" + attributes.ns};
    }
    check_impersonation(context, user, attributes);
    other.name = name;
    for (const auto& [field, value] : request.headers.fields) {
        const std::string header = to_lower(field);
        Attributes asked;
        asked.name = value;
        if (header == "impersonate-group") {
            asked.resource = "groups";
            other.groups.push_back(value);
        } else if (header == "impersonate-uid") {
            asked.group = "authentication.k8s.io";
            asked.resource = "uids";
            other.uid = value;
        } else if (header.starts_with("impersonate-extra-")) {
            asked.group = "authentication.k8s.io";
            asked.resource = "userextras";
            asked.subresource = net::percent_decode(header.substr(18));
            other.extra.push_back({asked.subresource, {value}});
        } else {
            continue;
        }
        check_impersonation(context, user, asked);
    }
    add_group(other, other.is_anonymous() ? "system:unauthenticated" : "system:authenticated");
    return other;
}

User presented(Context& context, const net::Request& request) {
    User user;
    const std::string token = bearer_of(request);
    if (!token.empty()) {
        auto found = owner_of_token(context, token);
        if (!found || !found->is_for_us) throw unauthorized();
        return std::move(found->user);
    }
    if (!request.headers.get("Authorization").empty()) throw unauthorized();
    if (!request.peer.certificate_problem.empty()) throw unauthorized();
    if (!request.peer.certificate_name.empty()) {
        user.name = request.peer.certificate_name;
        user.groups = request.peer.certificate_groups;
        add_group(user, "system:authenticated");
        return user;
    }
    user.name = "system:anonymous";
    user.groups = {"system:unauthenticated"};
    return user;
}

}  // namespace

std::optional<TokenOwner> owner_of_token(Context& context, std::string_view token) {
    for (const StaticToken& known : context.options.static_tokens) {
        if (!net::equal_secrets(known.token, token)) continue;
        User user;
        user.name = known.user;
        user.groups = known.groups;
        add_group(user, "system:authenticated");
        return TokenOwner{std::move(user), true, {}};
    }
    if (context.options.service_account_key_pem.empty()) return std::nullopt;
    const auto claims = claims_of(context, token);
    if (!claims) return std::nullopt;
    if (is_of_token_secret(*claims)) {
        auto owner = user_of_token_secret(context, *claims, token);
        if (!owner) return std::nullopt;
        return TokenOwner{*std::move(owner), true, {context.options.issuer}};
    }
    auto user = user_of_account(context, *claims);
    if (!user) return std::nullopt;
    std::set<std::string> audiences = audiences_of(*claims);
    const bool is_for_us = audiences.contains(context.options.issuer);
    return TokenOwner{*std::move(user), is_for_us, std::move(audiences)};
}

bool identifies_at_once(Context& context, const net::Request& request) {
    const std::string token = bearer_of(request);
    if (token.empty() || context.known_claims.find(net::sha256(token)) != nullptr) return true;
    const auto& known = context.options.static_tokens;
    return std::any_of(known.begin(), known.end(), [&](const StaticToken& each) {
        return net::equal_secrets(each.token, token);
    });
}

User authenticate(Context& context, const net::Request& request) {
    User user = presented(context, request);
    const bool wants = std::any_of(
        request.headers.fields.begin(), request.headers.fields.end(),
        [](const auto& field) { return to_lower(field.first).starts_with("impersonate-"); });
    return wants ? impersonated(context, user, request) : user;
}

}  // namespace muster::apiserver

// apiserver/reviews.cpp - the answers to access reviews and token reviews.
#include "apiserver/reviews.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "apiserver/answer.h"
#include "apiserver/authenticate.h"
#include "apiserver/decode.h"
#include "apiserver/metadata.h"
#include "apiserver/status_error.h"

namespace muster::apiserver {
namespace {

using api::Value;

Value texts(const std::vector<std::string>& list) {
    Value value = Value::array();
    for (const std::string& text : list)
        value.push(text);
    return value;
}

Value user_info(const User& user) {
    Value info = Value::object({{"username", user.name}});
    if (!user.uid.empty()) info.set("uid", user.uid);
    info.set("groups", texts(user.groups));
    for (const auto& [key, values] : user.extra)
        info.at("extra").set(key, texts(values));
    return info;
}

Attributes attributes_of(const Value& spec) {
    Attributes attributes;
    const Value& resource = spec["resourceAttributes"];
    attributes.is_resource = !resource.is_null();
    const Value& given = attributes.is_resource ? resource : spec["nonResourceAttributes"];
    attributes.verb = given["verb"].text();
    attributes.path = given["path"].text();
    attributes.group = given["group"].text();
    attributes.resource = given["resource"].text();
    attributes.subresource = given["subresource"].text();
    attributes.ns = given["namespace"].text();
    attributes.name = given["name"].text();
    return attributes;
}

api::FieldError wrong(const char* field, const Value& value, const std::string& why) {
    return {"FieldValueInvalid", field, "Invalid value: " + api::to_json(value) + ": " + why};
}

/// What an access review may not be. Throws StatusError.
void check_access_review(const Exchange& exchange, const api::Kind& kind, const Value& review) {
    // Who may ask in one namespace asks about that one.
    if (!exchange.route.ns.empty()) check_namespace(exchange, review);
    const Value& spec = review["spec"];
    const Value& resource = spec["resourceAttributes"];
    const Value& other = spec["nonResourceAttributes"];
    std::vector<api::FieldError> errors;
    if (!resource.is_null() && !other.is_null()) {
        errors.push_back(wrong("spec.nonResourceAttributes", other,
                               "cannot be specified in combination with resourceAttributes"));
    }
    if (resource.is_null() && other.is_null()) {
        errors.push_back(wrong("spec.resourceAttributes", other,
                               "exactly one of nonResourceAttributes or resourceAttributes must be "
                               "specified"));
    }
    const bool of_self = kind.kind == "SelfSubjectAccessReview";
    if (!of_self && spec["user"].text().empty() && spec["groups"].empty()) {
        errors.push_back(
            wrong("spec.user", Value(""), "at least one of user or group must be specified"));
    }
    const bool local = kind.kind == "LocalSubjectAccessReview";
    Value metadata = review["metadata"];
    if (metadata.is_object()) {
        metadata.erase("managedFields");
        if (local) metadata.erase("namespace");
    }
    if (!metadata.empty()) {
        errors.push_back(wrong("metadata", review["metadata"],
                               local ? "must be empty except for namespace" : "must be empty"));
    }
    if (local && !resource.is_null() && resource["namespace"].text() != exchange.route.ns) {
        errors.push_back(wrong("spec.resourceAttributes.namespace",
                               Value(resource["namespace"].text()),
                               "must match metadata.namespace"));
    }
    if (local && !other.is_null()) {
        errors.push_back(
            wrong("spec.nonResourceAttributes", other, "disallowed on this kind of request"));
    }
    if (!errors.empty()) {
        throw invalid(api::GroupResource{kind.group, ""}, "", errors);
    }
}

Value access_status(Context& context, const User& user, const Value& spec) {
    const bool allowed = context.rbac.allows(user, attributes_of(spec));
    Value status = Value::object({{"allowed", allowed}});
    if (allowed) status.set("reason", "RBAC: allowed by a role of the user");
    return status;
}

User user_of_spec(const Value& spec) {
    User user;
    user.name = spec["user"].text();
    user.uid = spec["uid"].text();
    for (const Value& group : spec["groups"].items())
        user.groups.push_back(group.text());
    return user;
}

constexpr std::size_t shown_rules_max = 1 << 20;

/// Somewhat more than the bytes of a rule as JSON.
std::size_t size_of(const Rule& rule) {
    constexpr std::size_t each = 4, whole = 100;
    std::size_t size = whole;
    for (const auto* list : {&rule.verbs, &rule.groups, &rule.resources, &rule.names, &rule.urls}) {
        for (const std::string& text : *list)
            size += text.size() + each;
    }
    return size;
}

Value rules_status(Context& context, const User& user, const std::string& ns) {
    Value resources = Value::array();
    Value others = Value::array();
    bool all = true;
    std::size_t size = 0;
    for (const Rule* rule : context.rbac.rules_for(user, ns)) {
        size += size_of(*rule);
        all = size <= shown_rules_max;
        if (!all) break;
        (rule->urls.empty() ? resources : others).push(to_value(*rule));
    }
    Value status = Value::object(
        {{"resourceRules", resources}, {"nonResourceRules", others}, {"incomplete", !all}});
    if (!all)
        status.set("evaluationError",
                   "the user's rules are longer than 1 MiB; the rest is left out");
    return status;
}

Value token_status(Context& context, const Value& spec) {
    const std::string token = spec["token"].text();
    if (token.empty()) throw bad_request("token is required for TokenReview in authentication");
    const std::optional<TokenOwner> owner = owner_of_token(context, token);
    const bool asks_for_us = spec["audiences"].empty();
    const Value asked =
        asks_for_us ? Value::array({Value(context.options.issuer)}) : spec["audiences"];
    // Those of the audiences asked about that it is for.
    Value audiences = Value::array();
    for (const Value& audience : asked.items()) {
        const std::string name = audience.text();
        if (owner && !name.empty() && owner->audiences.contains(name)) audiences.push(audience);
    }
    const bool known = owner && (!audiences.empty() || (asks_for_us && owner->is_for_us));
    if (!known)
        return Value::object({{"user", Value::object()}, {"error", "invalid bearer token"}});
    Value status = Value::object({{"authenticated", true}, {"user", user_info(owner->user)}});
    if (!audiences.empty()) status.set("audiences", audiences);
    return status;
}

}  // namespace

const api::Kind* find_review(const Route& route) {
    for (const api::Kind& kind : api::review_kinds()) {
        if (kind.group == route.group && kind.plural == route.plural &&
            kind.find_version(route.version) != nullptr) {
            return &kind;
        }
    }
    return nullptr;
}

void serve_review(Context& context, const ExchangePtr& exchange, const api::Kind& kind) {
    if (exchange->route.verb != "create") throw method_not_allowed();
    exchange->kind = &kind;
    exchange->version = kind.find_version(exchange->route.version);
    Value review = typed_object(*exchange, decode_body(exchange->request));
    const Value spec = review["spec"];
    const User& user = exchange->user;
    if (kind.kind.ends_with("SubjectAccessReview")) check_access_review(*exchange, kind, review);
    if (kind.kind == "SelfSubjectAccessReview") {
        review.set("status", access_status(context, user, spec));
    } else if (kind.kind == "SubjectAccessReview" || kind.kind == "LocalSubjectAccessReview") {
        review.set("status", access_status(context, user_of_spec(spec), spec));
    } else if (kind.kind == "SelfSubjectRulesReview") {
        const std::string ns = spec["namespace"].text();
        if (ns.empty()) throw bad_request("no namespace on request");
        review.set("metadata", Value::object());
        review.set("spec", Value::object());
        review.set("status", rules_status(context, user, ns));
    } else if (kind.kind == "SelfSubjectReview") {
        const std::string now = to_rfc3339(context.loop.now());
        review.set("metadata", Value::object({{"creationTimestamp", now}}));
        review.set("status", Value::object({{"userInfo", user_info(user)}}));
    } else if (kind.kind == "TokenReview") {
        review.set("status", token_status(context, spec));
    } else {
        throw no_such_resource();
    }
    exchange->form = Form{};
    send_value(*exchange, 201, review);
}

}  // namespace muster::apiserver

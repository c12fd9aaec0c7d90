// apiserver/reviews.cpp - the answers to access reviews and token reviews.
#include "apiserver/reviews.h"

#include <string>
#include <utility>

#include "apiserver/answer.h"
#include "apiserver/authenticate.h"
#include "apiserver/decode.h"
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
    const Value& other = spec["nonResourceAttributes"];
    if (resource.is_null() && other.is_null()) {
        throw StatusError(Reason::invalid,
                          "spec.resourceAttributes: Invalid value: null: exactly one of "
                          "nonResourceAttributes or resourceAttributes must be specified");
    }
    attributes.is_resource = !resource.is_null();
    const Value& given = attributes.is_resource ? resource : other;
    attributes.verb = given["verb"].text();
    attributes.path = given["path"].text();
    attributes.group = given["group"].text();
    attributes.resource = given["resource"].text();
    attributes.subresource = given["subresource"].text();
    attributes.ns = given["namespace"].text();
    attributes.name = given["name"].text();
    return attributes;
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
    if (user.name.empty() && user.groups.empty()) {
        throw StatusError(Reason::invalid,
                          "spec.user: Invalid value: \"\": at least one of user or group must be "
                          "specified");
    }
    return user;
}

Value rules_status(Context& context, const User& user, const std::string& ns) {
    Value resources = Value::array();
    Value others = Value::array();
    for (const Rule& rule : context.rbac.rules_for(user, ns)) {
        (rule.urls.empty() ? resources : others).push(to_value(rule));
    }
    return Value::object(
        {{"resourceRules", resources}, {"nonResourceRules", others}, {"incomplete", false}});
}

Value token_status(Context& context, const Value& spec) {
    const std::string audience = spec["audiences"][0].text();
    const auto user = user_of_token(context, spec["token"].text_or(""), audience);
    if (!user) {
        return Value::object({{"authenticated", false},
                              {"user", Value::object()},
                              {"error",
                               "the token is not known, is expired or is for another "
                               "audience"}});
    }
    Value status = Value::object({{"authenticated", true}, {"user", user_info(*user)}});
    if (!audience.empty()) status.set("audiences", Value::array({Value(audience)}));
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
    if (kind.kind == "SelfSubjectAccessReview") {
        review.set("status", access_status(context, user, spec));
    } else if (kind.kind == "SubjectAccessReview") {
        review.set("status", access_status(context, user_of_spec(spec), spec));
    } else if (kind.kind == "LocalSubjectAccessReview") {
        if (spec["resourceAttributes"]["namespace"].text_or("") != exchange->route.ns) {
            throw bad_request("spec.resourceAttributes.namespace must match namespace: " +
                              exchange->route.ns);
        }
        review.set("status", access_status(context, user_of_spec(spec), spec));
    } else if (kind.kind == "SelfSubjectRulesReview") {
        const std::string ns = spec["namespace"].text();
        if (ns.empty()) throw bad_request("no namespace on request");
        review.set("status", rules_status(context, user, ns));
    } else if (kind.kind == "SelfSubjectReview") {
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

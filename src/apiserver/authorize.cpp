// apiserver/authorize.cpp - what a request asks for, put to the roles.
#include "apiserver/authorize.h"

#include <string>

#include "apiserver/rbac.h"
#include "apiserver/status_error.h"

namespace muster::apiserver {
namespace {

Attributes attributes_of(const Exchange& exchange) {
    const Route& route = exchange.route;
    Attributes attributes;
    attributes.verb = route.verb;
    attributes.is_resource = route.is_resource;
    attributes.path = route.path;
    attributes.group = route.group;
    attributes.resource = route.plural;
    attributes.subresource = route.subresource;
    attributes.ns = route.ns;
    attributes.name = route.name;
    // A list of one name is like a get of it: a role of names may allow it.
    if (route.name.empty() && (route.verb == "list" || route.verb == "watch")) {
        constexpr std::string_view by_name = "metadata.name=";
        const std::string_view fields = exchange.request.query_value("fieldSelector");
        if (fields.starts_with(by_name) && fields.find(',') == std::string_view::npos) {
            attributes.name = fields.substr(by_name.size());
        }
    }
    // A role in a namespace may speak of that namespace itself.
    if (route.plural == "namespaces" && route.group.empty()) attributes.ns = route.name;
    return attributes;
}

void check(const Context& context, const Exchange& exchange, const Attributes& attributes) {
    if (context.rbac.allows(exchange.user, attributes)) return;
    const std::string why = denial_text(exchange.user, attributes);
    if (!attributes.is_resource) {
        throw StatusError(Reason::forbidden, "forbidden: " + why, api::Value::object());
    }
    throw forbidden({attributes.group, attributes.resource}, attributes.name, why);
}

}  // namespace

void authorize(const Context& context, const Exchange& exchange) {
    check(context, exchange, attributes_of(exchange));
}

void authorize_as(const Context& context, const Exchange& exchange, std::string_view verb) {
    Attributes attributes = attributes_of(exchange);
    if (attributes.verb == verb) return;
    attributes.verb = verb;
    check(context, exchange, attributes);
}

}  // namespace muster::apiserver

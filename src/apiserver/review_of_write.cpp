// apiserver/review_of_write.cpp - the versions that a write could be had in, and its object in each
// of them.
#include "apiserver/review_of_write.h"

#include <utility>

#include "apiserver/conversions.h"
#include "apiserver/decode.h"
#include "apiserver/scale.h"
#include "base/text.h"
#include "net/query_flag.h"

namespace muster::apiserver {
namespace {

using api::Value;

VersionedResource resource_in(const api::Kind& kind, const std::string& version) {
    return {kind.group, version, kind.plural, kind.kind, kind.group, version};
}

/// Kinds that are kept as the same objects: those of the new and the old events.
bool are_one(const api::Kind& a, const api::Kind& b) {
    const auto place = [](const api::Kind& kind) {
        return kind.stored_as.empty() ? kind.resource() : api::GroupResource{"", kind.stored_as};
    };
    return place(a) == place(b);
}

std::vector<VersionedResource> equivalents_of(const Context& context, const api::Kind& kind,
                                              const std::string& version) {
    std::vector<VersionedResource> found;
    const bool events = kind.plural == "events";
    const std::vector<const api::Kind*> kinds =
        events ? context.kinds.all() : std::vector<const api::Kind*>{&kind};
    for (const api::Kind* other : kinds) {
        if (!are_one(*other, kind)) continue;
        for (const api::Version& each : other->versions) {
            if (other != &kind || each.name != version)
                found.push_back(resource_in(*other, each.name));
        }
    }
    return found;
}

/// The kind of the exchange, or the other one that is kept as the same objects.
const api::Kind& kind_for(const api::Kind& kind, const VersionedResource& as) {
    if (as.group == kind.group) return kind;
    return *api::find_kind(as.group, as.plural);
}

void show_whole_objects(Context& context, const ExchangePtr& exchange, const api::Kind& kind,
                        Reviewed& reviewed) {
    reviewed.show = [&context, exchange, &kind](const Value& object, const VersionedResource& as,
                                                Phase phase) {
        Value shown = shown_in(context, *exchange, kind_for(kind, as), object, as.version);
        // Mutating webhooks see objects before they get what only the server gives.
        const std::string& chosen = exchange->chosen_name;
        if (phase == Phase::mutating && !chosen.empty() &&
            shown["metadata"]["name"].text_or("") == chosen) {
            shown.at("metadata").erase("name");
        }
        return shown;
    };
    reviewed.take = [&context, exchange, &kind](Value changed, const VersionedResource& as) {
        const api::Kind& its = kind_for(kind, as);
        if (changed["metadata"].is_object() && changed["metadata"]["name"].text_or("").empty())
            changed.at("metadata").set("name", exchange->chosen_name);
        return stored_form(context, *exchange, its,
                           mutated_object(its, *its.find_version(as.version), std::move(changed)));
    };
}

/// Of objects that scale, webhooks see how much.
void show_scales(Context& context, const ExchangePtr& exchange, const api::Kind& kind,
                 const Value& object, Reviewed& reviewed) {
    const auto as_scale = [](VersionedResource& resource) {
        resource.kind = "Scale";
        resource.kind_group = "autoscaling";
        resource.kind_version = "v1";
    };
    as_scale(reviewed.resource);
    for (VersionedResource& other : reviewed.equivalents)
        as_scale(other);
    reviewed.show = [&context, exchange, &kind](const Value& stored, const VersionedResource& as,
                                                Phase) {
        return scale_of(kind, shown_in(context, *exchange, kind, stored, as.version));
    };
    reviewed.take = [&context, exchange, &kind, object](Value changed,
                                                        const VersionedResource& as) {
        Value served = shown_in(context, *exchange, kind, object, as.version);
        set_scale(kind, served, changed["spec"]["replicas"].integer_or(0));
        return stored_form(context, *exchange, kind, std::move(served));
    };
}

/// "PodExecOptions" of pods/exec.
std::string options_kind(const Route& route) {
    if (route.plural == "services") return "ServiceProxyOptions";
    if (route.subresource == "portforward") return "PodPortForwardOptions";
    std::string kind = "Pod" + route.subresource + "Options";
    kind[3] = static_cast<char>(kind[3] - 'a' + 'A');
    return kind;
}

/// What the query of a connection says, as its options have it.
Value connection_options(const Exchange& exchange) {
    const Route& route = exchange.route;
    Value options = Value::object({{"kind", options_kind(route)}, {"apiVersion", "v1"}});
    if (route.subresource == "proxy") {
        if (!route.rest.empty()) options.set("path", route.rest);
        return options;
    }
    for (const auto& [name, value] : exchange.request.query) {
        if (name == "command") {
            options.at(name).push(value);
        } else if (name == "ports") {
            options.at(name).push(parse_integer(value).value_or(0));
        } else if (name == "container") {
            options.set(name, value);
        } else if (name == "stdin" || name == "stdout" || name == "stderr" || name == "tty") {
            if (net::query_flag(exchange.request, name)) options.set(name, Value(true));
        }
    }
    return options;
}

}  // namespace

ReviewedPtr review_of_connection(const Context& context, const Exchange& exchange) {
    if (context.webhooks.empty()) return nullptr;
    const auto reviewed = std::make_shared<Reviewed>();
    const api::Kind& kind = *exchange.kind;
    reviewed->object = connection_options(exchange);
    reviewed->operation = "CONNECT";
    reviewed->resource = resource_in(kind, exchange.version->name);
    reviewed->resource.kind = options_kind(exchange.route);
    reviewed->subresource = exchange.route.subresource;
    reviewed->name = exchange.route.name;
    reviewed->ns = exchange.route.ns;
    reviewed->show = [](const Value& object, const VersionedResource&, Phase) { return object; };
    reviewed->take = [](const Value&, const VersionedResource&) -> Value {
        throw StatusError(Reason::internal_error,
                          "Internal error occurred: a webhook may not change a connection");
    };
    reviewed->repeat_own_steps = [] {};
    return reviewed;
}

ReviewedPtr review_of_write(Context& context, const ExchangePtr& exchange, const api::Kind& kind,
                            std::string_view subresource, Value object, const Value& old) {
    const auto reviewed = std::make_shared<Reviewed>();
    reviewed->object = std::move(object);
    if (context.webhooks.empty()) return reviewed;
    reviewed->old = old;
    const bool creates = old.is_null();
    const Route& route = exchange->route;
    reviewed->operation = creates ? "CREATE" : "UPDATE";
    reviewed->resource = resource_in(kind, exchange->version->name);
    reviewed->equivalents = equivalents_of(context, kind, exchange->version->name);
    reviewed->subresource = subresource;
    const Value& metadata = reviewed->object["metadata"];
    if (exchange->chosen_name.empty()) reviewed->name = metadata["name"].text();
    const bool space = kind.group.empty() && kind.plural == "namespaces";
    reviewed->ns = space ? metadata["name"].text() : route.ns;
    reviewed->options =
        options_of_write(exchange->request, creates ? "CreateOptions" : "UpdateOptions");
    if (subresource == "scale") {
        show_scales(context, exchange, kind, reviewed->object, *reviewed);
    } else {
        show_whole_objects(context, exchange, kind, *reviewed);
    }
    return reviewed;
}

ReviewedPtr review_of_removal(Context& context, const ExchangePtr& exchange, const api::Kind& kind,
                              const Value& old, const Value& options) {
    const auto reviewed = std::make_shared<Reviewed>();
    reviewed->old = old;
    reviewed->operation = "DELETE";
    reviewed->resource = resource_in(kind, exchange->version->name);
    reviewed->equivalents = equivalents_of(context, kind, exchange->version->name);
    reviewed->name = exchange->route.name;  // None when a whole collection goes.
    const bool space = kind.group.empty() && kind.plural == "namespaces";
    reviewed->ns = old["metadata"][space ? "name" : "namespace"].text();
    reviewed->options =
        Value::object({{"kind", "DeleteOptions"}, {"apiVersion", "meta.k8s.io/v1"}});
    for (const auto& [key, value] : options.members()) {
        if (key != "kind" && key != "apiVersion") reviewed->options.set(key, value);
    }
    show_whole_objects(context, exchange, kind, *reviewed);
    return reviewed;
}

ReviewedPtr review_of_body(const Exchange& exchange, const std::string& api_version,
                           const std::string& kind, Value body) {
    const auto reviewed = std::make_shared<Reviewed>();
    const auto its = api::parse_group_version(api_version);
    body.set("apiVersion", api_version);
    body.set("kind", kind);
    Value& metadata = body.at("metadata");
    if (metadata.is_null()) metadata = Value::object();
    metadata.set("name", exchange.route.name);
    metadata.set("namespace", exchange.route.ns);
    reviewed->object = std::move(body);
    reviewed->operation = "CREATE";
    const api::Kind& of = *exchange.kind;
    reviewed->resource = {of.group,   exchange.version->name, of.plural, kind, its.group,
                          its.version};
    reviewed->subresource = exchange.route.subresource;
    reviewed->name = exchange.route.name;
    reviewed->ns = exchange.route.ns;
    reviewed->options = options_of_write(exchange.request, "CreateOptions");
    reviewed->show = [](const Value& object, const VersionedResource&, Phase) { return object; };
    reviewed->take = [](Value changed, const VersionedResource&) { return changed; };
    reviewed->repeat_own_steps = [] {};
    return reviewed;
}

}  // namespace muster::apiserver

// apiserver/discovery.cpp - documents about what is served, made from the registry of kinds.
#include "apiserver/discovery.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/apiextensions/added_kind.h"
#include "api/json.h"
#include "apiserver/answer.h"
#include "apiserver/openapi.h"
#include "apiserver/status_error.h"
#include "apiserver/subresources.h"
#include "base/text.h"
#include "net/jwt.h"
#include "net/secret.h"

namespace muster::apiserver {
namespace {

using api::Value;

/// A group with its versions, the preferred first.
struct Group {
    std::string name;
    std::vector<std::string> versions;
};

void add_group(std::vector<Group>& groups, const api::Kind& kind) {
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& group) { return group.name == kind.group; });
    if (found == groups.end()) found = groups.insert(groups.end(), Group{kind.group, {}});
    for (const api::Version& version : kind.versions) {
        auto& versions = found->versions;
        if (std::find(versions.begin(), versions.end(), version.name) == versions.end()) {
            versions.push_back(version.name);
        }
    }
}

std::vector<Group> all_groups(const Context& context) {
    std::vector<Group> groups;
    for (const api::Kind* kind : context.kinds.all())
        add_group(groups, *kind);
    for (const auto& kind : context.kinds.added()) {
        const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& each) {
            return each.name == kind->group;
        });
        std::sort(group->versions.begin(), group->versions.end(), api::is_preferred_version);
    }
    std::erase_if(groups, [](const Group& group) { return group.versions.empty(); });
    for (const api::Kind& kind : api::review_kinds())
        add_group(groups, kind);
    for (const Server::View& view : context.views) {
        const bool known = std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
            return group.name == view.resource.group;
        });
        if (!known) groups.push_back({view.resource.group, view.versions});
    }
    return groups;
}

/// Views of that group and version, each on the resource that it hangs on.
std::vector<const Server::View*> views_of(const Context& context, const std::string& group,
                                          const std::string& version) {
    std::vector<const Server::View*> found;
    for (const Server::View& view : context.views) {
        const auto& versions = view.versions;
        if (view.resource.group == group &&
            std::find(versions.begin(), versions.end(), version) != versions.end()) {
            found.push_back(&view);
        }
    }
    return found;
}

Value texts(const std::vector<std::string>& list) {
    Value value = Value::array();
    for (const std::string& text : list)
        value.push(text);
    return value;
}

const std::vector<std::string> all_verbs{"create", "delete", "deletecollection", "get",
                                         "list",   "patch",  "update",           "watch"};

/// A resource of discovery, whether it is kept or only answered.
struct Row {
    const api::Kind* kind = nullptr;
    bool kept = true;
};

/// In the order in which the original lists them.
Value verbs_of(const Row& row) {
    if (!row.kept) return texts({"create"});
    if (row.kind->group.empty() && row.kind->plural == "namespaces")
        return texts({"create", "delete", "get", "list", "patch", "update", "watch"});
    if (!row.kind->custom) return texts(all_verbs);
    return texts(
        {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"});
}

std::vector<Row> rows_of(const Context& context, const std::string& group,
                         const std::string& version) {
    std::vector<Row> rows;
    const auto is_there = [&](const api::Kind& kind) {
        return kind.group == group && kind.find_version(version) != nullptr;
    };
    for (const api::Kind* kind : context.kinds.all()) {
        if (is_there(*kind)) rows.push_back({kind, true});
    }
    for (const api::Kind& kind : api::review_kinds()) {
        if (is_there(kind)) rows.push_back({&kind, false});
    }
    return rows;
}

Value kind_reference(const std::string& group, const std::string& version,
                     const std::string& kind) {
    return Value::object({{"group", group}, {"version", version}, {"kind", kind}});
}

Value aggregated_resource(const Context& context, const Row& row, const std::string& version) {
    const api::Kind& kind = *row.kind;
    Value resource =
        Value::object({{"resource", kind.plural},
                       {"responseKind", kind_reference(kind.group, version, kind.kind)},
                       {"scope", kind.namespaced ? "Namespaced" : "Cluster"},
                       {"singularResource", kind.singular},
                       {"verbs", verbs_of(row)}});
    if (!kind.short_names.empty()) resource.set("shortNames", texts(kind.short_names));
    if (!kind.categories.empty()) resource.set("categories", texts(kind.categories));
    if (!row.kept) return resource;
    Value below = Value::array();
    for (const Subresource& sub : subresources_of(context, kind, version)) {
        below.push(
            Value::object({{"subresource", sub.name},
                           {"responseKind", kind_reference(sub.group, sub.version, sub.kind)},
                           {"verbs", texts(sub.verbs)}}));
    }
    if (!below.empty()) resource.set("subresources", below);
    return resource;
}

Value aggregated_view(const Server::View& view, const std::string& version) {
    const std::string& group = view.resource.group;
    const bool cluster = view.scope == Server::View::Scope::cluster;
    return Value::object(
        {{"resource", view.resource.plural},
         {"responseKind", kind_reference(group, version, view.kind)},
         {"scope", cluster ? "Cluster" : "Namespaced"},
         {"singularResource", view.singular},
         {"verbs", Value::array()},
         {"subresources", Value::array({Value::object(
                              {{"subresource", view.subresource},
                               {"responseKind", kind_reference(group, version, view.answer_kind)},
                               {"verbs", texts({"get"})}})})}});
}

/// APIGroupDiscoveryList: of the core group for /api, of the others for /apis.
Value aggregated(const Context& context, bool core, const std::string& form_version) {
    Value items = Value::array();
    for (const Group& group : all_groups(context)) {
        if (group.name.empty() != core) continue;
        Value versions = Value::array();
        for (const std::string& version : group.versions) {
            Value resources = Value::array();
            for (const Row& row : rows_of(context, group.name, version)) {
                resources.push(aggregated_resource(context, row, version));
            }
            for (const Server::View* view : views_of(context, group.name, version))
                resources.push(aggregated_view(*view, version));
            versions.push(Value::object(
                {{"version", version}, {"resources", resources}, {"freshness", "Current"}}));
        }
        Value metadata = Value::object();
        if (!core) metadata.set("name", group.name);
        items.push(Value::object({{"metadata", metadata}, {"versions", versions}}));
    }
    return Value::object({{"kind", "APIGroupDiscoveryList"},
                          {"apiVersion", "apidiscovery.k8s.io/" + form_version},
                          {"metadata", Value::object()},
                          {"items", items}});
}

Value group_entry(const Group& group) {
    Value versions = Value::array();
    for (const std::string& version : group.versions) {
        versions.push(Value::object(
            {{"groupVersion", api::to_api_version({group.name, version})}, {"version", version}}));
    }
    return Value::object(
        {{"name", group.name}, {"versions", versions}, {"preferredVersion", versions[0]}});
}

Value resource_list(const Context& context, const Group& group, const std::string& version) {
    Value resources = Value::array();
    for (const Row& row : rows_of(context, group.name, version)) {
        const api::Kind& kind = *row.kind;
        Value resource = Value::object({{"name", kind.plural},
                                        {"singularName", kind.singular},
                                        {"namespaced", kind.namespaced},
                                        {"kind", kind.kind},
                                        {"verbs", verbs_of(row)}});
        if (!kind.short_names.empty()) resource.set("shortNames", texts(kind.short_names));
        if (!kind.categories.empty()) resource.set("categories", texts(kind.categories));
        resources.push(resource);
        if (!row.kept) continue;
        for (const Subresource& sub : subresources_of(context, kind, version)) {
            Value entry = Value::object({{"name", kind.plural + "/" + sub.name},
                                         {"singularName", ""},
                                         {"namespaced", kind.namespaced},
                                         {"kind", sub.kind},
                                         {"verbs", texts(sub.verbs)}});
            if (sub.group != kind.group || sub.version != version) {
                entry.set("group", sub.group);
                entry.set("version", sub.version);
            }
            resources.push(std::move(entry));
        }
    }
    for (const Server::View* view : views_of(context, group.name, version)) {
        const bool namespaced = view->scope == Server::View::Scope::namespaced;
        resources.push(Value::object({{"name", view->resource.plural},
                                      {"singularName", view->singular},
                                      {"namespaced", namespaced},
                                      {"kind", view->kind},
                                      {"verbs", Value::array()}}));
        resources.push(Value::object({{"name", view->resource.plural + "/" + view->subresource},
                                      {"singularName", ""},
                                      {"namespaced", namespaced},
                                      {"kind", view->answer_kind},
                                      {"verbs", texts({"get"})}}));
    }
    Value list = Value::object({{"kind", "APIResourceList"},
                                {"groupVersion", api::to_api_version({group.name, version})},
                                {"resources", resources}});
    // The list of the oldest group is itself of no version, as it has always been.
    if (!group.name.empty()) list.set("apiVersion", "v1");
    return list;
}

/// The document as JSON with an ETag; 304 when the client has it.
void send_tagged(Exchange& exchange, const Value& document, const std::string& type) {
    std::string text = api::to_json(document);
    const std::string tag = "\"" + net::sha256_hex(text).substr(0, 32) + "\"";
    net::Response response;
    response.headers.add("Content-Type", type);
    response.headers.add("ETag", tag);
    response.headers.add("Vary", "Accept");
    response.headers.add("Cache-Control", "public");
    if (exchange.request.headers.get("If-None-Match") == tag) {
        response.status = 304;
        response.body = make_bytes("");
    } else {
        response.body = make_bytes(std::move(text));
    }
    exchange.responder->respond(std::move(response));
}

/// "v2" or "v2beta1" when aggregated discovery is asked for before plain JSON.
std::string aggregated_version(const net::Request& request) {
    for (const std::string_view media : split(request.headers.get("Accept"), ',')) {
        if (parameter(media, "as") != "APIGroupDiscoveryList") {
            if (parameter(media, "as").empty()) return "";
            continue;
        }
        const std::string version(parameter(media, "v"));
        if (version == "v2" || version == "v2beta1") return version;
    }
    return "";
}

void serve_root(Context& context, Exchange& exchange, bool core) {
    const std::string version = aggregated_version(exchange.request);
    if (!version.empty()) {
        send_tagged(
            exchange, aggregated(context, core, version),
            "application/json;g=apidiscovery.k8s.io;v=" + version + ";as=APIGroupDiscoveryList");
        return;
    }
    if (core) {
        const Value address = Value::object({{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", ""}});
        send_value(exchange, 200,
                   Value::object({{"kind", "APIVersions"},
                                  {"versions", Value::array({"v1"})},
                                  {"serverAddressByClientCIDRs", Value::array({address})}}));
        return;
    }
    Value groups = Value::array();
    for (const Group& group : all_groups(context)) {
        if (!group.name.empty()) groups.push(group_entry(group));
    }
    send_value(exchange, 200,
               Value::object({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", groups}}));
}

void serve_group(Context& context, Exchange& exchange, const std::string& name,
                 const std::string& version) {
    const std::vector<Group> groups = all_groups(context);
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const Group& each) { return each.name == name; });
    if (group == groups.end()) throw name.empty() ? no_such_resource() : page_not_found();
    if (version.empty()) {
        Value entry = group_entry(*group);
        entry.set("kind", "APIGroup");
        entry.set("apiVersion", "v1");
        send_value(exchange, 200, entry);
        return;
    }
    const auto& versions = group->versions;
    if (std::find(versions.begin(), versions.end(), version) == versions.end()) {
        throw no_such_resource();
    }
    send_value(exchange, 200, resource_list(context, *group, version));
}

Value version_document() {
    return Value::object({{"major", "1"},
                          {"minor", "36"},
                          {"gitVersion", "v1.36.0+muster"},
                          {"gitCommit", ""},
                          {"gitTreeState", "clean"},
                          {"buildDate", "1970-01-01T00:00:00Z"},
                          {"goVersion", ""},
                          {"compiler", "c++"},
                          {"platform", "linux/amd64"}});
}

/// The page at "/": where one may go from there.
Value paths_of(Context& context) {
    Value paths = Value::array({"/api", "/api/v1", "/apis"});
    for (const Group& group : all_groups(context)) {
        if (group.name.empty()) continue;
        paths.push("/apis/" + group.name);
        for (const std::string& version : group.versions)
            paths.push("/apis/" + group.name + "/" + version);
    }
    for (const char* path :
         {"/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"}) {
        paths.push(path);
    }
    return paths;
}

/// What others need to verify this server's tokens.
bool serve_token_keys(Context& context, Exchange& exchange) {
    const std::string& key = context.options.service_account_key_pem;
    if (key.empty()) return false;
    if (exchange.route.path == "/openid/v1/jwks") {
        send_json(exchange, 200, make_bytes(net::key_set_json(key)), "application/jwk-set+json");
        return true;
    }
    if (exchange.route.path != "/.well-known/openid-configuration") return false;
    const std::string& issuer = context.options.issuer;
    send_value(exchange, 200,
               Value::object({{"issuer", issuer},
                              {"jwks_uri", issuer + "/openid/v1/jwks"},
                              {"response_types_supported", Value::array({"id_token"})},
                              {"subject_types_supported", Value::array({"public"})},
                              {"id_token_signing_alg_values_supported", Value::array({"ES256"})}}));
    return true;
}

}  // namespace

bool serve_discovery(Context& context, const ExchangePtr& exchange) {
    std::vector<std::string> parts;
    for (const std::string_view part : split(exchange->route.path, '/')) {
        if (!part.empty()) parts.emplace_back(part);
    }
    if (parts.empty()) {
        send_value(*exchange, 200, Value::object({{"paths", paths_of(context)}}));
        return true;
    }
    const std::string& first = parts[0];
    const std::string& method = exchange->request.method;
    const bool is_document = first == "api" || first == "apis" || first == "version";
    if (is_document && method != "GET" && method != "HEAD") throw method_not_allowed();
    if (first == "api" && parts.size() <= 2) {
        if (parts.size() == 1) {
            serve_root(context, *exchange, true);
        } else {
            serve_group(context, *exchange, "", parts[1]);
        }
        return true;
    }
    if (first == "apis" && parts.size() <= 3) {
        if (parts.size() == 1) {
            serve_root(context, *exchange, false);
        } else {
            serve_group(context, *exchange, parts[1], parts.size() == 3 ? parts[2] : "");
        }
        return true;
    }
    if (first == "version" && parts.size() == 1) {
        send_value(*exchange, 200, version_document());
        return true;
    }
    if (first == "openapi") {
        serve_openapi(context, *exchange);
        return true;
    }
    return serve_token_keys(context, *exchange);
}

}  // namespace muster::apiserver

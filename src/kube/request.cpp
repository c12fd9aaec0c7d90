// kube/request.cpp - paths, queries and bodies of Kubernetes requests.
#include "kube/request.h"

#include <utility>
#include <variant>

#include "api/json.h"

namespace muster::kube {
namespace {

net::Request bare(std::string_view method, std::string path) {
    net::Request request;
    request.method = std::string(method);
    request.path = std::move(path);
    request.headers.set("Accept", "application/json");
    request.body = make_bytes("");
    return request;
}

void set_body(net::Request& request, std::string_view content_type, const api::Value& body) {
    request.headers.set("Content-Type", std::string(content_type));
    request.body = make_bytes(api::to_json(body));
}

api::Value delete_options(std::string_view propagation) {
    api::Value options = api::Value::object({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}});
    if (!propagation.empty()) options.set("propagationPolicy", propagation);
    return options;
}

}  // namespace

std::string path_of(const Target& target, std::string_view ns, std::string_view name,
                    std::string_view subresource) {
    std::string path =
        target.resource.group.empty() ? "/api/" : "/apis/" + target.resource.group + "/";
    path += target.version;
    if (!ns.empty()) path.append("/namespaces/").append(ns);
    path += "/" + target.resource.plural;
    if (!name.empty()) path += "/" + net::percent_encode(name);
    if (!subresource.empty()) path.append("/").append(subresource);
    return path;
}

net::Request get(const Target& target, std::string_view ns, std::string_view name) {
    return bare("GET", path_of(target, ns, name));
}

net::Request list(const Target& target, std::string_view ns) {
    return bare("GET", path_of(target, ns, ""));
}

net::Request create(const Target& target, std::string_view ns, std::string_view name,
                    std::string_view subresource, const api::Value& body) {
    net::Request request = bare(
        "POST", path_of(target, ns, subresource.empty() ? std::string_view() : name, subresource));
    set_body(request, "application/json", body);
    return request;
}

net::Request update(const Target& target, const api::Key& key, std::string_view subresource,
                    const api::Value& body) {
    net::Request request = bare("PUT", path_of(target, key.ns, key.name, subresource));
    set_body(request, "application/json", body);
    return request;
}

net::Request patch(const Target& target, const api::Key& key, std::string_view subresource,
                   std::string_view content_type, const api::Value& body) {
    net::Request request = bare("PATCH", path_of(target, key.ns, key.name, subresource));
    set_body(request, content_type, body);
    return request;
}

net::Request remove(const Target& target, const api::Key& key, std::string_view uid,
                    std::string_view propagation, std::optional<std::int64_t> grace_seconds) {
    net::Request request = bare("DELETE", path_of(target, key.ns, key.name));
    api::Value options = delete_options(propagation);
    if (!uid.empty()) options.at("preconditions").set("uid", uid);
    if (grace_seconds) options.set("gracePeriodSeconds", *grace_seconds);
    set_body(request, "application/json", options);
    return request;
}

net::Request remove_all(const Target& target, std::string_view ns, std::string_view propagation) {
    net::Request request = bare("DELETE", path_of(target, ns, ""));
    set_body(request, "application/json", delete_options(propagation));
    return request;
}

net::Request watch(const Target& target, std::string_view since) {
    net::Request request = bare("GET", path_of(target, "", ""));
    request.query = {{"watch", "true"}, {"allowWatchBookmarks", "true"}};
    if (since.empty()) {
        request.query.emplace_back("sendInitialEvents", "true");
        request.query.emplace_back("resourceVersionMatch", "NotOlderThan");
    } else {
        request.query.emplace_back("resourceVersion", std::string(since));
    }
    return request;
}

api::Value body_of(const net::Response& response, api::FieldOwners owners) {
    if (!response.body) return {};
    auto parsed = api::parse_json(*response.body, owners);
    auto* document = std::get_if<api::Parsed>(&parsed);
    return document ? std::move(document->value) : api::Value();
}

}  // namespace muster::kube

// apiserver/proxy.cpp - services/NAME/proxy and pods/NAME/proxy: finds the pod's address and port
// and hands the request to the node.
#include <string>
#include <utility>
#include <vector>

#include "apiserver/authenticate.h"
#include "apiserver/commit.h"
#include "apiserver/proxy_answer.h"
#include "apiserver/selector.h"
#include "apiserver/service_endpoint.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "apiserver/subresources.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;

/// "[scheme:]name[:port]".
struct Target {
    net::Target::Scheme scheme = net::Target::Scheme::http;
    std::string name;
    std::string port;  // A number, a name, or empty: the first.
};

Target target_of(const std::string& kind, const std::string& text) {
    std::vector<std::string_view> parts = split(text, ':');
    const auto invalid = [&] {
        return bad_request("invalid " + kind + " request \"" + text +
                           "\": give NAME, NAME:PORT, http:NAME:PORT or https:NAME:PORT");
    };
    Target target;
    if (parts.size() == 3) {
        if (parts[0] != "http" && parts[0] != "https" && !parts[0].empty()) throw invalid();
        if (parts[0] == "https") target.scheme = net::Target::Scheme::https;
        parts.erase(parts.begin());
    }
    if (parts.size() > 2 || parts[0].empty()) throw invalid();
    target.name = parts[0];
    if (parts.size() == 2) target.port = parts[1];
    return target;
}

int named_port(const Value& pod, std::string_view name) {
    for (const Value& container : pod["spec"]["containers"].items()) {
        for (const Value& port : container["ports"].items()) {
            if (port["name"].text_or("") == name) {
                return static_cast<int>(port["containerPort"].integer_or(0));
            }
        }
    }
    return 0;
}

Endpoint pod_endpoint(const Value& pod, const std::string& wanted) {
    Endpoint endpoint;
    endpoint.address = pod["status"]["podIP"].text();
    if (const auto number = parse_integer(wanted)) {
        endpoint.port = static_cast<int>(*number);
    } else if (!wanted.empty()) {
        endpoint.port = named_port(pod, wanted);
    } else {
        endpoint.port = static_cast<int>(
            pod["spec"]["containers"][0]["ports"][0]["containerPort"].integer_or(80));
    }
    const std::string name = pod["metadata"]["name"].text();
    if (endpoint.address.empty()) throw unavailable("pod " + name + " has no address yet");
    if (endpoint.port <= 0 || endpoint.port > 65535) {
        throw bad_request("pod " + name + " has no port \"" + wanted + "\"");
    }
    return endpoint;
}

const Value& service_port(const Value& service, const std::string& wanted) {
    const Value& ports = service["spec"]["ports"];
    if (wanted.empty() && ports.size() == 1) return ports[0];
    for (const Value& port : ports.items()) {
        if (port["name"].text_or("") == wanted) return port;
        if (std::to_string(port["port"].integer_or(0)) == wanted) return port;
    }
    const std::string name = service["metadata"]["name"].text();
    if (parse_integer(wanted))
        throw unavailable("no service port " + wanted + " found for service \"" + name + "\"");
    throw unavailable("no endpoints available for service \"" + name +
                      (wanted.empty() ? "\": it has several ports, name one as NAME:PORT"
                                      : "\": it has no port \"" + wanted + "\""));
}

Endpoint service_endpoint(Context& context, const std::string& ns, const Value& service,
                          const std::string& wanted) {
    const Value& port = service_port(service, wanted);
    const std::string name = service["metadata"]["name"].text();
    if (auto found = ready_endpoint(context, ns, name, port)) return *std::move(found);
    throw unavailable("no endpoints available for service \"" + name +
                      "\": no pod behind it is ready");
}

/// What the pod gets: the client's request, without what is meant for this server.
net::Request passed_on(const Exchange& exchange, const std::string& prefix) {
    net::Request request = exchange.request;
    request.path = exchange.route.rest.empty() ? "/" : exchange.route.rest;
    remove_connection_headers(request.headers,
                              net::asks_for_upgrade(request) ? Upgrade::stays : Upgrade::goes);
    std::erase_if(request.headers.fields, [](const auto& field) {
        const std::string name = to_lower(field.first);
        return name == "authorization" || name == "expect" || name.starts_with("impersonate-");
    });
    // A browser's token must not reach the pod either.
    if (const std::string offered(request.headers.get("Sec-WebSocket-Protocol"));
        !offered.empty()) {
        std::vector<std::string_view> kept;
        for (const std::string_view each : split(offered, ',')) {
            if (!trim(each).starts_with(token_protocol)) kept.push_back(trim(each));
        }
        request.headers.set("Sec-WebSocket-Protocol", join(kept, ", "));
        if (kept.empty()) {
            std::erase_if(request.headers.fields, [](const auto& field) {
                return equal_ignoring_case(field.first, "Sec-WebSocket-Protocol");
            });
        }
    }
    request.headers.set("X-Forwarded-Uri", prefix + exchange.route.rest);
    std::string client = request.peer.address;
    if (const std::size_t port = client.rfind(':'); port != std::string::npos) client.erase(port);
    std::string way(request.headers.get("X-Forwarded-For"));
    request.headers.set("X-Forwarded-For", way.empty() ? client : way + ", " + client);
    return request;
}

}  // namespace

void serve_proxy(Context& context, const ExchangePtr& exchange) {
    const Route& route = exchange->route;
    const std::string& path = exchange->request.path;
    const bool reads = exchange->request.method == "GET" || exchange->request.method == "HEAD";
    if (route.rest.empty() && reads && !net::asks_for_upgrade(exchange->request)) {
        // Relative links of a page need the slash.
        const std::string& query = exchange->request.query_text;
        net::Response moved;
        moved.status = 301;
        moved.headers.add("Location", path + "/" + (query.empty() ? "" : "?" + query));
        moved.body = make_bytes("");
        exchange->answered = true;
        exchange->responder->respond(std::move(moved));
        return;
    }
    const bool pod = exchange->kind->plural == "pods";
    const Target target = target_of(pod ? "pod" : "service", route.name);
    const store::Entry* entry = context.store.find(key_of(*exchange->kind, route.ns, target.name));
    if (entry == nullptr) throw not_found(exchange->kind->resource(), target.name);
    const Value object = read_stored(*entry->value);
    const Endpoint endpoint = pod ? pod_endpoint(object, target.port)
                                  : service_endpoint(context, route.ns, object, target.port);
    if (context.node == nullptr) throw unavailable("no node agent is connected to this server");
    ProxyPlace place;
    place.prefix = path.substr(0, path.size() - route.rest.size());
    place.endpoint = endpoint.address + ":" + std::to_string(endpoint.port);
    place.host = exchange->request.headers.get("Host");
    net::Request request = passed_on(*exchange, place.prefix);
    exchange->answered = true;
    context.node->proxy(std::move(request), {target.scheme, endpoint.address, endpoint.port},
                        proxy_answer(exchange, std::move(place)));
}

}  // namespace muster::apiserver

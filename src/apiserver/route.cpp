// apiserver/route.cpp - taking a request's path apart.
#include "apiserver/route.h"

#include <cstddef>
#include <vector>

#include "base/text.h"
#include "net/query_flag.h"

namespace muster::apiserver {
namespace {

std::vector<std::string> segments_of(std::string_view path) {
    std::vector<std::string> segments;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const std::string_view segment = path.substr(0, slash);
        if (!segment.empty()) segments.push_back(net::percent_decode(segment));
        if (slash == std::string_view::npos) break;
        path.remove_prefix(slash + 1);
    }
    return segments;
}

std::string verb_of_method(std::string_view method, bool named) {
    if (method == "GET" || method == "HEAD") return named ? "get" : "list";
    if (method == "POST") return "create";
    if (method == "PUT") return "update";
    if (method == "PATCH") return "patch";
    if (method == "DELETE") return named ? "delete" : "deletecollection";
    return "";
}

/// The part of the raw path after `count` non-empty segments, with its leading slash.
std::string rest_after(std::string_view path, std::size_t count) {
    std::size_t at = 0;
    while (count > 0 && at < path.size()) {
        while (at < path.size() && path[at] == '/')
            ++at;
        while (at < path.size() && path[at] != '/')
            ++at;
        --count;
    }
    return std::string(path.substr(at));
}

}  // namespace

bool passes_body_on(const net::Request& head) {
    if (head.path.find("/proxy") == std::string::npos) return false;
    const Route route = parse_route(head);
    return route.is_resource && route.group.empty() && route.subresource == "proxy" &&
           (route.plural == "pods" || route.plural == "services");
}

Route parse_route(const net::Request& request) {
    Route route;
    route.path = request.path;
    route.verb = to_lower(request.method);
    const std::vector<std::string> segments = segments_of(request.path);
    std::size_t at = 0;
    if (segments.size() >= 3 && segments[0] == "api") {
        route.version = segments[1];
        at = 2;
    } else if (segments.size() >= 4 && segments[0] == "apis") {
        route.group = segments[1];
        route.version = segments[2];
        at = 3;
    } else {
        return route;
    }
    bool watch = net::query_flag(request, "watch");
    if (segments[at] == "watch" && segments.size() > at + 1) {
        watch = true;
        ++at;
    }
    if (segments[at] == "namespaces" && segments.size() > at + 2 && segments[at + 2] != "status" &&
        segments[at + 2] != "finalize") {
        route.ns = segments[at + 1];
        at += 2;
    }
    route.is_resource = true;
    route.plural = segments[at];
    if (segments.size() > at + 1) route.name = segments[at + 1];
    if (segments.size() > at + 2) route.subresource = segments[at + 2];
    if (segments.size() > at + 3 || (route.subresource == "proxy" && request.path.back() == '/')) {
        route.rest = rest_after(request.path, at + 3);
    }
    const std::string verb = verb_of_method(request.method, !route.name.empty());
    if (!verb.empty()) route.verb = verb;
    if (watch && (route.verb == "list" || route.verb == "get") && route.subresource.empty()) {
        route.verb = "watch";
    }
    return route;
}

}  // namespace muster::apiserver

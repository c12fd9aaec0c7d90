// apiserver/route.h - what a request asks for: its path and method taken apart as Kubernetes does.
#pragma once

#include <string>
#include <string_view>

#include "net/http.h"

namespace muster::apiserver {

/// The parts of a request's path and its verb, as rights are asked for them.
struct Route {
    bool is_resource = false;  // Below /api/v1 or /apis/GROUP/VERSION.
    std::string path;
    std::string verb;  // get, list, watch, create, update, patch, delete, deletecollection; else
                       // the method in small letters.
    std::string group;
    std::string version;
    std::string ns;
    std::string plural;
    std::string name;
    std::string subresource;
    std::string rest;  // After the subresource, with its "/": what a proxy passes on.
};

Route parse_route(const net::Request& request);

/// True when the request's body goes on to a pod as it comes, of whatever size.
bool passes_body_on(const net::Request& head);

}  // namespace muster::apiserver

// apiserver/service_endpoint.h - a pod behind a service that is ready.
#pragma once

#include <optional>
#include <string>

#include "api/value.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

struct Endpoint {
    std::string address;
    int port = 0;
};

/// An endpoint of the service's slices that is ready, for one of the service's ports.
std::optional<Endpoint> ready_endpoint(Context& context, const std::string& ns,
                                       const std::string& service, const api::Value& port);

}  // namespace muster::apiserver

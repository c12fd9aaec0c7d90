// apiserver/service_endpoint.cpp - reads the slices of a service.
#include "apiserver/service_endpoint.h"

#include "apiserver/stored.h"

namespace muster::apiserver {

using api::Value;

std::optional<Endpoint> ready_endpoint(Context& context, const std::string& ns,
                                       const std::string& service, const Value& port) {
    const api::Kind* kind = api::find_kind("discovery.k8s.io", "endpointslices");
    if (kind == nullptr) return std::nullopt;
    for (const store::Entry& entry : context.store.range(key_prefix(*kind, ns), "", 100'000)) {
        if (entry.value->find(service) == std::string::npos) continue;
        const Value slice = read_stored(*entry.value);
        if (slice["metadata"]["labels"]["kubernetes.io/service-name"].text_or("") != service) {
            continue;
        }
        for (const Value& slice_port : slice["ports"].items()) {
            if (slice_port["name"].text_or("") != port["name"].text_or("")) continue;
            for (const Value& endpoint : slice["endpoints"].items()) {
                if (!endpoint["conditions"]["ready"].boolean_or(true)) continue;
                return Endpoint{endpoint["addresses"][0].text(),
                                static_cast<int>(slice_port["port"].integer_or(0))};
            }
        }
    }
    return std::nullopt;
}

}  // namespace muster::apiserver

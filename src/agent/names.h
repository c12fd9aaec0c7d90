// agent/names.h - services and their endpoints as pods see them: names to addresses, service
// addresses to pods.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/value.h"
#include "kube/cache.h"

namespace muster::agent {

struct Endpoint {
    std::string ip;
    int port = 0;
    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

/// Which pods stand behind each port of each service address.
using Forwards = std::map<Endpoint, std::vector<Endpoint>>;

/// What the DNS server says about a name.
struct NameAnswer {
    enum class Kind { addresses, no_data, no_such_name };
    Kind kind = Kind::no_such_name;
    std::vector<std::string> addresses;
};

/// Services and EndpointSlices. Lives on one thread.
class NameTable {
public:
    void put_service(const kube::ObjectPtr& service);
    void remove_service(const api::Key& key);
    void put_slice(const kube::ObjectPtr& slice);
    void remove_slice(const api::Key& key);

    /// `name` without the final dot, in any case.
    NameAnswer find(std::string_view name) const;

    /// A service's address and port by name; for the service proxy.
    std::vector<api::Value> services_in(const std::string& ns) const;

    Forwards forwards() const;

private:
    using Place = std::pair<std::string, std::string>;  // Namespace, name.
    NameAnswer find_service(const Place& place, const std::string& host) const;
    std::vector<const kube::Object*> slices_of(const Place& service) const;

    std::map<Place, kube::ObjectPtr> services_;
    std::map<Place, kube::ObjectPtr> slices_;
    std::map<Place, std::vector<Place>> slices_by_service_;
};

}  // namespace muster::agent

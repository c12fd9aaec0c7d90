// agent/names.h - services and their endpoints as pods see them: names to addresses, service
// addresses to pods.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
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

/// How much of a service is forwarded at most.
struct ForwardBounds {
    std::size_t addresses = 0;
    std::size_t pods_behind_each = 0;
    std::size_t pods = 0;  // Behind all addresses together; each has one nevertheless.
};

/// What is forwarded for a service.
struct ServiceSeen {
    Forwards addresses;
    std::size_t pods = 0;      // Behind all of them.
    std::size_t left_out = 0;  // Ports for which there was no room.
    std::size_t work = 0;      // Ports and pods that were looked at.
};

/// What the DNS server says about a name.
struct NameAnswer {
    enum class Kind { addresses, no_data, no_such_name };
    Kind kind = Kind::no_such_name;
    std::vector<std::string> addresses;
};

/// Services and EndpointSlices. Lives on one thread.
class NameTable {
public:
    /// `changed` is told which service, or whose pods, did.
    using Changed = std::function<void(const std::string& ns, const std::string& service)>;
    explicit NameTable(Changed changed = [](const std::string&, const std::string&) {})
        : changed_(std::move(changed)) {}

    void put_service(const kube::ObjectPtr& service);
    void remove_service(const api::Key& key);
    void put_slice(const kube::ObjectPtr& slice);
    void remove_slice(const api::Key& key);

    /// Null when there is none.
    kube::ObjectPtr service(const std::string& ns, const std::string& name) const;

    /// `name` without the final dot, in any case.
    NameAnswer find(std::string_view name) const;

    /// A service's address and port by name; for the service proxy.
    std::vector<api::Value> services_in(const std::string& ns) const;

    ServiceSeen forwards_of(const std::string& ns, const std::string& service,
                            const ForwardBounds& bounds) const;

private:
    using Place = std::pair<std::string, std::string>;  // Namespace, name.
    NameAnswer find_service(const Place& place, const std::string& host) const;
    std::vector<const kube::Object*> slices_of(const Place& service) const;

    Changed changed_;
    std::map<Place, kube::ObjectPtr> services_;
    std::map<Place, kube::ObjectPtr> slices_;
    std::map<Place, std::set<Place>> slices_by_service_;
};

}  // namespace muster::agent

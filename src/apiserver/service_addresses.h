// apiserver/service_addresses.h - which ClusterIPs and node ports are taken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/value.h"

namespace muster::apiserver {

/// Addresses of a range, given out one after the other, so that one that was given back is not used
/// again soon. Told of every write to a service.
class ServiceAddresses {
public:
    /// "10.96.0.0/12". Throws Error when it is not an IPv4 range.
    explicit ServiceAddresses(std::string_view cidr);

    /// The first usable address: the service `kubernetes`, which alone may have it.
    std::string first() const;
    /// True of an address of the range; not of its network and broadcast addresses.
    bool contains(std::string_view address) const;
    /// Another service has it, or it is the cluster's own: that of `kubernetes` or of the DNS.
    bool is_taken(std::string_view address) const;
    /// Absent when the range is used up. Does not take it: the write of the service does.
    std::optional<std::string> free_address();
    /// Absent when all are taken. `besides` are on their way.
    std::optional<int> free_port(const std::set<int>& besides) const;
    bool is_port_taken(int port) const { return ports_.contains(port); }
    static bool is_node_port(std::int64_t port);

    /// A service as it is now; null: it is gone.
    void put(const std::string& key, const api::Value& service);

private:
    struct Held {
        std::optional<std::uint32_t> address;
        std::set<int> ports;
    };
    std::uint32_t base_ = 0;
    std::uint32_t size_ = 0;
    std::uint32_t cursor_ = 0;
    std::map<std::string, Held> held_;    // By the service's key.
    std::multiset<std::uint32_t> taken_;  // Older objects may share one, written differently.
    std::set<int> ports_;
};

}  // namespace muster::apiserver

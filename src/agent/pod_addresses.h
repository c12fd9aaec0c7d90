// agent/pod_addresses.h - the addresses of the pods' network, and whose each is.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace muster::agent {

/// May be asked from any thread.
class PodAddresses {
public:
    /// A free address for a pod of `ns`; empty when all are in use.
    std::string take(const std::string& ns);

    /// A pod of an earlier life has it.
    void note(const std::string& ip, const std::string& ns);
    void free(const std::string& ip);

    /// Empty when no pod has the address.
    std::string namespace_of(const std::string& ip) const;

private:
    mutable std::mutex mutex_;
    std::map<std::uint32_t, std::string> used_;
    std::uint32_t last_ = 0;
};

}  // namespace muster::agent

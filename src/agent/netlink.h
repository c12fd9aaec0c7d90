// agent/netlink.h - the few things that the pods' network asks of the kernel: links, addresses,
// routes.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "agent/descriptor.h"

namespace muster::agent {

/// Speaks to the network namespace in which it was made. Every method throws Error when the kernel
/// refuses.
class Netlink {
public:
    Netlink();

    void add_bridge(const std::string& name);
    /// A pair of connected links: `name` here, plugged into `bridge`; `peer` in the network
    /// namespace of process `pid`.
    void add_pair(const std::string& name, const std::string& bridge, const std::string& peer,
                  pid_t pid);
    void set_up(const std::string& name);
    void add_address(const std::string& name, const std::string& ip, int prefix);
    void add_default_route(const std::string& gateway);
    /// Every address of ip/prefix counts as this machine's own.
    void add_local_route(const std::string& ip, int prefix);

private:
    class Builder;
    void ask(Builder& request, const std::string& what);

    Descriptor fd_;
    std::uint32_t sequence_ = 0;
};

}  // namespace muster::agent

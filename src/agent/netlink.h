// agent/netlink.h - the few things that the pods' network asks of the kernel: links, addresses,
// routes.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <sys/types.h>

#include "agent/descriptor.h"

namespace muster::agent {

using HardwareAddress = std::array<std::uint8_t, 6>;

/// One of two connected links.
struct LinkEnd {
    std::string name;
    HardwareAddress address;
};

/// Speaks to the network namespace in which it was made. Every method throws Error when the kernel
/// refuses.
class Netlink {
public:
    Netlink();

    /// A pair of connected links: `here`, and `there` in the network namespace of process `pid`.
    void add_pair(const LinkEnd& here, const LinkEnd& there, pid_t pid);
    void set_up(const std::string& name);
    /// Up, and it never asks who has an address: only neighbors that are told are known.
    void set_up_without_questions(const std::string& name);
    /// What arrives there is passed on.
    void forward_from(const std::string& name);
    /// The link gets no address of IPv6 by itself.
    void leave_without_ipv6(const std::string& name);
    void add_address(const std::string& name, const std::string& ip, int prefix);
    /// The address stands at the other end of the link; who sends to it is `from`, if given.
    void add_route(const std::string& ip, const std::string& name, const std::string& from);
    void add_default_route(const std::string& gateway, const std::string& name);
    void add_unreachable_route(const std::string& ip, int prefix);
    /// For good: nothing is asked or forgotten.
    void add_neighbor(const std::string& ip, const std::string& name, const HardwareAddress& its);
    /// Every address of ip/prefix counts as this machine's own.
    void add_local_route(const std::string& ip, int prefix);

private:
    class Builder;
    int fault_of(Builder& request);
    void ask(Builder& request, const std::string& what);
    void change_flags(const std::string& name, unsigned flags);

    Descriptor fd_;
    std::uint32_t sequence_ = 0;
};

}  // namespace muster::agent

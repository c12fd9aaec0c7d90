// agent/netlink.cpp - see netlink.h.
#include "agent/netlink.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>

#include "base/error.h"

namespace muster::agent {

namespace {

in_addr address_of(const std::string& ip) {
    in_addr address{};
    if (::inet_pton(AF_INET, ip.c_str(), &address) != 1)
        throw Error(Reason::internal_error, "not an IPv4 address: " + ip);
    return address;
}

unsigned index_of(const std::string& link) {
    const unsigned index = ::if_nametoindex(link.c_str());
    if (index == 0) throw Error(Reason::internal_error, "no network link " + link);
    return index;
}

rtmsg route_to(int prefix, unsigned char type, unsigned char scope) {
    rtmsg head{};
    head.rtm_family = AF_INET;
    head.rtm_dst_len = static_cast<std::uint8_t>(prefix);
    head.rtm_table = RT_TABLE_MAIN;
    head.rtm_protocol = RTPROT_STATIC;
    head.rtm_scope = scope;
    head.rtm_type = type;
    return head;
}

}  // namespace

/// One rtnetlink request: header, then a fixed part, then attributes, some of them nested.
class Netlink::Builder {
public:
    Builder(int type, int flags) {
        nlmsghdr header{};
        header.nlmsg_type = static_cast<std::uint16_t>(type);
        header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
        append(&header, sizeof(header));
    }

    template <typename Fixed>
    void fixed(const Fixed& part) {
        append(&part, sizeof(part));
    }

    void attribute(int type, const void* data, std::size_t size) {
        rtattr head{};
        head.rta_type = static_cast<unsigned short>(type);
        head.rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
        append(&head, sizeof(head));
        append(data, size);
    }
    void text(int type, const std::string& value) {
        attribute(type, value.c_str(), value.size() + 1);
    }
    template <typename Number>
    void number(int type, Number value) {
        attribute(type, &value, sizeof(value));
    }

    std::size_t open(int type) {
        const std::size_t at = bytes_.size();
        attribute(type, nullptr, 0);
        return at;
    }
    void close(std::size_t at) {
        const auto length = static_cast<unsigned short>(bytes_.size() - at);
        std::memcpy(bytes_.data() + at, &length, sizeof(length));
    }

    std::string_view finish(std::uint32_t sequence) {
        nlmsghdr header{};
        std::memcpy(&header, bytes_.data(), sizeof(header));
        header.nlmsg_len = static_cast<std::uint32_t>(bytes_.size());
        header.nlmsg_seq = sequence;
        std::memcpy(bytes_.data(), &header, sizeof(header));
        return bytes_;
    }

private:
    void append(const void* data, std::size_t size) {
        if (size > 0) bytes_.append(static_cast<const char*>(data), size);
        bytes_.resize((bytes_.size() + 3) & ~std::size_t{3});
    }
    std::string bytes_;
};

Netlink::Netlink() : fd_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
    if (!fd_)
        throw Error(Reason::internal_error,
                    std::string("cannot configure networks: ") + std::strerror(errno));
}

/// The error number of the kernel's answer.
int Netlink::fault_of(Builder& request) {
    const std::uint32_t sequence = ++sequence_;
    const std::string_view bytes = request.finish(sequence);
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    int fault = 0;
    if (::sendto(fd_.get(), bytes.data(), bytes.size(), 0,
                 reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel)) < 0) {
        fault = errno;
    } else {
        alignas(nlmsghdr) char answer[8192];
        const ssize_t got = ::recv(fd_.get(), answer, sizeof(answer), 0);
        nlmsghdr header{};
        nlmsgerr error{};
        if (got < static_cast<ssize_t>(sizeof(header) + sizeof(error))) {
            fault = got < 0 ? errno : EPROTO;
        } else {
            std::memcpy(&header, answer, sizeof(header));
            std::memcpy(&error, answer + sizeof(header), sizeof(error));
            fault = header.nlmsg_type == NLMSG_ERROR ? -error.error : EPROTO;
        }
    }
    return fault;
}

void Netlink::ask(Builder& request, const std::string& what) {
    if (const int fault = fault_of(request); fault != 0)
        throw Error(Reason::internal_error, "cannot " + what + ": " + std::strerror(fault));
}

void Netlink::add_pair(const LinkEnd& here, const LinkEnd& there, pid_t pid) {
    Builder request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    request.fixed(ifinfomsg{});
    request.text(IFLA_IFNAME, here.name);
    request.number(IFLA_ADDRESS, here.address);
    const std::size_t info = request.open(IFLA_LINKINFO);
    request.text(IFLA_INFO_KIND, "veth");
    const std::size_t data = request.open(IFLA_INFO_DATA);
    const std::size_t other = request.open(VETH_INFO_PEER);
    request.fixed(ifinfomsg{});
    request.text(IFLA_IFNAME, there.name);
    request.number(IFLA_ADDRESS, there.address);
    request.number(IFLA_NET_NS_PID, static_cast<std::uint32_t>(pid));
    request.close(other);
    request.close(data);
    request.close(info);
    ask(request, "make the link " + here.name);
}

void Netlink::set_up(const std::string& name) {
    change_flags(name, IFF_UP);
}

void Netlink::set_up_without_questions(const std::string& name) {
    change_flags(name, IFF_UP | IFF_NOARP);
}

void Netlink::change_flags(const std::string& name, unsigned flags) {
    Builder request(RTM_NEWLINK, 0);
    ifinfomsg link{};
    link.ifi_index = static_cast<int>(index_of(name));
    link.ifi_flags = flags;
    link.ifi_change = flags;
    request.fixed(link);
    ask(request, "set the link " + name + " up");
}

void Netlink::forward_from(const std::string& name) {
    Builder request(RTM_SETLINK, 0);
    ifinfomsg link{};
    link.ifi_index = static_cast<int>(index_of(name));
    request.fixed(link);
    const std::size_t families = request.open(IFLA_AF_SPEC);
    const std::size_t family = request.open(AF_INET);
    const std::size_t settings = request.open(IFLA_INET_CONF);
    request.number(IPV4_DEVCONF_FORWARDING, std::uint32_t{1});
    request.close(settings);
    request.close(family);
    request.close(families);
    ask(request, "pass on what arrives at " + name);
}

void Netlink::leave_without_ipv6(const std::string& name) {
    Builder request(RTM_SETLINK, 0);
    ifinfomsg link{};
    link.ifi_index = static_cast<int>(index_of(name));
    request.fixed(link);
    const std::size_t families = request.open(IFLA_AF_SPEC);
    const std::size_t family = request.open(AF_INET6);
    request.number(IFLA_INET6_ADDR_GEN_MODE, static_cast<std::uint8_t>(IN6_ADDR_GEN_MODE_NONE));
    request.close(family);
    request.close(families);
    const int fault = fault_of(request);
    if (fault == 0 || fault == EAFNOSUPPORT || fault == EOPNOTSUPP) return;  // There is none.
    throw Error(Reason::internal_error,
                "cannot leave " + name + " without IPv6: " + std::strerror(fault));
}

void Netlink::add_address(const std::string& name, const std::string& ip, int prefix) {
    const in_addr address = address_of(ip);
    Builder request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE);
    ifaddrmsg head{};
    head.ifa_family = AF_INET;
    head.ifa_prefixlen = static_cast<std::uint8_t>(prefix);
    head.ifa_index = index_of(name);
    request.fixed(head);
    request.number(IFA_LOCAL, address);
    request.number(IFA_ADDRESS, address);
    ask(request, "give " + name + " the address " + ip);
}

void Netlink::add_route(const std::string& ip, const std::string& name, const std::string& from) {
    Builder request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
    request.fixed(route_to(32, RTN_UNICAST, RT_SCOPE_LINK));
    request.number(RTA_DST, address_of(ip));
    request.number(RTA_OIF, static_cast<std::uint32_t>(index_of(name)));
    if (!from.empty()) request.number(RTA_PREFSRC, address_of(from));
    ask(request, "route to " + ip);
}

void Netlink::add_default_route(const std::string& gateway, const std::string& name) {
    Builder request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
    request.fixed(route_to(0, RTN_UNICAST, RT_SCOPE_UNIVERSE));
    request.number(RTA_GATEWAY, address_of(gateway));
    request.number(RTA_OIF, static_cast<std::uint32_t>(index_of(name)));
    ask(request, "route through " + gateway);
}

void Netlink::add_unreachable_route(const std::string& ip, int prefix) {
    Builder request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
    request.fixed(route_to(prefix, RTN_UNREACHABLE, RT_SCOPE_UNIVERSE));
    request.number(RTA_DST, address_of(ip));
    ask(request, "refuse what goes to " + ip + "/" + std::to_string(prefix));
}

void Netlink::add_neighbor(const std::string& ip, const std::string& name,
                           const HardwareAddress& its) {
    Builder request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE);
    ndmsg head{};
    head.ndm_family = AF_INET;
    head.ndm_ifindex = static_cast<int>(index_of(name));
    head.ndm_state = NUD_PERMANENT;
    request.fixed(head);
    request.number(NDA_DST, address_of(ip));
    request.number(NDA_LLADDR, its);
    ask(request, "tell where " + ip + " is");
}

void Netlink::add_local_route(const std::string& ip, int prefix) {
    Builder request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
    rtmsg head = route_to(prefix, RTN_LOCAL, RT_SCOPE_HOST);
    head.rtm_table = RT_TABLE_LOCAL;
    request.fixed(head);
    request.number(RTA_DST, address_of(ip));
    request.number(RTA_OIF, static_cast<std::uint32_t>(index_of("lo")));
    ask(request, "take the addresses " + ip + "/" + std::to_string(prefix));
}

}  // namespace muster::agent

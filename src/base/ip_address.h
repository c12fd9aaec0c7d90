// base/ip_address.h - IPv4 and IPv6 addresses as values: read from text strictly or as old clients
// wrote them, and the questions that Kubernetes asks of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct IpAddress {
    enum class Family { v4, v6 };
    Family family = Family::v4;
    std::array<std::uint8_t, 16> bytes{};  // The first four of an IPv4 address.

    bool is_v4() const { return family == Family::v4; }
    bool is_unspecified() const;
    bool is_loopback() const;
    bool is_link_local_unicast() const;
    bool is_link_local_multicast() const;
    /// Requires: an IPv4 address.
    std::uint32_t to_number() const;
    /// The canonical text; of IPv6 that of RFC 5952.
    std::string text() const;

    friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

IpAddress ip_of_number(std::uint32_t number);

/// Absent when the text is no address, or one with leading zeros ("010.0.0.1"), which some programs
/// read as octal.
std::optional<IpAddress> parse_ip(std::string_view text);

/// The same, but leading zeros of IPv4 are passed over, as Kubernetes did before version 1.36.
std::optional<IpAddress> parse_ip_sloppily(std::string_view text);

/// An IPv6 text that holds an IPv4 address ("::ffff:10.0.0.1").
bool is_ipv4_in_ipv6(const IpAddress& address);

}  // namespace muster

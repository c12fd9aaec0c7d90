// base/ip_address.cpp - reading and writing IP addresses.
#include "base/ip_address.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.h"
#include "base/verify.h"

namespace muster {
namespace {

enum class Zeros { refused, passed_over };
constexpr std::size_t groups_of_v6 = 8;
constexpr int digits_max = 4096;  // Of one part; the rest is no address.

std::optional<std::uint8_t> octet_of(std::string_view part, Zeros zeros) {
    if (part.empty() || part.size() > digits_max) return std::nullopt;
    if (part.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    if (zeros == Zeros::refused && part.size() > 1 && part.front() == '0') return std::nullopt;
    while (part.size() > 1 && part.front() == '0')
        part.remove_prefix(1);
    if (part.size() > 3) return std::nullopt;
    int number = 0;
    for (const char digit : part)
        number = number * 10 + (digit - '0');
    if (number > 255) return std::nullopt;
    return static_cast<std::uint8_t>(number);
}

std::optional<IpAddress> parse_v4(std::string_view text, Zeros zeros) {
    const auto parts = split(text, '.');
    if (parts.size() != 4) return std::nullopt;
    IpAddress address;
    for (std::size_t i = 0; i < 4; ++i) {
        const auto octet = octet_of(parts[i], zeros);
        if (!octet) return std::nullopt;
        address.bytes[i] = *octet;
    }
    return address;
}

std::optional<std::uint16_t> group_of(std::string_view part) {
    if (part.empty() || part.size() > 4) return std::nullopt;
    unsigned number = 0;
    for (const char c : part) {
        const bool digit = c >= '0' && c <= '9';
        const bool small = c >= 'a' && c <= 'f';
        if (!digit && !small && (c < 'A' || c > 'F')) return std::nullopt;
        number = number << 4 | static_cast<unsigned>(digit ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return static_cast<std::uint16_t>(number);
}

/// The groups on one side of "::", the last of which may be an IPv4 address.
std::optional<std::vector<std::uint16_t>> groups_of(std::string_view text, bool at_end,
                                                    Zeros zeros) {
    std::vector<std::uint16_t> groups;
    if (text.empty()) return groups;
    const auto parts = split(text, ':');
    if (parts.size() > groups_of_v6) return std::nullopt;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (at_end && i + 1 == parts.size() && parts[i].find('.') != std::string_view::npos) {
            const auto inner = parse_v4(parts[i], zeros);
            if (!inner) return std::nullopt;
            const std::uint32_t number = inner->to_number();
            groups.push_back(static_cast<std::uint16_t>(number >> 16));
            groups.push_back(static_cast<std::uint16_t>(number));
            continue;
        }
        const auto group = group_of(parts[i]);
        if (!group) return std::nullopt;
        groups.push_back(*group);
    }
    return groups;
}

std::optional<IpAddress> parse_v6(std::string_view text, Zeros zeros) {
    const std::size_t gap = text.find("::");
    const bool whole = gap == std::string_view::npos;
    const auto before = groups_of(text.substr(0, gap), whole, zeros);
    const auto after =
        whole ? std::vector<std::uint16_t>() : groups_of(text.substr(gap + 2), true, zeros);
    if (!before || !after) return std::nullopt;
    const std::size_t count = before->size() + after->size();
    if (whole ? count != groups_of_v6 : count >= groups_of_v6) return std::nullopt;
    std::vector<std::uint16_t> groups = *before;
    groups.resize(groups_of_v6 - after->size());
    groups.insert(groups.end(), after->begin(), after->end());
    IpAddress address;
    address.family = IpAddress::Family::v6;
    for (std::size_t i = 0; i < groups_of_v6; ++i) {
        address.bytes[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8);
        address.bytes[2 * i + 1] = static_cast<std::uint8_t>(groups[i]);
    }
    return address;
}

std::optional<IpAddress> parse(std::string_view text, Zeros zeros) {
    return text.find(':') == std::string_view::npos ? parse_v4(text, zeros) : parse_v6(text, zeros);
}

/// An IPv4 address that is written as IPv6 is asked about as what it is.
IpAddress unmapped(const IpAddress& address) {
    if (!is_ipv4_in_ipv6(address)) return address;
    IpAddress inner;
    std::copy(address.bytes.begin() + 12, address.bytes.end(), inner.bytes.begin());
    return inner;
}

std::string hex(unsigned number) {
    std::string text;
    for (int shift = 12; shift >= 0; shift -= 4) {
        const unsigned digit = number >> shift & 15U;
        if (text.empty() && digit == 0 && shift > 0) continue;
        text += "0123456789abcdef"[digit];
    }
    return text;
}

/// RFC 5952: the first of the longest runs of two or more zero groups is "::".
std::string v6_text(const std::array<std::uint8_t, 16>& bytes) {
    std::array<unsigned, groups_of_v6> groups{};
    for (std::size_t i = 0; i < groups_of_v6; ++i)
        groups[i] = static_cast<unsigned>(bytes[2 * i]) << 8 | bytes[2 * i + 1];
    std::size_t start = groups_of_v6, length = 1;
    for (std::size_t i = 0; i < groups_of_v6; ++i) {
        std::size_t end = i;
        while (end < groups_of_v6 && groups[end] == 0)
            ++end;
        if (end - i > length) {
            start = i;
            length = end - i;
        }
    }
    std::string text;
    for (std::size_t i = 0; i < groups_of_v6; ++i) {
        if (i == start) {
            text += "::";
            i += length - 1;
            continue;
        }
        if (!text.empty() && text.back() != ':') text += ':';
        text += hex(groups[i]);
    }
    return text;
}

}  // namespace

bool is_ipv4_in_ipv6(const IpAddress& address) {
    if (address.is_v4()) return false;
    const auto& bytes = address.bytes;
    return std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
           bytes[10] == 255 && bytes[11] == 255;
}

bool IpAddress::is_unspecified() const {
    return unmapped(*this).bytes == std::array<std::uint8_t, 16>{};
}

bool IpAddress::is_loopback() const {
    const IpAddress here = unmapped(*this);
    if (here.is_v4()) return here.bytes[0] == 127;
    std::array<std::uint8_t, 16> one{};
    one[15] = 1;
    return here.bytes == one;
}

bool IpAddress::is_link_local_unicast() const {
    const IpAddress here = unmapped(*this);
    if (here.is_v4()) return here.bytes[0] == 169 && here.bytes[1] == 254;
    return here.bytes[0] == 0xfe && (here.bytes[1] & 0xc0) == 0x80;
}

bool IpAddress::is_link_local_multicast() const {
    const IpAddress here = unmapped(*this);
    if (here.is_v4()) return here.bytes[0] == 224 && here.bytes[1] == 0 && here.bytes[2] == 0;
    return here.bytes[0] == 0xff && (here.bytes[1] & 0x0f) == 0x02;
}

std::uint32_t IpAddress::to_number() const {
    VERIFY(is_v4());
    return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
           static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

std::string IpAddress::text() const {
    const IpAddress here = unmapped(*this);
    if (!here.is_v4()) return v6_text(bytes);
    return std::to_string(here.bytes[0]) + "." + std::to_string(here.bytes[1]) + "." +
           std::to_string(here.bytes[2]) + "." + std::to_string(here.bytes[3]);
}

IpAddress ip_of_number(std::uint32_t number) {
    IpAddress address;
    for (std::size_t i = 0; i < 4; ++i)
        address.bytes[i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
    return address;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
    return parse(text, Zeros::refused);
}

std::optional<IpAddress> parse_ip_sloppily(std::string_view text) {
    return parse(text, Zeros::passed_over);
}

}  // namespace muster

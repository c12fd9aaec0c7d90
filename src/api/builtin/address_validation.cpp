// api/builtin/address_validation.cpp - addresses in objects: strictly read, none that is special.
#include "api/builtin/address_validation.h"

#include <algorithm>
#include <string>

#include "api/field_error.h"
#include "base/text.h"

namespace muster::api {
namespace {

bool stood_there(const Value& old, std::string_view text) {
    const auto& items = old.items();
    return std::any_of(items.begin(), items.end(),
                       [&](const Value& item) { return trim(item.text_or("")) == text; });
}

/// The first bits of an address are its prefix; all others must be zero.
bool has_bits_beyond(const IpAddress& address, std::int64_t prefix) {
    const std::int64_t bits = address.is_v4() ? 32 : 128;
    for (std::int64_t bit = prefix; bit < bits; ++bit) {
        const unsigned byte = address.bytes[static_cast<std::size_t>(bit / 8)];
        if ((byte >> (7 - bit % 8) & 1U) != 0) return true;
    }
    return false;
}

}  // namespace

bool is_port(const Value& port) {
    return port.integer_or(0) >= 1 && port.integer_or(0) <= 65535;
}

void check_ip(const Value& text, const Path& path, const Value& old, FieldErrors& errors) {
    const std::string_view shown = text.text_or("");
    if (stood_there(old, shown)) return;
    const auto address = parse_ip_sloppily(shown);
    if (!address) {
        errors.push_back(
            invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    } else if (!parse_ip(shown)) {
        errors.push_back(invalid(path, text, "must not have leading 0s"));
    } else if (is_ipv4_in_ipv6(*address)) {
        errors.push_back(invalid(path, text, "must not be an IPv4-mapped IPv6 address"));
    }
}

void check_cidr(const Value& text, const Path& path, const Value& old, FieldErrors& errors) {
    const std::string given(trim(text.text_or("")));
    if (stood_there(old, given)) return;
    const Value shown(given);
    const auto halves = split_first(given, '/');
    const auto address = halves ? parse_ip_sloppily(halves->before) : std::nullopt;
    const auto prefix =
        halves && halves->after.find_first_not_of("0123456789") == halves->after.npos
            ? parse_integer(halves->after)
            : std::nullopt;
    if (!address || !prefix || *prefix > (address->is_v4() ? 32 : 128)) {
        errors.push_back(invalid(path, shown,
                                 "must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
                                 "2001:db8::/64)"));
    } else if (!parse_ip(halves->before) || std::to_string(*prefix) != halves->after) {
        errors.push_back(invalid(path, shown, "must not have leading 0s in IP or prefix length"));
    } else if (is_ipv4_in_ipv6(*address)) {
        errors.push_back(invalid(path, shown, "must not have an IPv4-mapped IPv6 address"));
    } else if (has_bits_beyond(*address, *prefix)) {
        errors.push_back(invalid(path, shown, "must not have bits set beyond the prefix length"));
    }
}

void check_endpoint_ip(const Value& text, const Path& path, FieldErrors& errors) {
    const auto address = parse_ip_sloppily(text.text_or(""));
    const auto refuse = [&](const std::string& why) { errors.push_back(invalid(path, text, why)); };
    if (!address) {
        refuse("must be a valid IP address");
        return;
    }
    if (address->is_unspecified()) refuse("may not be unspecified (" + text.text() + ")");
    if (address->is_loopback()) refuse("may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (address->is_link_local_unicast())
        refuse("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (address->is_link_local_multicast())
        refuse("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

}  // namespace muster::api

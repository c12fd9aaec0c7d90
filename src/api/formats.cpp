// api/formats.cpp - the formats of texts in a CustomResourceDefinition's schema.
#include <array>
#include <charconv>
#include <string_view>

#include <re2/re2.h>

#include "api/checks.h"
#include "base/text.h"
#include "base/time.h"

namespace muster::api {
namespace {

bool is_number_up_to(std::string_view text, int most) {
    const auto number = parse_integer(text);
    return number && *number >= 0 && *number <= most && !text.starts_with('+');
}

bool is_date(std::string_view text) {
    return text.size() == 10 && parse_rfc3339(std::string(text) + "T00:00:00Z").has_value();
}

bool is_ipv4(std::string_view text) {
    const auto parts = split(text, '.');
    if (parts.size() != 4) return false;
    for (const std::string_view part : parts) {
        if (part.size() > 1 && part.front() == '0') return false;
        if (!is_number_up_to(part, 255)) return false;
    }
    return true;
}

bool is_hex_group(std::string_view text) {
    if (text.empty() || text.size() > 4) return false;
    return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// How many groups of 16 bits a part of an IPv6 address is; -1: none.
int ipv6_groups(std::string_view part) {
    if (part.empty()) return 0;
    const auto groups = split(part, ':');
    int count = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const bool last = i + 1 == groups.size();
        if (last && is_ipv4(groups[i])) {
            count += 2;
        } else if (is_hex_group(groups[i])) {
            ++count;
        } else {
            return -1;
        }
    }
    return count;
}

bool is_ipv6(std::string_view text) {
    const std::size_t gap = text.find("::");
    if (gap == std::string_view::npos) return ipv6_groups(text) == 8;
    const int before = ipv6_groups(text.substr(0, gap));
    const int after = ipv6_groups(text.substr(gap + 2));
    return before >= 0 && after >= 0 && before + after < 8;
}

bool is_cidr(std::string_view text) {
    const auto halves = split_last(text, '/');
    if (!halves) return false;
    return (is_ipv4(halves->before) && is_number_up_to(halves->after, 32)) ||
           (is_ipv6(halves->before) && is_number_up_to(halves->after, 128));
}

/// As Go writes durations ("1h30m"), or a number of days and the like in words.
bool is_duration(const std::string& text) {
    static const RE2 go(R"([-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+))");
    static const RE2 words(
        R"(\s*\d+\s*(n|ns|nano|u|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|week)\w*)"
        R"((\s+\d+\s*(n|ns|nano|u|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|week)\w*)*)");
    return RE2::FullMatch(text, go) || RE2::FullMatch(text, words);
}

bool is_base64_text(const std::string& text) {
    static const RE2 form("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?");
    return RE2::FullMatch(text, form);
}

bool is_host_name(const std::string& text) {
    static const RE2 form(
        R"(([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}]([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}]))(\.([a-zA-Z0-9\p{S}\p{L}]([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?))*))");
    return text.size() <= 255 && RE2::FullMatch(text, form);
}

bool is_uuid(const std::string& text) {
    static const RE2 form("(?i)[0-9A-F]{8}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{12}");
    return RE2::FullMatch(text, form);
}

bool is_mail(const std::string& text) {
    static const RE2 form(R"(([^<>]*<)?[^\s@<>,;:"()\[\]]+@[^\s@<>,;:"()]+>?)");
    return RE2::FullMatch(text, form);
}

/// A reference with a scheme, or an absolute path.
bool is_uri(const std::string& text) {
    static const RE2 form(R"(([A-Za-z][A-Za-z0-9+.-]*:[^\s]*|/[^\s]*))");
    return RE2::FullMatch(text, form);
}

bool is_mac(const std::string& text) {
    static const RE2 form(
        "([0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}([:-][0-9A-Fa-f]{2}){0,2}|"
        "[0-9A-Fa-f]{4}(\\.[0-9A-Fa-f]{4}){2,3})");
    return RE2::FullMatch(text, form);
}

struct Format {
    std::string_view name;
    bool (*holds)(const std::string& text);
};

constexpr std::array<Format, 18> formats = {{
    {"date-time", [](const std::string& text) { return parse_rfc3339(text).has_value(); }},
    {"datetime", [](const std::string& text) { return parse_rfc3339(text).has_value(); }},
    {"date", [](const std::string& text) { return is_date(text); }},
    {"duration", is_duration},
    {"byte", is_base64_text},
    {"ipv4", [](const std::string& text) { return is_ipv4(text); }},
    {"ipv6", [](const std::string& text) { return is_ipv6(text); }},
    {"cidr", [](const std::string& text) { return is_cidr(text); }},
    {"hostname", is_host_name},
    {"email", is_mail},
    {"uri", is_uri},
    {"mac", is_mac},
    {"uuid", is_uuid},
    {"uuid3", is_uuid},
    {"uuid4", is_uuid},
    {"uuid5", is_uuid},
    {"password", [](const std::string&) { return true; }},
    {"hexcolor",
     [](const std::string& text) {
         static const RE2 form("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})");
         return RE2::FullMatch(text, form);
     }},
}};

}  // namespace

bool has_format(const std::string& format, const std::string& text) {
    for (const Format& each : formats) {
        if (each.name == format) return each.holds(text);
    }
    return true;
}

}  // namespace muster::api

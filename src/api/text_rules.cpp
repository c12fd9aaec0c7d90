// api/text_rules.cpp - the shapes of names, labels and keys that Kubernetes accepts.
#include "api/text_rules.h"

#include <cstdint>

namespace muster::api {
namespace {

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

std::string longer_than(std::size_t max) {
    return "must be no more than " + std::to_string(max) + " characters";
}

/// Lower case letters, digits and '-', the ends being letters or digits.
bool is_label(std::string_view text) {
    if (text.empty() || text.front() == '-' || text.back() == '-') return false;
    for (const char c : text) {
        if (!is_lower(c) && !is_digit(c) && c != '-') return false;
    }
    return true;
}

bool is_subdomain(std::string_view text) {
    while (true) {
        const std::size_t dot = text.find('.');
        if (!is_label(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

/// Letters, digits, '-', '_' and '.', the ends being letters or digits.
bool is_name(std::string_view text) {
    if (text.empty()) return false;
    const auto end = [](char c) { return is_letter(c) || is_digit(c); };
    if (!end(text.front()) || !end(text.back())) return false;
    for (const char c : text) {
        if (!end(c) && c != '-' && c != '_' && c != '.') return false;
    }
    return true;
}

}  // namespace

std::optional<std::string> wrong_dns_label(std::string_view text) {
    if (text.size() > 63) return longer_than(63);
    if (is_label(text)) return std::nullopt;
    return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
           "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
           "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

std::optional<std::string> wrong_dns_1035_label(std::string_view text) {
    if (text.size() > 63) return longer_than(63);
    if (is_label(text) && is_lower(text.front())) return std::nullopt;
    return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
           "an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
           "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
}

std::optional<std::string> wrong_dns_subdomain(std::string_view text) {
    if (text.size() > 253) return longer_than(253);
    if (is_subdomain(text)) return std::nullopt;
    return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
           "or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
           "regex used for validation is "
           "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
}

std::optional<std::string> wrong_path_segment(std::string_view text) {
    if (text == "." || text == "..") return "may not be '" + std::string(text) + "'";
    if (text.find('/') != std::string_view::npos) return "may not contain '/'";
    if (text.find('%') != std::string_view::npos) return "may not contain '%'";
    return std::nullopt;
}

std::optional<std::string> wrong_qualified_name(std::string_view text) {
    std::string_view name = text;
    if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
        const std::string_view prefix = text.substr(0, slash);
        name = text.substr(slash + 1);
        if (prefix.empty()) return "prefix part must be non-empty";
        if (auto wrong = wrong_dns_subdomain(prefix)) return "prefix part " + *wrong;
    }
    if (name.empty()) return "name part must be non-empty";
    if (name.size() > 63) return "name part " + longer_than(63);
    if (is_name(name)) return std::nullopt;
    return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
           "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
           "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
}

std::optional<std::string> wrong_label_value(std::string_view text) {
    if (text.empty()) return std::nullopt;
    if (text.size() > 63) return longer_than(63);
    if (is_name(text)) return std::nullopt;
    return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
           "or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
           "'my_value',  or '12345', regex used for validation is "
           "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

std::optional<std::string> wrong_environment_name(std::string_view text) {
    bool fine = !text.empty();
    for (const char c : text)
        fine = fine && c >= ' ' && c <= '~' && c != '=';
    if (fine) return std::nullopt;
    return "a valid environment variable name must consist only of printable ASCII characters "
           "other than '='";
}

std::optional<std::string> wrong_config_key(std::string_view text) {
    if (text.size() > 253) return longer_than(253);
    bool fine = !text.empty();
    for (const char c : text) {
        fine = fine && (is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.');
    }
    if (!fine) {
        return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
               "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
               "'[-._a-zA-Z0-9]+')";
    }
    if (text == ".") return "must not be '.'";
    if (text.starts_with("..")) return "must not start with '..'";
    return std::nullopt;
}

std::optional<std::string> wrong_port_name(std::string_view text) {
    if (text.size() > 15) return longer_than(15);
    bool has_letter = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_lower(text[i])) has_letter = true;
        if (!is_lower(text[i]) && !is_digit(text[i]) && text[i] != '-') {
            return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
        }
        if (text[i] == '-' && i > 0 && text[i - 1] == '-') {
            return "must not contain consecutive hyphens";
        }
    }
    if (!has_letter) return "must contain at least one letter (a-z)";
    if (text.front() == '-' || text.back() == '-') return "must not begin or end with a hyphen";
    return std::nullopt;
}

std::optional<std::string> wrong_port_number(std::int64_t port) {
    if (port >= 1 && port <= 65535) return std::nullopt;
    return "must be between 1 and 65535, inclusive";
}

}  // namespace muster::api

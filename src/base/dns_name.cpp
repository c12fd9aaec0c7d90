// base/dns_name.cpp - the name checks of Kubernetes, by hand instead of by regular expression.
#include "base/dns_name.h"

#include <algorithm>
#include <initializer_list>

#include "base/text.h"

namespace muster {
namespace {

constexpr std::size_t label_max = 63;
constexpr std::size_t subdomain_max = 253;

constexpr const char* dns1123_label_pattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr const char* dns1123_subdomain_pattern =
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_lower_or_digit(char c) {
    return is_lower(c) || is_digit(c);
}
bool is_letter(char c) {
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}
bool is_letter_or_digit(char c) {
    return is_letter(c) || is_digit(c);
}

bool is_dns1123_label(std::string_view text) {
    return !text.empty() && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_dns1123_subdomain(std::string_view text) {
    const std::vector<std::string_view> labels = split(text, '.');
    return std::all_of(labels.begin(), labels.end(), is_dns1123_label);
}

/// The form of a label's value and of the name part of its key.
bool is_label_text(std::string_view text) {
    return !text.empty() && is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
           });
}

std::string too_long(std::size_t length, const char* unit) {
    return "must be no more than " + std::to_string(length) + " " + unit;
}

std::string pattern_fault(std::string text, const char* pattern,
                          std::initializer_list<const char*> examples) {
    text += " (e.g. ";
    bool first = true;
    for (const char* example : examples) {
        if (!first) text += " or ";
        first = false;
        text += std::string("'") + example + "', ";
    }
    return text + "regex used for validation is '" + pattern + "')";
}

/// `unit` is what the length is counted in: apimachinery's words differ from place to place.
std::vector<std::string> subdomain_faults(std::string_view name, const char* unit) {
    std::vector<std::string> faults;
    if (name.size() > subdomain_max) faults.push_back(too_long(subdomain_max, unit));
    if (!is_dns1123_subdomain(name)) {
        faults.push_back(pattern_fault(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character",
            dns1123_subdomain_pattern, {"example.com"}));
    }
    return faults;
}

/// A key that is mounted as a file must not name a folder above.
void add_upward_path_faults(std::vector<std::string>& faults, std::string_view key) {
    if (key == ".") {
        faults.emplace_back("must not be '.'");
    } else if (key == "..") {
        faults.emplace_back("must not be '..'");
    } else if (key.starts_with("..")) {
        faults.emplace_back("must not start with '..'");
    }
}

}  // namespace

std::vector<std::string> dns1123_label_faults(std::string_view name) {
    std::vector<std::string> faults;
    if (name.size() > label_max) faults.push_back(too_long(label_max, "characters"));
    if (is_dns1123_label(name)) return faults;
    if (is_dns1123_subdomain(name)) {
        faults.emplace_back("must not contain dots");
    } else {
        faults.push_back(pattern_fault(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
            "'-', and must start and end with an alphanumeric character",
            dns1123_label_pattern, {"my-name", "123-abc"}));
    }
    return faults;
}

std::vector<std::string> dns1123_subdomain_faults(std::string_view name) {
    return subdomain_faults(name, "characters");
}

std::vector<std::string> dns1035_label_faults(std::string_view name) {
    std::vector<std::string> faults;
    if (name.size() > label_max) faults.push_back(too_long(label_max, "characters"));
    if (!is_dns1123_label(name) || !is_lower(name.front())) {
        faults.push_back(pattern_fault(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
            "with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"}));
    }
    return faults;
}

std::vector<std::string> label_key_faults(std::string_view key) {
    const std::string name_fault = pattern_fault(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character",
        "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", {"MyName", "my.name", "123-abc"});
    const std::vector<std::string_view> parts = split(key, '/');
    if (parts.size() > 2) {
        return {"a valid label key " + name_fault +
                " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    std::vector<std::string> faults;
    if (parts.size() == 2 && parts[0].empty()) {
        faults.emplace_back("prefix part must be non-empty");
    } else if (parts.size() == 2) {
        for (const std::string& fault : subdomain_faults(parts[0], "bytes"))
            faults.push_back("prefix part " + fault);
    }
    const std::string_view name = parts.back();
    if (name.empty()) faults.emplace_back("name part must be non-empty");
    if (name.size() > label_max) faults.push_back("name part " + too_long(label_max, "bytes"));
    if (!is_label_text(name)) faults.push_back("name part " + name_fault);
    return faults;
}

std::vector<std::string> label_value_faults(std::string_view value) {
    std::vector<std::string> faults;
    if (value.size() > label_max) faults.push_back(too_long(label_max, "bytes"));
    if (!value.empty() && !is_label_text(value)) {
        faults.push_back(pattern_fault(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', "
            "'_' or '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", {"MyValue", "my_value", "12345"}));
    }
    return faults;
}

std::vector<std::string> config_map_key_faults(std::string_view key) {
    std::vector<std::string> faults;
    if (key.size() > subdomain_max) faults.push_back(too_long(subdomain_max, "characters"));
    const bool good = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
        return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
    });
    if (!good) {
        faults.push_back(pattern_fault(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+", {"key.name", "KEY_NAME", "key-name"}));
    }
    add_upward_path_faults(faults, key);
    return faults;
}

std::vector<std::string> environment_name_faults(std::string_view name) {
    if (name.empty()) return {"environment variable name must be non-empty"};
    const bool good = std::all_of(name.begin(), name.end(),
                                  [](char c) { return c >= 0x20 && c < 0x7f && c != '='; });
    if (good) return {};
    return {
        "a valid environment variable name must consist only of printable ASCII characters other "
        "than '='"};
}

std::vector<std::string> port_name_faults(std::string_view name) {
    std::vector<std::string> faults;
    if (name.size() > 15) faults.push_back(too_long(15, "characters"));
    const bool good = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return is_lower_or_digit(c) || c == '-';
    });
    if (!good) {
        faults.emplace_back(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if (std::none_of(name.begin(), name.end(), is_lower))
        faults.emplace_back("must contain at least one letter (a-z)");
    if (name.find("--") != std::string_view::npos)
        faults.emplace_back("must not contain consecutive hyphens");
    if (!name.empty() && (name.front() == '-' || name.back() == '-'))
        faults.emplace_back("must not begin or end with a hyphen");
    return faults;
}

std::vector<std::string> path_segment_faults(std::string_view name) {
    if (name == "." || name == "..") return {"may not be '" + std::string(name) + "'"};
    std::vector<std::string> faults;
    if (name.find('/') != std::string_view::npos) faults.emplace_back("may not contain '/'");
    if (name.find('%') != std::string_view::npos) faults.emplace_back("may not contain '%'");
    return faults;
}

}  // namespace muster

// api/json_writer.cpp - value tree to JSON text: compact for wire and store, indented for people.
#include <array>
#include <charconv>
#include <cmath>

#include "api/json.h"
#include "base/verify.h"

namespace muster::api {
namespace {

/// What stands behind the backslash for a byte that must be escaped; 'u' for \u00XX, 0 for none.
constexpr std::array<char, 256> escapes = [] {
    std::array<char, 256> table{};
    for (std::size_t c = 0; c < 0x20; ++c)
        table[c] = 'u';
    table['"'] = '"';
    table['\\'] = '\\';
    table['\b'] = 'b';
    table['\f'] = 'f';
    table['\n'] = 'n';
    table['\r'] = 'r';
    table['\t'] = 't';
    return table;
}();

void append_string(std::string& out, std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    out += '"';
    std::size_t plain_from = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const char escape = escapes[byte];
        if (escape == 0) continue;
        out.append(text, plain_from, i - plain_from);
        plain_from = i + 1;
        out += '\\';
        out += escape;
        if (escape == 'u') {
            out += "00";
            out += hex[byte >> 4];
            out += hex[byte & 15];
        }
    }
    out.append(text, plain_from, text.size() - plain_from);
    out += '"';
}

/// As Go's encoding/json: shortest digits, an exponent only below 1e-6 and from 1e21 on.
void append_real(std::string& out, double value) {
    VERIFY(std::isfinite(value));
    const double size = std::abs(value);
    const bool exponent = size != 0 && (size < 1e-6 || size >= 1e21);
    char text[64];
    const auto written =
        std::to_chars(text, text + sizeof text, value,
                      exponent ? std::chars_format::scientific : std::chars_format::fixed);
    VERIFY(written.ec == std::errc());
    std::string_view digits(text, static_cast<std::size_t>(written.ptr - text));
    // "1e-07" is written "1e-7".
    if (exponent && digits.size() > 4 && digits[digits.size() - 4] == 'e' &&
        digits[digits.size() - 3] == '-' && digits[digits.size() - 2] == '0') {
        out += digits.substr(0, digits.size() - 2);
        out += digits.back();
    } else {
        out += digits;
    }
}

void append_scalar(std::string& out, const Value& value) {
    switch (value.type()) {
        case Value::Type::boolean:
            out += value.as_boolean() ? "true" : "false";
            break;
        case Value::Type::integer: {
            char text[24];
            const auto written = std::to_chars(text, text + sizeof text, value.as_integer());
            out.append(text, written.ptr);
            break;
        }
        case Value::Type::real:
            append_real(out, value.as_real());
            break;
        case Value::Type::string:
            append_string(out, value.as_string());
            break;
        default:
            out += "null";
    }
}

void append_pretty(std::string& out, const Value& value, std::size_t indent) {
    const auto new_line = [&](std::size_t depth) {
        out += '\n';
        out.append(depth * 4, ' ');
    };
    const bool object = value.is_object();
    if (value.empty() || !(object || value.is_array())) {
        append_json(out, value);
        return;
    }
    out += object ? '{' : '[';
    bool first = true;
    const auto item_starts = [&] {
        if (!first) out += ',';
        first = false;
        new_line(indent + 1);
    };
    for (const Value::Member& member : value.members()) {
        item_starts();
        append_string(out, member.key);
        out += ": ";
        append_pretty(out, member.value, indent + 1);
    }
    for (const Value& item : value.items()) {
        item_starts();
        append_pretty(out, item, indent + 1);
    }
    new_line(indent);
    out += object ? '}' : ']';
}

}  // namespace

void append_json(std::string& out, const Value& value) {
    if (value.is_object()) {
        char before = '{';
        for (const Value::Member& member : value.members()) {
            out += before;
            before = ',';
            append_string(out, member.key);
            out += ':';
            append_json(out, member.value);
        }
        if (before == '{') out += before;
        out += '}';
    } else if (value.is_array()) {
        char before = '[';
        for (const Value& item : value.items()) {
            out += before;
            before = ',';
            append_json(out, item);
        }
        if (before == '[') out += before;
        out += ']';
    } else {
        append_scalar(out, value);
    }
}

std::string to_json(const Value& value) {
    std::string out;
    append_json(out, value);
    return out;
}

std::string to_pretty_json(const Value& value) {
    std::string out;
    append_pretty(out, value, 0);
    return out;
}

}  // namespace muster::api

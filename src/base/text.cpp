// base/text.cpp - small operations on text.
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace muster {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";
constexpr std::string_view standard_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

template <class Part>
std::string join_parts(const std::vector<Part>& parts, std::string_view between) {
    std::string text;
    for (const Part& part : parts) {
        if (&part != &parts.front()) text += between;
        text += part;
    }
    return text;
}

unsigned byte_at(std::string_view bytes, std::size_t at) {
    return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
}

enum class Padding { with, without };

std::string encode_base64(std::string_view bytes, std::string_view alphabet, Padding padding) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const unsigned group =
            byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
        const std::size_t digits = std::min<std::size_t>(bytes.size() - i, 3) + 1;
        for (std::size_t digit = 0; digit < 4; ++digit) {
            if (digit < digits) {
                text += alphabet[group >> (18 - 6 * digit) & 63];
            } else if (padding == Padding::with) {
                text += '=';
            }
        }
    }
    return text;
}

std::array<signed char, 256> values_of(std::string_view alphabet) {
    std::array<signed char, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        values[static_cast<unsigned char>(alphabet[i])] = static_cast<signed char>(i);
    return values;
}

std::optional<std::string> decode_base64(std::string_view text, std::string_view alphabet,
                                         Padding padding) {
    const std::array<signed char, 256> values = values_of(alphabet);
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 3);
    unsigned group = 0;
    int digits = 0;
    int pads = 0;
    for (const char c : text) {
        if (padding == Padding::with && (c == '\n' || c == '\r')) continue;
        if (padding == Padding::with && c == '=' && digits >= 2 && digits + pads < 4) {
            ++pads;
            continue;
        }
        const int value = values[static_cast<unsigned char>(c)];
        if (value < 0 || pads > 0) return std::nullopt;
        group = group << 6 | static_cast<unsigned>(value);
        if (++digits < 4) continue;
        for (const int shift : {16, 8, 0})
            bytes += static_cast<char>(group >> shift & 255);
        group = 0;
        digits = 0;
    }
    if (digits == 1) return std::nullopt;
    if (padding == Padding::with && digits > 0 && digits + pads != 4) return std::nullopt;
    if (digits >= 2) bytes += static_cast<char>(group >> (digits == 2 ? 4 : 10) & 255);
    if (digits == 3) bytes += static_cast<char>(group >> 2 & 255);
    return bytes;
}

void append_hex_escape(std::string& text, char c) {
    const auto byte = static_cast<unsigned char>(c);
    text += "\\x";
    text += hex_digits[byte >> 4];
    text += hex_digits[byte & 15];
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (const std::optional<Halves> halves = split_first(text, separator)) {
        parts.push_back(halves->before);
        text = halves->after;
    }
    parts.push_back(text);
    return parts;
}

std::optional<Halves> split_first(std::string_view text, char separator) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) return std::nullopt;
    return Halves{text.substr(0, at), text.substr(at + 1)};
}

std::optional<Halves> split_last(std::string_view text, char separator) {
    const std::size_t at = text.rfind(separator);
    if (at == std::string_view::npos) return std::nullopt;
    return Halves{text.substr(0, at), text.substr(at + 1)};
}

std::string join(const std::vector<std::string>& parts, std::string_view between) {
    return join_parts(parts, between);
}

std::string join(const std::vector<std::string_view>& parts, std::string_view between) {
    return join_parts(parts, between);
}

std::string_view trim(std::string_view text) {
    const std::size_t from = text.find_first_not_of(" \t\r\n");
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

std::string to_lower(std::string_view text) {
    std::string lowered(text);
    for (char& c : lowered)
        c = lower(c);
    return lowered;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (lower(a[i]) != lower(b[i])) return false;
    }
    return true;
}

std::string replace_all(std::string_view text, std::string_view what, std::string_view with) {
    std::string replaced;
    std::size_t from = 0;
    while (!what.empty()) {
        const std::size_t at = text.find(what, from);
        if (at == std::string_view::npos) break;
        replaced += text.substr(from, at - from);
        replaced += with;
        from = at + what.size();
    }
    replaced += text.substr(from);
    return replaced;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return value;
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const char c = text[0];
        const std::size_t length = utf8_length(text);
        const std::size_t special = std::string_view("\"\\\a\b\f\n\r\t\v").find(c);
        if (length > 1) {
            out += text.substr(0, length);
        } else if (special != std::string_view::npos) {
            out += '\\';
            out += "\"\\abfnrtv"[special];
        } else if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            append_hex_escape(out, c);
        } else {
            out += c;
        }
        text.remove_prefix(length > 0 ? length : 1);
    }
    return out + '"';
}

std::string to_hex(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        text += hex_digits[static_cast<unsigned char>(c) >> 4];
        text += hex_digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

std::string to_base64(std::string_view bytes) {
    return encode_base64(bytes, standard_alphabet, Padding::with);
}

std::string to_base64url(std::string_view bytes) {
    return encode_base64(bytes, url_alphabet, Padding::without);
}

std::optional<std::string> from_base64(std::string_view text) {
    return decode_base64(text, standard_alphabet, Padding::with);
}

std::optional<std::string> from_base64url(std::string_view text) {
    return decode_base64(text, url_alphabet, Padding::without);
}

std::size_t utf8_length(std::string_view text) {
    if (text.empty()) return 0;
    const unsigned first = byte_at(text, 0);
    const unsigned second = byte_at(text, 1);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
    }
    // Overlong forms, surrogates and what lies beyond U+10FFFF.
    const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return bad ? 0 : length;
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;
    std::size_t end = most;
    const auto continues = [&](std::size_t at) {
        return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    };
    while (end > 0 && most - end < 3 && continues(end))
        --end;
    return text.substr(0, end);
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace muster

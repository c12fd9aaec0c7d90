// api/cel_text.cpp - quotes, escapes, raw texts of CEL.
#include "api/cel_text.h"

#include <charconv>
#include <cstdint>

namespace muster::api {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
    const auto byte = [&out](std::uint32_t bits) { out += static_cast<char>(bits); };
    if (code < 0x80) {
        byte(code);
    } else if (code < 0x800) {
        byte(0xc0 | code >> 6);
        byte(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        byte(0xe0 | code >> 12);
        byte(0x80 | (code >> 6 & 0x3f));
        byte(0x80 | (code & 0x3f));
    } else {
        byte(0xf0 | code >> 18);
        byte(0x80 | (code >> 12 & 0x3f));
        byte(0x80 | (code >> 6 & 0x3f));
        byte(0x80 | (code & 0x3f));
    }
}

/// Reads what follows a backslash; its length, or 0 when it is no escape.
std::size_t read_escape(std::string_view source, std::string& out) {
    static constexpr std::string_view letters = "abfnrtv\\'\"`?";
    static constexpr std::string_view meant = "\a\b\f\n\r\t\v\\'\"`?";
    const std::size_t known = letters.find(source[0]);
    if (known != std::string_view::npos) {
        out += meant[known];
        return 1;
    }
    std::size_t digits = 0;
    int base = 16;
    std::size_t from = 1;
    if (source[0] == 'x' || source[0] == 'X') digits = 2;
    if (source[0] == 'u') digits = 4;
    if (source[0] == 'U') digits = 8;
    if (source[0] >= '0' && source[0] <= '3') {
        digits = 3;
        base = 8;
        from = 0;
    }
    if (digits == 0 || source.size() < from + digits) return 0;
    std::uint32_t code = 0;
    const char* end = source.data() + from + digits;
    const auto result = std::from_chars(source.data() + from, end, code, base);
    if (result.ec != std::errc() || result.ptr != end) return 0;
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
    append_utf8(out, code);
    return from + digits;
}

}  // namespace

std::size_t characters_in(std::string_view text) {
    std::size_t count = 0;
    for (const char c : text)
        count += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
    return count;
}

CelText read_cel_text(std::string_view source) {
    CelText read;
    const bool raw = source[0] == 'r' || source[0] == 'R';
    std::size_t at = raw ? 1 : 0;
    std::string_view quote = source.substr(at, 3);
    const bool triple = quote == R"(""")" || quote == "'''";
    if (!triple) quote = source.substr(at, 1);
    at += quote.size();
    while (at < source.size()) {
        if (source.substr(at).starts_with(quote)) {
            read.length = at + quote.size();
            return read;
        }
        if (source[at] == '\n' && !triple) break;
        if (source[at] != '\\' || raw) {
            read.text += source[at++];
            continue;
        }
        const std::size_t taken =
            at + 1 < source.size() ? read_escape(source.substr(at + 1), read.text) : 0;
        if (taken == 0) {
            read.error = "an escape that is none";
            return read;
        }
        at += 1 + taken;
    }
    read.error = "a text without an end";
    return read;
}

}  // namespace muster::api

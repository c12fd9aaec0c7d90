// net/http.cpp - header fields, percent coding and query splitting.
#include "net/http.h"

#include <cstdint>

#include "base/text.h"

namespace muster::net {
namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string decode(std::string_view text, char blank) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        if (low >= 0) {
            out += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            out += text[i] == blank ? ' ' : text[i];
        }
    }
    return out;
}

}  // namespace

bool has_token(std::string_view list, std::string_view token) {
    while (!list.empty()) {
        const std::size_t end = list.find(',');
        std::string_view item = list.substr(0, end);
        list = end == std::string_view::npos ? "" : list.substr(end + 1);
        while (item.starts_with(' ') || item.starts_with('\t'))
            item.remove_prefix(1);
        while (item.ends_with(' ') || item.ends_with('\t'))
            item.remove_suffix(1);
        if (equal_ignoring_case(item, token)) return true;
    }
    return false;
}

std::string_view Headers::get(std::string_view name) const {
    for (const auto& [key, value] : fields) {
        if (equal_ignoring_case(key, name)) return value;
    }
    return "";
}

void Responder::write_rope(RopePtr rope) {
    for (const Rope::Piece& piece : rope->pieces()) {
        const bool whole = piece.size == piece.bytes->size();
        write(whole ? piece.bytes : make_bytes(piece.bytes->substr(0, piece.size)));
    }
}

bool Headers::has(std::string_view name) const {
    for (const auto& [key, value] : fields) {
        if (equal_ignoring_case(key, name)) return true;
    }
    return false;
}

void Headers::set(std::string_view name, std::string value) {
    std::erase_if(fields,
                  [&](const auto& field) { return equal_ignoring_case(field.first, name); });
    fields.emplace_back(std::string(name), std::move(value));
}

void Headers::add(std::string_view name, std::string value) {
    fields.emplace_back(std::string(name), std::move(value));
}

std::string_view Request::query_value(std::string_view name) const {
    for (const auto& [key, value] : query) {
        if (key == name) return value;
    }
    return "";
}

bool Request::has_query(std::string_view name) const {
    for (const auto& [key, value] : query) {
        if (key == name) return true;
    }
    return false;
}

std::string header_text(std::string_view value) {
    std::string text(value);
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    return text;
}

std::string percent_decode(std::string_view text) {
    return decode(text, '\0');
}

std::string percent_encode(std::string_view text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        if (plain) {
            out += c;
        } else {
            const auto byte = static_cast<std::uint8_t>(c);
            out += '%';
            out += digits[byte >> 4];
            out += digits[byte & 15];
        }
    }
    return out;
}

std::string target_text(const Request& request) {
    std::string text = request.path.empty() ? "/" : request.path;
    if (!request.query_text.empty()) return text + '?' + request.query_text;
    char separator = '?';
    for (const auto& [name, value] : request.query) {
        text += separator + percent_encode(name) + "=" + percent_encode(value);
        separator = '&';
    }
    return text;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
    std::vector<std::pair<std::string, std::string>> pairs;
    while (!query.empty()) {
        const std::size_t end = query.find('&');
        const std::string_view pair = query.substr(0, end);
        query = end == std::string_view::npos ? "" : query.substr(end + 1);
        if (pair.empty()) continue;
        const std::size_t equals = pair.find('=');
        const std::string_view value =
            equals == std::string_view::npos ? "" : pair.substr(equals + 1);
        pairs.emplace_back(decode(pair.substr(0, equals), '+'), decode(value, '+'));
    }
    return pairs;
}

}  // namespace muster::net

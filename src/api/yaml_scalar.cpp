// api/yaml_scalar.cpp - booleans, numbers and times among plain YAML scalars.
#include "api/yaml_scalar.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "base/text.h"

namespace muster::api {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::optional<YamlScalar> find_word(std::string_view text) {
    struct Word {
        std::string_view text;
        YamlScalar scalar;
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    static const Word words[] = {
        {"y", true},
        {"Y", true},
        {"yes", true},
        {"Yes", true},
        {"YES", true},
        {"true", true},
        {"True", true},
        {"TRUE", true},
        {"on", true},
        {"On", true},
        {"ON", true},
        {"n", false},
        {"N", false},
        {"no", false},
        {"No", false},
        {"NO", false},
        {"false", false},
        {"False", false},
        {"FALSE", false},
        {"off", false},
        {"Off", false},
        {"OFF", false},
        {"", {}},
        {"~", {}},
        {"null", {}},
        {"Null", {}},
        {"NULL", {}},
        {".nan", std::nan("")},
        {".NaN", std::nan("")},
        {".NAN", std::nan("")},
        {".inf", infinity},
        {".Inf", infinity},
        {".INF", infinity},
        {"+.inf", infinity},
        {"+.Inf", infinity},
        {"+.INF", infinity},
        {"-.inf", -infinity},
        {"-.Inf", -infinity},
        {"-.INF", -infinity},
        {"<<", YamlMerge{}},
    };
    if (text.size() > 5) return std::nullopt;
    for (const Word& word : words) {
        if (word.text == text) return word.scalar;
    }
    return std::nullopt;
}

/// Takes a text apart from its front.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}
    bool at_end() const { return rest_.empty(); }

    bool take_any(std::string_view set) {
        if (rest_.empty() || set.find(rest_[0]) == std::string_view::npos) return false;
        rest_.remove_prefix(1);
        return true;
    }

    /// How many digits there were.
    std::size_t take_digits() {
        std::size_t count = 0;
        while (count < rest_.size() && is_digit(rest_[count]))
            ++count;
        rest_.remove_prefix(count);
        return count;
    }

    /// One or two digits, below `limit`; -1 when there are none such.
    int take_small(int limit) {
        int value = rest_.empty() || !is_digit(rest_[0]) ? -1 : rest_[0] - '0';
        if (value < 0) return -1;
        rest_.remove_prefix(1);
        if (!rest_.empty() && is_digit(rest_[0])) {
            value = value * 10 + (rest_[0] - '0');
            rest_.remove_prefix(1);
        }
        return value < limit ? value : -1;
    }

private:
    std::string_view rest_;
};

/// [-+] digits [. digits] [e [-+] digits], with a digit before the exponent.
bool is_decimal(std::string_view text) {
    Reader reader(text);
    reader.take_any("+-");
    const std::size_t whole = reader.take_digits();
    std::size_t fraction = 0;
    if (reader.take_any(".")) fraction = reader.take_digits();
    if (whole + fraction == 0) return false;
    if (reader.take_any("eE")) {
        reader.take_any("+-");
        if (reader.take_digits() == 0) return false;
    }
    return reader.at_end();
}

/// Go's ParseInt with base 0. A number beyond int64 but within uint64 is a real.
std::optional<YamlScalar> parse_based(std::string_view text) {
    const bool negative = text.starts_with('-');
    const bool has_sign = negative || text.starts_with('+');
    if (has_sign) text.remove_prefix(1);
    int base = 10;
    if (text.size() > 1 && text[0] == '0') {
        const char letter = static_cast<char>(text[1] | 0x20);
        base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
        text.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
    }
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value, base);
    if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
    constexpr auto limit = static_cast<std::uint64_t>(INT64_MAX);
    if (negative && value <= limit + 1) return static_cast<std::int64_t>(0 - value);
    if (!negative && value <= limit) return static_cast<std::int64_t>(value);
    if (has_sign) return std::nullopt;
    return static_cast<double>(value);
}

std::optional<YamlScalar> parse_real(const std::string& text) {
    if (!is_decimal(text)) return std::nullopt;
    const double value = std::strtod(text.c_str(), nullptr);
    if (std::isinf(value)) return std::nullopt;
    return value;
}

/// "2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43".
bool is_timestamp(std::string_view text) {
    if (text.size() < 8 || text[4] != '-' || !is_digit(text[0])) return false;
    Reader reader(text);
    if (reader.take_digits() != 4 || !reader.take_any("-")) return false;
    const int month = reader.take_small(13);
    if (month < 1 || !reader.take_any("-")) return false;
    const int day = reader.take_small(32);
    static constexpr int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (day < 1 || day > days[month - 1]) return false;
    if (month == 2 && day == 29) {
        const int year = std::atoi(std::string(text.substr(0, 4)).c_str());
        if (year % 4 != 0 || (year % 100 == 0 && year % 400 != 0)) return false;
    }
    if (reader.at_end()) return true;
    const bool zoned = reader.take_any("Tt");
    if (!zoned && !reader.take_any(" ")) return false;
    const bool clock = reader.take_small(24) >= 0 && reader.take_any(":") &&
                       reader.take_small(60) >= 0 && reader.take_any(":") &&
                       reader.take_small(60) >= 0;
    if (!clock) return false;
    if (reader.take_any(".,") && reader.take_digits() == 0) return false;
    if (!zoned || reader.take_any("Z")) return reader.at_end();
    return reader.take_any("+-") && reader.take_small(25) >= 0 && reader.take_any(":") &&
           reader.take_small(60) >= 0 && reader.at_end();
}

}  // namespace

YamlScalar resolve_plain_scalar(std::string_view text) {
    if (const std::optional<YamlScalar> word = find_word(text)) return *word;
    const char first = text[0];
    if (first == '.') {
        // Underscores may stand between digits only.
        std::string plain;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool between = text[i] == '_' && i + 1 < text.size() && is_digit(text[i - 1]) &&
                                 is_digit(text[i + 1]);
            if (!between) plain += text[i];
        }
        if (const auto real = parse_real(plain)) return *real;
    } else if (is_digit(first) || first == '+' || first == '-') {
        if (is_timestamp(text)) return YamlTimestamp{};
        const std::string plain = replace_all(text, "_", "");
        if (const auto integer = parse_based(plain)) return *integer;
        if (const auto real = parse_real(plain)) return *real;
    }
    return YamlText{};
}

bool is_base60(std::string_view text) {
    Reader reader(text);
    reader.take_any("+-");
    if (reader.take_digits() == 0) return false;
    while (reader.take_any("0123456789_")) {
    }
    int groups = 0;
    for (; reader.take_any(":"); ++groups) {
        if (reader.take_small(60) < 0) return false;
    }
    if (groups == 0) return false;
    if (reader.take_any(".")) {
        while (reader.take_any("0123456789_")) {
        }
    }
    return reader.at_end();
}

}  // namespace muster::api

// base/quantity.cpp - reading and printing quantities exactly as apimachinery does.
#include "base/quantity.h"

#include <algorithm>
#include <charconv>

namespace muster {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

constexpr std::int64_t nano_per_unit = 1'000'000'000;
constexpr Int128 units_max = INT64_MAX;
/// 10^28 units: the largest round amount whose billionths an Int128 holds with room for sums.
constexpr Int128 nano_max = Int128{10'000'000'000'000'000'000ULL} * 1'000'000'000'000'000'000ULL;

/// A text taken apart: "-", "12", "5", "Ki".
struct Parts {
    bool negative = false;
    std::string_view whole;  // Without leading zeros.
    std::string_view fraction;
    std::string_view suffix;
};

std::size_t digits_at(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9')
        ++end;
    return end - at;
}

/// Follows apimachinery's scanner, but for texts without any digit: that takes "Ki" for zero.
std::optional<Parts> take_apart(std::string_view text) {
    if (text.empty()) return std::nullopt;
    Parts parts;
    std::size_t at = 0;
    if (text[0] == '-' || text[0] == '+') {
        parts.negative = text[0] == '-';
        ++at;
    }
    while (at < text.size() && text[at] == '0')
        ++at;
    std::size_t length = digits_at(text, at);
    parts.whole = text.substr(at, length);
    at += length;
    if (at < text.size() && text[at] == '.') {
        length = digits_at(text, ++at);
        parts.fraction = text.substr(at, length);
        at += length;
    }
    if (text.substr(0, at).find_first_of("0123456789") == text.npos) return std::nullopt;
    parts.suffix = text.substr(at);
    at = std::min(text.find_first_not_of("eEinumkKMGTP", at), text.size());
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (at + digits_at(text, at) != text.size()) return std::nullopt;
    return parts;
}

/// What a suffix multiplies by: a power of ten or of two.
struct Scale {
    Quantity::Format format = Quantity::Format::decimal_si;
    int exponent = 0;
};

constexpr std::string_view decimal_suffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
constexpr std::string_view binary_suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

std::optional<Scale> scale_of(std::string_view suffix) {
    int exponent = -9;
    for (const std::string_view name : decimal_suffixes) {
        if (name == suffix) return Scale{Quantity::Format::decimal_si, exponent};
        exponent += 3;
    }
    exponent = 0;
    for (const std::string_view name : binary_suffixes) {
        if (name == suffix) return Scale{Quantity::Format::binary_si, exponent};
        exponent += 10;
    }
    if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
    suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
    const auto read = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
    if (read.ptr != suffix.data() + suffix.size() || read.ec != std::errc()) return std::nullopt;
    // Beyond these everything is the largest or the smallest amount.
    return Scale{Quantity::Format::decimal_exponent, std::clamp(exponent, -1000, 1000)};
}

/// whole.fraction * 10^exponent in billionths, rounded up, capped.
Int128 decimal_nano(const Parts& parts, int exponent) {
    const auto digits = static_cast<std::int64_t>(parts.whole.size() + parts.fraction.size());
    // How many digits of whole and fraction together stand left of the point of the billionths.
    const std::int64_t kept = static_cast<std::int64_t>(parts.whole.size()) + exponent + 9;
    Int128 value = 0;
    bool rest = false;
    for (std::int64_t i = 0; i < std::max(digits, kept); ++i) {
        const auto at = static_cast<std::size_t>(i);
        int digit = 0;
        if (at < parts.whole.size()) {
            digit = parts.whole[at] - '0';
        } else if (i < digits) {
            digit = parts.fraction[at - parts.whole.size()] - '0';
        }
        if (i >= kept) {
            rest = rest || digit != 0;
        } else {
            value = std::min(value * 10 + digit, nano_max);
        }
    }
    return std::min(value + (rest ? 1 : 0), nano_max);
}

/// whole.fraction * 2^exponent in billionths, rounded up, capped at int64 units.
Int128 binary_nano(const Parts& parts, int exponent) {
    Int128 whole = 0;
    for (const char digit : parts.whole) {
        if (whole <= units_max) whole = whole * 10 + (digit - '0');
    }
    if (whole > (units_max >> exponent)) return units_max * nano_per_unit;
    // From the last digit to the first; each division's remainder only decides the rounding.
    const Int128 unit = (Int128{1} << exponent) * nano_per_unit;
    Int128 fraction = 0;
    bool rest = false;
    for (std::size_t i = parts.fraction.size(); i > 0; --i) {
        fraction += (parts.fraction[i - 1] - '0') * unit;
        rest = rest || fraction % 10 != 0;
        fraction /= 10;
    }
    return std::min(whole * unit + fraction + (rest ? 1 : 0), units_max * nano_per_unit);
}

std::string digits_of(Int128 value) {
    auto left = value < 0 ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value);
    std::string text;
    do {
        text += static_cast<char>('0' + static_cast<int>(left % 10));
        left /= 10;
    } while (left != 0);
    if (value < 0) text += '-';
    std::reverse(text.begin(), text.end());
    return text;
}

std::string decimal_text(Int128 nano, Quantity::Format format) {
    int exponent = -9;
    while (nano % 1000 == 0 && (exponent < 18 || format == Quantity::Format::decimal_exponent)) {
        nano /= 1000;
        exponent += 3;
    }
    if (format == Quantity::Format::decimal_si) {
        return digits_of(nano) +
               std::string(decimal_suffixes[static_cast<std::size_t>(exponent + 9) / 3]);
    }
    return digits_of(nano) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
}

Int128 clamp_nano(Int128 nano) {
    return std::clamp(nano, -nano_max, nano_max);
}

}  // namespace

std::optional<Quantity> Quantity::parse(std::string_view text) {
    const std::optional<Parts> parts = take_apart(text);
    if (!parts) return std::nullopt;
    const std::optional<Scale> scale = scale_of(parts->suffix);
    if (!scale) return std::nullopt;
    const bool binary = scale->format == Format::binary_si;
    const Int128 nano =
        binary ? binary_nano(*parts, scale->exponent) : decimal_nano(*parts, scale->exponent);
    // A small fraction of a binary unit would have to be rounded; as a decimal it stays exact.
    const Format format =
        binary && nano > 0 && nano < nano_per_unit ? Format::decimal_si : scale->format;
    return Quantity(parts->negative ? -nano : nano, format);
}

Quantity Quantity::from_units(std::int64_t units, Format format) {
    return Quantity(Int128{units} * nano_per_unit, format);
}

Quantity Quantity::from_milli(std::int64_t milli) {
    return Quantity(Int128{milli} * (nano_per_unit / 1000), Format::decimal_si);
}

std::int64_t Quantity::scaled(std::int64_t nano_per_step) const {
    Int128 steps = nano_ / nano_per_step;
    if (nano_ % nano_per_step != 0) steps += nano_ < 0 ? -1 : 1;
    return static_cast<std::int64_t>(std::clamp(steps, Int128{INT64_MIN}, Int128{INT64_MAX}));
}

std::int64_t Quantity::units() const {
    return scaled(nano_per_unit);
}

std::int64_t Quantity::milli() const {
    return scaled(nano_per_unit / 1000);
}

std::int64_t Quantity::nano() const {
    return scaled(1);
}

std::string Quantity::text() const {
    if (nano_ == 0) return "0";
    const Int128 binary_least = Int128{1024} * nano_per_unit;
    const bool small = nano_ > -binary_least && nano_ < binary_least;
    if (format_ != Format::binary_si) return decimal_text(nano_, format_);
    // Nothing is lost: what is no whole number of units is printed as a decimal.
    if (small || nano_ % nano_per_unit != 0) return decimal_text(nano_, Format::decimal_si);
    Int128 units = nano_ / nano_per_unit;
    std::size_t suffix = 0;
    while (units % 1024 == 0 && suffix + 1 < std::size(binary_suffixes)) {
        units /= 1024;
        ++suffix;
    }
    return digits_of(units) + std::string(binary_suffixes[suffix]);
}

Quantity Quantity::operator+(const Quantity& other) const {
    return Quantity(clamp_nano(nano_ + other.nano_), is_zero() ? other.format_ : format_);
}

Quantity Quantity::operator-(const Quantity& other) const {
    return Quantity(clamp_nano(nano_ - other.nano_), is_zero() ? other.format_ : format_);
}

}  // namespace muster

// base/quantity.h - Kubernetes resource quantities ("500m", "2Gi", "1e3"): exact, integer, with
// memory of form.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// An exact amount in units of 10^-9, as Kubernetes accepts it: finer input is rounded up, binary
/// input is capped at int64, as apimachinery does; decimal input is capped at 10^28. Printing gives
/// apimachinery's canonical form in the format that was read.
class Quantity {
public:
    enum class Format { decimal_si, binary_si, decimal_exponent };

    Quantity() = default;
    /// Absent when it is no quantity. Accepts what apimachinery accepts, but nothing without a
    /// digit.
    static std::optional<Quantity> parse(std::string_view text);
    static Quantity from_units(std::int64_t units, Format format = Format::decimal_si);
    static Quantity from_milli(std::int64_t milli);

    /// Rounded up to whole units or thousandths, or in billionths; saturating at the int64 limits.
    std::int64_t units() const;
    std::int64_t milli() const;
    std::int64_t nano() const;
    bool is_zero() const { return nano_ == 0; }
    bool is_negative() const { return nano_ < 0; }

    /// "2G", "3050m", "8118372Ki".
    std::string text() const;

    Quantity operator+(const Quantity& other) const;
    Quantity operator-(const Quantity& other) const;
    friend bool operator==(const Quantity& a, const Quantity& b) { return a.nano_ == b.nano_; }
    friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
        return a.nano_ < b.nano_   ? std::strong_ordering::less
               : a.nano_ > b.nano_ ? std::strong_ordering::greater
                                   : std::strong_ordering::equal;
    }

private:
    __extension__ typedef __int128 Int128;
    Quantity(Int128 nano, Format format) : nano_(nano), format_(format) {}
    std::int64_t scaled(std::int64_t nano_per_unit) const;
    Int128 nano_ = 0;
    Format format_ = Format::decimal_si;
};

}  // namespace muster

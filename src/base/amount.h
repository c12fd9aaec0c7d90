// base/amount.h - an amount of a resource: integer, saturating, so that no quota ever wraps around.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace muster {

/// An amount of one resource: cpu in thousandths, everything else in units or bytes. Arithmetic
/// saturates at the limits of int64; the upper limit means "unlimited" and stays so.
struct Amount {
    std::int64_t value = 0;
    friend constexpr auto operator<=>(const Amount&, const Amount&) = default;
};

constexpr Amount unlimited() {
    return {std::numeric_limits<std::int64_t>::max()};
}
constexpr bool is_unlimited(Amount a) {
    return a == unlimited();
}

constexpr Amount operator+(Amount a, Amount b) {
    if (is_unlimited(a) || is_unlimited(b)) return unlimited();
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a.value, b.value, &sum)) return {sum};
    return {a.value > 0 ? std::numeric_limits<std::int64_t>::max()
                        : std::numeric_limits<std::int64_t>::min()};
}

/// Unlimited less anything is unlimited.
constexpr Amount operator-(Amount a, Amount b) {
    if (is_unlimited(a)) return unlimited();
    std::int64_t rest = 0;
    if (!__builtin_sub_overflow(a.value, b.value, &rest)) return {rest};
    return {a.value >= 0 ? std::numeric_limits<std::int64_t>::max()
                         : std::numeric_limits<std::int64_t>::min()};
}

constexpr Amount operator*(Amount a, std::int64_t times) {
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(a.value, times, &product)) return {product};
    return {(a.value > 0) == (times > 0) ? std::numeric_limits<std::int64_t>::max()
                                         : std::numeric_limits<std::int64_t>::min()};
}

constexpr Amount& operator+=(Amount& a, Amount b) {
    return a = a + b;
}
constexpr Amount& operator-=(Amount& a, Amount b) {
    return a = a - b;
}

/// Amounts by resource name ("cpu", "memory", "nvidia.com/gpu"), as the objects name them.
using Resources = std::map<std::string, Amount, std::less<>>;

}  // namespace muster

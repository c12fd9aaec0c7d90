// decide/quota/fraction.cpp - comparing fractions without rounding.
#include "decide/quota/fraction.h"

namespace muster::decide {

namespace {

// Products of two of these do not overflow.
bool is_narrow(Fraction fraction) {
    constexpr Wide limit = Wide{1} << 64;
    return fraction.over < limit && fraction.under < limit;
}

}  // namespace

// By whole parts, then by what remains turned upside down: nothing can overflow.
std::strong_ordering compare(Fraction a, Fraction b) {
    if (a.under == 0 || b.under == 0) return (a.under == 0) <=> (b.under == 0);
    if (is_narrow(a) && is_narrow(b)) return a.over * b.under <=> b.over * a.under;
    bool swapped = false;
    while (true) {
        const Wide whole_a = a.over / a.under;
        const Wide whole_b = b.over / b.under;
        if (whole_a != whole_b) {
            return (whole_a < whole_b) != swapped ? std::strong_ordering::less
                                                  : std::strong_ordering::greater;
        }
        const Wide rest_a = a.over % a.under;
        const Wide rest_b = b.over % b.under;
        if (rest_a == 0 && rest_b == 0) return std::strong_ordering::equal;
        if (rest_a == 0 || rest_b == 0) {
            return (rest_a == 0) != swapped ? std::strong_ordering::less
                                            : std::strong_ordering::greater;
        }
        a = {a.under, rest_a};
        b = {b.under, rest_b};
        swapped = !swapped;
    }
}

}  // namespace muster::decide

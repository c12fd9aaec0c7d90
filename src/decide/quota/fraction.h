// decide/quota/fraction.h - fractions of wide numbers, compared without rounding.
#pragma once

#include <compare>

namespace muster::decide {

__extension__ typedef unsigned __int128 Wide;

struct Fraction {
    Wide over = 0;
    Wide under = 1;  // 0: larger than all others.
};

std::strong_ordering compare(Fraction a, Fraction b);

}  // namespace muster::decide

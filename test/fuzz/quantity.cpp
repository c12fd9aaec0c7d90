// test/fuzz/quantity.cpp - Resource quantities: the canonical form is a quantity of the same
// amount.
#include "base/quantity.h"

#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const auto quantity = Quantity::parse(input);
    if (!quantity) return;
    const auto again = Quantity::parse(quantity->text());
    demand(again.has_value(), "the canonical form is a quantity");
    demand(*again == *quantity, "the canonical form is the same amount");
    demand(again->text() == quantity->text(), "the canonical form is canonical");
    const bool sum = (*quantity + *again).is_negative() == quantity->is_negative();
    demand(sum || quantity->is_zero(), "a sum keeps its sign");
}

}  // namespace

Target quantity_target() {
    return {"quantity",
            {"500m", "2Gi", "8118372Ki", "1e3", "-1.5E", "+0.000000001", "9223372036854775807",
             "12n", "1e-9"},
            take};
}

}  // namespace muster::fuzz

// api/quantity_fields.cpp - what a number or text says as a quantity.
#include "api/quantity_fields.h"

#include "api/field_error.h"
#include "api/json.h"

namespace muster::api {

std::optional<Quantity> quantity_of(const Value& value) {
    if (value.is_null()) return std::nullopt;
    return Quantity::parse(value.is_string() ? value.text() : to_json(value));
}

void check_not_negative(const Value& quantity, const Path& path, std::vector<FieldError>& errors) {
    const std::optional<Quantity> amount = quantity_of(quantity);
    if (amount && amount->is_negative())
        errors.push_back(invalid(path, quantity, "must be greater than or equal to 0"));
}

}  // namespace muster::api

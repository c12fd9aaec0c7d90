// api/quantity_fields.h - quantities as fields of objects: read, and not below nothing.
#pragma once

#include <optional>
#include <vector>

#include "api/path.h"
#include "api/schema.h"
#include "api/value.h"
#include "base/quantity.h"

namespace muster::api {

/// Absent when it is none, or null.
std::optional<Quantity> quantity_of(const Value& value);

void check_not_negative(const Value& quantity, const Path& path, std::vector<FieldError>& errors);

}  // namespace muster::api

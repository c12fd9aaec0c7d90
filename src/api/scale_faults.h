// api/scale_faults.h - what an object of a custom kind may not say where its Scale looks.
#pragma once

#include <vector>

#include "api/kind.h"
#include "api/value.h"

namespace muster::api {

enum class ScalePart { whole, status };

/// Beside what the schema says: counts are whole, not negative and of 32 bits, the selector is a
/// text, and what leads there are objects. None when the kind has no /scale.
std::vector<FieldError> scale_faults(const Kind& kind, const Value& object, ScalePart part);

}  // namespace muster::api

// api/scale_faults.h - what an object of a custom kind may not say where its Scale looks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "api/value.h"

namespace muster::api {

enum class ScalePart { whole, status };

/// What a write of this subresource may say of it; of none: the object itself.
ScalePart scale_part_of(std::string_view subresource);

/// Beside what the schema says: counts are whole, not negative and of 32 bits, the selector is a
/// text, and what leads there are objects. None when the kind has no /scale.
std::vector<FieldError> scale_faults(const Kind& kind, const Value& object, ScalePart part);

/// Why no Scale can be read from an object: one that was stored before its kind said where to look
/// may have something else there. In the API server's words; empty when it can.
std::string unreadable_scale(const Kind& kind, const Value& object);

}  // namespace muster::api

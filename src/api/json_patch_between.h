// api/json_patch_between.h - the JSON patch that leads from one document to another.
#pragma once

#include "api/value.h"

namespace muster::api {

/// The operations (RFC 6902) that lead from one document to the other; empty when they are equal.
Value json_patch_between(const Value& before, const Value& after);

}  // namespace muster::api

// api/cel_shape.h - a rule beside the schema that it stands at: names and fields that are not
// there.
#pragma once

#include <span>
#include <string>

#include "api/cel.h"
#include "api/value.h"

namespace muster::api {

/// What a rule at a schema (JSON Schema) speaks of that is not there, or empty. Requires: it was
/// parsed.
std::string undeclared_in(const CelRule& rule, const Value& document);
/// The same where other names are in scope, each with the schema of what it is; null when that may
/// be anything.
std::string undeclared_among(const CelRule& rule, std::span<const CelRule::Name> names);

}  // namespace muster::api

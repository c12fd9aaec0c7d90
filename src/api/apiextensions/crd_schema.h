// api/apiextensions/crd_schema.h - the schema that a CustomResourceDefinition brings: whether it is
// one, and what it means.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "api/path.h"
#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// What is wrong with an openAPIV3Schema, in the words of the API server; empty: it is structural.
/// Rules (CEL) are parsed as well: one that is not known here is wrong.
std::vector<FieldError> crd_schema_faults(const Value& document, const Path& path);

/// The schema of objects: that of the definition, with what every object has. Requires: no faults.
std::shared_ptr<const Schema> parse_crd_schema(const Value& document);

/// Both at once: what is wrong, or the schema.
std::variant<std::shared_ptr<const Schema>, std::vector<FieldError>> read_crd_schema(
    const Value& document);

/// The levels that a schema may have.
constexpr int crd_schema_depth_max = 100;

}  // namespace muster::api

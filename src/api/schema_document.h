// api/schema_document.h - a schema as JSON Schema, for OpenAPI documents and for
// CustomResourceDefinitions.
#pragma once

#include <string>

#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// Writes schemas for an OpenAPI document: named ones become components that are referred to.
class ComponentWriter {
public:
    /// {"$ref": "#/components/schemas/NAME"} for a named schema, itself for others.
    Value reference(const Schema& schema);
    /// The component that was made for a name; null when there is none.
    Value* component(const std::string& name);
    Value take_components() { return std::move(components_); }

private:
    Value body(const Schema& schema);

    Value components_ = Value::object();
};

/// The schema with everything in it, as a structural schema of a CRD.
Value structural_schema(const Schema& schema);

}  // namespace muster::api

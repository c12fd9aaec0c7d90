// api/schema_document.h - schemas as the components of an OpenAPI document.
#pragma once

#include <string>

#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// {"enum": ..., "pattern": ..., "minimum": ..., ...}: what limits a value, set in `made`.
void add_limits(const Schema& schema, Value& made);
/// The list type and its keys, set in `made`.
void add_list_kind(const Schema& schema, Value& made);
/// The names of the fields that must be there.
Value required_of(const Schema& schema);

/// Writes schemas for an OpenAPI document: named ones become components that are referred to.
class ComponentWriter {
public:
    /// {"$ref": "#/components/schemas/NAME"} for a named schema, itself for others.
    Value reference(const Schema& schema);
    /// A component that is written already.
    void add(const std::string& name, Value component);
    /// The component that was made for a name; null when there is none.
    Value* component(const std::string& name);
    Value take_components() { return std::move(components_); }

private:
    Value body(const Schema& schema);

    Value components_ = Value::object();
};

}  // namespace muster::api

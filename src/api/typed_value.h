// api/typed_value.h - values seen through their schema: which fields they set, how two differ, how
// one is laid over the other. The ground of server-side apply.
#pragma once

#include <string>
#include <vector>

#include "api/field_set.h"
#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// The paths that a value sets. Items that stand twice in a set or map list are taken once.
FieldSet field_set_of(const Schema& schema, const Value& value);

/// Why a value cannot be applied: unknown fields, values of the wrong type, items without their
/// keys, items that stand twice. ".spec.foo: field not declared in schema". Empty: it can.
std::vector<std::string> typed_faults(const Schema& schema, const Value& value);

/// How `after` differs from `before`, path by path; a new container and its content are all added.
struct Comparison {
    FieldSet removed;
    FieldSet modified;
    FieldSet added;
};
Comparison compare_typed(const Schema& schema, const Value& before, const Value& after);

/// `over` laid over `base`: structs, granular maps and keyed lists are merged, all else is
/// replaced.
Value merge_typed(const Schema& schema, const Value& base, const Value& over);

/// Without the paths of the set. A container that becomes empty by it, and is not in the set
/// itself, is null.
Value without_fields(const Schema& schema, const Value& value, const FieldSet& set);

/// The set and, for each path in it, the struct fields on the way to it.
FieldSet with_named_fields(const Schema& schema, FieldSet set);

}  // namespace muster::api

// api/rules.h - the CEL rules of a schema (x-kubernetes-validations of a CRD), and what they
// refuse.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// Both texts are in the tables, which live as long as the program.
struct Rule {
    std::string_view expression;
    std::string_view message;
};

/// The rules that stand at a schema of the tables, not below it.
const std::vector<Rule>& rules_of(const Schema& schema);

/// Only the embedded server knows the field; no CRD has it.
bool is_off_cluster(const Schema& schema, const Schema::Field& field);

/// What the rules of the schema refuse in an object, as the API server words it. Rules about
/// changes are asked where the same thing was there before: a field, an item by its keys. `old` is
/// null for a new object. Requires: the object is valid otherwise. Loop thread only.
std::vector<FieldError> broken_rules(const Schema& schema, const Value& object, const Value* old);

/// What the API server says beside the errors of an object whose rules it then does not ask. Absent
/// when they are no reason for that, or there are no rules.
std::optional<FieldError> rules_not_asked(const Schema& schema,
                                          const std::vector<FieldError>& errors);

}  // namespace muster::api

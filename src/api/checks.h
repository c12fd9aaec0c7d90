// api/checks.h - the limits in the schema of a CustomResourceDefinition, as JSON Schema has them,
// and what they refuse.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/cel.h"
#include "api/path.h"
#include "api/schema.h"
#include "api/value.h"

namespace re2 {
class RE2;
}

namespace muster::api {

/// A rule of x-kubernetes-validations.
struct CheckedRule {
    CelRule rule;
    std::string text;  // The expression.
    std::string message;
    std::optional<CelRule> message_expression;
    std::string reason = "FieldValueInvalid";
    std::string field_path;  // ".spec.a", below where the rule stands; may be empty.
    bool optional_old_self = false;
};

/// What a value has to be beyond its shape, which is the schema's. Shared and immutable once built.
struct Checks {
    std::string type;  // "integer", "string"; empty: any. "object", "array", "number", "boolean".
    bool nullable = false;
    std::optional<double> minimum, maximum, multiple_of;
    bool exclusive_minimum = false;
    bool exclusive_maximum = false;
    std::optional<std::int64_t> min_length, max_length, min_items, max_items, min_properties,
        max_properties;
    std::string pattern;
    std::shared_ptr<const re2::RE2> expression;  // Of `pattern`; null when there is none.
    std::string format;
    std::vector<Value> allowed;  // Empty: all.
    std::vector<std::string> required;
    std::vector<std::shared_ptr<const Checks>> all_of, any_of, one_of;
    std::shared_ptr<const Checks> none_of;
    // Below allOf, anyOf, oneOf and not only: elsewhere the schema has them.
    std::map<std::string, std::shared_ptr<const Checks>> properties;
    std::shared_ptr<const Checks> items;
    std::shared_ptr<const Checks> additional;

    std::vector<CheckedRule> rules;
    bool rules_below = false;  // There are rules here or below.
    bool embedded = false;     // x-kubernetes-embedded-resource, or the object itself.
};

/// Requires: `schema.checks`. Errors are worded as the API server words them.
void check_against(const Schema& schema, const Value& value, const Path& path,
                   std::vector<FieldError>& errors);

/// Of a schema of the tables.
void check_table(const Schema& schema, const Value& value, const Path& path,
                 std::vector<FieldError>& errors);

/// Items of a set or keyed list that stand twice.
void check_unique(const Schema& schema, const Value& list, const Path& path,
                  std::vector<FieldError>& errors);

/// What is wrong with a text of this format; formats that are not known hold of all.
bool has_format(const std::string& format, const std::string& text);

}  // namespace muster::api

// api/validate.cpp - checks a document against its schema: types, required fields, enums, patterns,
// sizes, keys.
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include <re2/re2.h>

#include "api/checks.h"
#include "api/field_error.h"
#include "api/json.h"
#include "api/schema.h"
#include "base/quantity.h"
#include "base/time.h"
#include "base/verify.h"

namespace muster::api {
namespace {

/// A walk through an object: what was found, and where it is.
struct Walk {
    std::vector<FieldError> errors;
    bool custom = false;   // The object is of a custom kind: there the schema is all that checks.
    bool builtin = false;  // Here is a built-in definition, such as a pod template.

    bool is_borrowed() const { return custom && builtin; }
};

/// A compiled pattern; there are some dozens in the tables, each made once. Loop thread only.
const RE2& compiled(const std::string& pattern) {
    static std::map<std::string, std::unique_ptr<RE2>> cache;
    std::unique_ptr<RE2>& entry = cache[pattern];
    if (!entry) {
        entry = std::make_unique<RE2>(pattern, RE2::Quiet);
        VERIFY(entry->ok());
    }
    return *entry;
}

std::string in_body(const Path& path, const std::string& rest) {
    return path.text() + " in body " + rest;
}

void check_numbers(const Schema& schema, const Value& value, const Path& path, Walk& walk) {
    if (schema.format == "int32" &&
        (value.as_integer() > std::numeric_limits<std::int32_t>::max() ||
         value.as_integer() < std::numeric_limits<std::int32_t>::min())) {
        walk.errors.push_back(invalid(path, value, in_body(path, "must be of type int32")));
    }
    if (schema.minimum && value.as_integer() < *schema.minimum) {
        walk.errors.push_back(invalid(path, value,
                                      in_body(path, "should be greater than or equal to " +
                                                        std::to_string(*schema.minimum))));
    }
    if (schema.maximum && value.as_integer() > *schema.maximum) {
        walk.errors.push_back(invalid(
            path, value,
            in_body(path, "should be less than or equal to " + std::to_string(*schema.maximum))));
    }
}

void check_text(const Schema& schema, const Value& value, const Path& path, Walk& walk) {
    const std::string_view text = value.as_string();
    if (!schema.enum_values.empty() && !walk.is_borrowed()) {
        bool known = text.empty() && !schema.min_length;  // "" is how Go clients leave a field out.
        for (const std::string& allowed : schema.enum_values)
            known = known || allowed == text;
        if (!known) walk.errors.push_back(not_supported(path, value, schema.enum_values));
    }
    const auto length = static_cast<std::int64_t>(text.size());
    if (schema.max_length && length > *schema.max_length) {
        walk.errors.push_back(too_long(path, *schema.max_length));
    }
    if (schema.min_length && length < *schema.min_length) {
        walk.errors.push_back(invalid(
            path, value,
            in_body(path,
                    "should be at least " + std::to_string(*schema.min_length) + " chars long")));
    }
    if (!schema.pattern.empty() && !RE2::PartialMatch(text, compiled(schema.pattern))) {
        walk.errors.push_back(
            invalid(path, value, in_body(path, "should match '" + schema.pattern + "'")));
    }
}

bool is_base64(std::string_view text) {
    if (text.size() % 4 != 0) return false;
    while (text.ends_with('='))
        text.remove_suffix(1);
    for (const char c : text) {
        const bool fine = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                          (c >= '0' && c <= '9') || c == '+' || c == '/';
        if (!fine) return false;
    }
    return true;
}

void check_quantity(const Value& value, const Path& path, Walk& walk) {
    if (value.is_number()) return;
    if (!value.is_string()) return walk.errors.push_back(wrong_type(path, value, "quantity"));
    if (Quantity::parse(value.as_string())) return;
    walk.errors.push_back(invalid(path, value,
                                  "quantities must match the regular expression "
                                  "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"));
}

void check_encoded(const Schema& schema, const Value& value, const Path& path, Walk& walk) {
    if (!value.is_string()) return walk.errors.push_back(wrong_type(path, value, "string"));
    if (schema.type == Schema::Type::bytes) {
        if (!is_base64(value.as_string())) {
            walk.errors.push_back(invalid(path, value, "must be base64 text"));
        }
    } else if (!parse_rfc3339(value.as_string())) {
        walk.errors.push_back(invalid(path, value, in_body(path, "must be of type date-time")));
    }
}

void check(const Schema& schema, const Value& value, const Path& path, Walk& walk);

/// Owner references are looked at with the rest of the metadata.
bool is_builtin(const Schema& schema) {
    return schema.name.starts_with("io.k8s.") && !schema.name.ends_with(".OwnerReference");
}

void check_object(const Schema& schema, const Value& value, const Path& path, Walk& walk) {
    if (!value.is_object()) return walk.errors.push_back(wrong_type(path, value, "object"));
    const bool outside = std::exchange(walk.builtin, is_builtin(schema));
    for (const Schema::Field& field : schema.fields) {
        const bool needed = field.required || (field.shown_required && walk.is_borrowed());
        if (needed && value[field.name].is_null()) {
            walk.errors.push_back(required(path.child(field.name)));
        }
    }
    for (const Value::Member& member : value.members()) {
        const Schema::Field* field = schema.find_field(member.key);
        if (field != nullptr) check(*field->schema, member.value, path.child(member.key), walk);
    }
    walk.builtin = outside;
}

/// What makes an item of a set or keyed list the same as another: its keys, defaults filled in, as
/// JSON.
Value identity_of(const Schema& schema, const Value& item) {
    if (schema.list_kind == ListKind::set) return item;
    Value keys = Value::object();
    for (const std::string& key : schema.list_keys) {
        const Value* given = item.find(key);
        const Schema::Field* field = schema.element->find_field(key);
        if (given != nullptr) {
            keys.set(key, *given);
        } else if (field != nullptr && field->default_value) {
            keys.set(key, *field->default_value);
        }
    }
    return keys;
}

void check_list(const Schema& schema, const Value& value, const Path& path, Walk& walk) {
    if (!value.is_array()) return walk.errors.push_back(wrong_type(path, value, "array"));
    if (schema.max_items && static_cast<std::int64_t>(value.size()) > *schema.max_items) {
        return walk.errors.push_back(too_many(path, value.size(), *schema.max_items));
    }
    if (schema.min_items && static_cast<std::int64_t>(value.size()) < *schema.min_items) {
        walk.errors.push_back(invalid(
            path, Value(static_cast<std::int64_t>(value.size())),
            in_body(path, "should have at least " + std::to_string(*schema.min_items) + " items")));
    }
    for (std::size_t i = 0; i < value.items().size(); ++i)
        check(*schema.element, value.items()[i], path.item(i), walk);
    if (schema.unique_keys) check_unique(schema, value, path, walk.errors);
}

void check_map(const Schema& schema, const Value& value, const Path& path, Walk& walk) {
    if (!value.is_object()) return walk.errors.push_back(wrong_type(path, value, "object"));
    if (schema.max_properties && static_cast<std::int64_t>(value.size()) > *schema.max_properties) {
        return walk.errors.push_back(too_many(path, value.size(), *schema.max_properties));
    }
    for (const Value::Member& member : value.members()) {
        // The API server's own code says m[key], its validator of definitions m.key.
        const Path below = walk.custom ? path.child(member.key) : path.key(member.key);
        check(*schema.element, member.value, below, walk);
    }
}

void check(const Schema& schema, const Value& value, const Path& path, Walk& walk) {
    using Type = Schema::Type;
    if (schema.checks != nullptr) return check_against(schema, value, path, walk.errors);
    if (value.is_null()) return;  // Not given; `required` is the parent's to say.
    switch (schema.type) {
        case Type::any:
            return;
        case Type::boolean:
            if (!value.is_boolean()) walk.errors.push_back(wrong_type(path, value, "boolean"));
            return;
        case Type::integer:
            if (!value.is_integer())
                return walk.errors.push_back(wrong_type(path, value, "integer"));
            return check_numbers(schema, value, path, walk);
        case Type::number:
            if (!value.is_number()) walk.errors.push_back(wrong_type(path, value, "number"));
            return;
        case Type::string:
            if (!value.is_string()) return walk.errors.push_back(wrong_type(path, value, "string"));
            return check_text(schema, value, path, walk);
        case Type::object:
            return check_object(schema, value, path, walk);
        case Type::map:
            return check_map(schema, value, path, walk);
        case Type::list:
            return check_list(schema, value, path, walk);
        case Type::quantity:
            return check_quantity(value, path, walk);
        case Type::int_or_string:
            if (!value.is_integer() && !value.is_string()) {
                walk.errors.push_back(wrong_type(path, value, "integer or string"));
            }
            return;
        case Type::time:
        case Type::micro_time:
        case Type::bytes:
            return check_encoded(schema, value, path, walk);
    }
}

}  // namespace

void check_unique(const Schema& schema, const Value& list, const Path& path,
                  std::vector<FieldError>& errors) {
    if (schema.list_kind == ListKind::atomic) return;
    std::map<std::string, int> seen;
    const bool by_keys = schema.list_kind == ListKind::map;
    for (std::size_t i = 0; i < list.items().size(); ++i) {
        if (by_keys && !list.items()[i].is_object()) continue;
        Value identity = identity_of(schema, list.items()[i]);
        const int before = seen[to_json(identity)]++;
        // Keys that stand more often than twice are told once.
        if (before == 1 || (before > 1 && !by_keys))
            errors.push_back(duplicate(path.item(i), identity));
    }
}

void check_table(const Schema& schema, const Value& value, const Path& path,
                 std::vector<FieldError>& errors) {
    Walk walk;
    walk.custom = !is_builtin(schema);
    check(schema, value, path, walk);
    for (FieldError& error : walk.errors)
        errors.push_back(std::move(error));
}

std::vector<FieldError> validate(const Schema& schema, const Value& value) {
    std::vector<FieldError> errors;
    check_table(schema, value, Path(), errors);
    return errors;
}

}  // namespace muster::api

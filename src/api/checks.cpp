// api/checks.cpp - asks the limits of a CustomResourceDefinition's schema of a value.
#include "api/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <re2/re2.h>

#include "api/cel_text.h"
#include "api/field_error.h"
#include "api/json.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

std::string in_body(const Path& path, const std::string& rest) {
    return path.text() + " in body " + rest;
}

/// As Go prints a number in %v: without trailing zeros.
std::string number_text(double number) {
    if (number == std::trunc(number) && std::abs(number) < 1e15)
        return std::to_string(static_cast<std::int64_t>(number));
    return to_json(Value(number));
}

bool is_whole(const Value& value) {
    if (value.is_integer()) return true;
    return value.is_number() && value.as_real() == std::trunc(value.as_real());
}

bool has_type(const std::string& type, const Value& value) {
    if (type == "integer") return is_whole(value);
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "object") return value.is_object();
    return type == "array" ? value.is_array() : true;
}

/// A number with a whole type, by the format of that type.
bool is_in_range(const Checks& checks, const Value& value) {
    if (checks.type != "integer") return true;
    if (!is_whole(value)) return false;
    const double number = value.as_real();
    const double most = checks.format == "int32"
                            ? static_cast<double>(std::numeric_limits<std::int32_t>::max())
                            : static_cast<double>(std::numeric_limits<std::int64_t>::max());
    return number <= most && number >= -most - 1;
}

/// It has no field of its own.
FieldError out_of_range(const Checks& checks, const Path& path) {
    const std::string format =
        checks.format.empty() ? "(default format)" : "with format " + checks.format;
    return {"FieldValueInvalid", "<nil>",
            "Invalid value: \"\": Checked value must be of type integer " + format + " in " +
                path.text()};
}

void check_number(const Checks& checks, const Value& value, const Path& path, Errors& errors) {
    const double number = value.as_real();
    const auto refuse = [&](const std::string& rest) {
        errors.push_back(invalid(path, value, in_body(path, rest)));
    };
    if (!is_in_range(checks, value)) errors.push_back(out_of_range(checks, path));
    if (checks.minimum &&
        (checks.exclusive_minimum ? number <= *checks.minimum : number < *checks.minimum)) {
        refuse(std::string("should be greater than ") +
               (checks.exclusive_minimum ? "" : "or equal to ") + number_text(*checks.minimum));
    }
    if (checks.maximum &&
        (checks.exclusive_maximum ? number >= *checks.maximum : number > *checks.maximum)) {
        refuse(std::string("should be less than ") +
               (checks.exclusive_maximum ? "" : "or equal to ") + number_text(*checks.maximum));
    }
    if (checks.multiple_of) {
        const double times = number / *checks.multiple_of;
        if (times != std::trunc(times))
            refuse("should be a multiple of " + number_text(*checks.multiple_of));
    }
}

FieldError of_format(const Path& path, const Value& value, const std::string& format) {
    FieldError error =
        invalid(path, value, in_body(path, "must be of type " + format + ": " + shown(value)));
    error.reason = "FieldValueTypeInvalid";
    return error;
}

/// Only the first that a text breaks of its lengths and its pattern is told.
void check_text(const Checks& checks, const Value& value, const Path& path, Errors& errors) {
    const std::string_view text = value.as_string();
    const auto length = static_cast<std::int64_t>(characters_in(text));
    const auto refuse = [&](const std::string& rest) {
        errors.push_back(invalid(path, value, in_body(path, rest)));
    };
    if (checks.max_length && length > *checks.max_length) {
        errors.push_back(too_long(path, *checks.max_length));
    } else if (checks.min_length && length < *checks.min_length) {
        refuse("should be at least " + std::to_string(*checks.min_length) + " chars long");
    } else if (checks.expression && !RE2::PartialMatch(text, *checks.expression)) {
        refuse("should match '" + checks.pattern + "'");
    }
    if (!checks.format.empty() && !has_format(checks.format, value.text()))
        errors.push_back(of_format(path, value, checks.format));
}

void check_sizes(const Checks& checks, const Value& value, const Path& path, Errors& errors) {
    const auto size = static_cast<std::int64_t>(value.size());
    if (value.is_array()) {
        if (checks.max_items && size > *checks.max_items)
            errors.push_back(too_many(path, value.size(), *checks.max_items));
        if (checks.min_items && size < *checks.min_items) {
            errors.push_back(invalid(
                path, Value(size),
                in_body(path,
                        "should have at least " + std::to_string(*checks.min_items) + " items")));
        }
        return;
    }
    if (checks.max_properties && size > *checks.max_properties)
        errors.push_back(too_many(path, value.size(), *checks.max_properties));
    if (checks.min_properties && size < *checks.min_properties) {
        errors.push_back(
            invalid(path, Value(size),
                    in_body(path, "should have at least " + std::to_string(*checks.min_properties) +
                                      " properties")));
    }
    for (const std::string& name : checks.required) {
        if (!value.has(name)) errors.push_back(required(path.child(name)));
    }
}

void check_allowed(const Checks& checks, const Value& value, const Path& path, Errors& errors) {
    if (checks.allowed.empty()) return;
    if (std::find(checks.allowed.begin(), checks.allowed.end(), value) != checks.allowed.end())
        return;
    std::vector<std::string> texts;
    for (const Value& allowed : checks.allowed)
        texts.push_back(allowed.is_string() ? allowed.text() : to_json(allowed));
    errors.push_back(not_supported(path, value, texts));
}

void check_limits(const Checks& checks, const Value& value, const Path& path, Errors& errors);

Errors faults(const Checks& checks, const Value& value, const Path& path) {
    Errors found;
    check_limits(checks, value, path, found);
    return found;
}

/// That of a whole composition has no field of its own.
FieldError composed(const Path& path, const std::string& what) {
    return {"FieldValueInvalid", "<nil>",
            "Invalid value: \"\": " + quoted(path.text()) + " must " + what};
}

void append(Errors& errors, Errors more) {
    for (FieldError& error : more)
        errors.push_back(std::move(error));
}

void check_any_of(const Checks& checks, const Value& value, const Path& path, Errors& errors) {
    Errors first;
    for (const auto& choice : checks.any_of) {
        Errors found = faults(*choice, value, path);
        if (found.empty()) return;
        if (first.empty()) first = std::move(found);
    }
    errors.push_back(composed(path, "validate at least one schema (anyOf)"));
    append(errors, std::move(first));
}

void check_one_of(const Checks& checks, const Value& value, const Path& path, Errors& errors) {
    Errors first;
    int good = 0;
    for (const auto& choice : checks.one_of) {
        Errors found = faults(*choice, value, path);
        if (found.empty()) ++good;
        if (first.empty()) first = std::move(found);
    }
    if (good == 1) return;
    const std::string words = "validate one and only one schema (oneOf). Found ";
    errors.push_back(composed(
        path, words + (good == 0 ? "none valid" : std::to_string(good) + " valid alternatives")));
    if (good == 0) append(errors, std::move(first));
}

void check_compositions(const Checks& checks, const Value& value, const Path& path,
                        Errors& errors) {
    if (!checks.any_of.empty()) check_any_of(checks, value, path, errors);
    if (!checks.one_of.empty()) check_one_of(checks, value, path, errors);
    std::size_t good = 0;
    for (const auto& each : checks.all_of) {
        Errors found = faults(*each, value, path);
        good += found.empty() ? 1 : 0;
        append(errors, std::move(found));
    }
    if (good != checks.all_of.size()) {
        errors.push_back(composed(path, std::string("validate all the schemas (allOf)") +
                                            (good == 0 ? ". None validated" : "")));
    }
    if (checks.none_of && faults(*checks.none_of, value, path).empty())
        errors.push_back(composed(path, "not validate the schema (not)"));
}

/// Only compositions have members of their own.
void check_members(const Checks& checks, const Value& value, const Path& path, Errors& errors) {
    if (checks.items) {
        for (std::size_t i = 0; i < value.items().size(); ++i)
            check_limits(*checks.items, value.items()[i], path.item(i), errors);
    }
    if (checks.properties.empty() && !checks.additional) return;
    for (const Value::Member& member : value.members()) {
        const auto found = checks.properties.find(member.key);
        if (found != checks.properties.end()) {
            check_limits(*found->second, member.value, path.child(member.key), errors);
        } else if (checks.additional) {
            check_limits(*checks.additional, member.value, path.child(member.key), errors);
        }
    }
}

void check_limits(const Checks& checks, const Value& value, const Path& path, Errors& errors) {
    if (value.is_null() && checks.nullable) return;
    if (!has_type(checks.type, value)) errors.push_back(wrong_type(path, value, checks.type));
    check_compositions(checks, value, path, errors);
    if (value.is_string()) check_text(checks, value, path, errors);
    if (value.is_number()) check_number(checks, value, path, errors);
    if (value.is_array() || value.is_object()) check_sizes(checks, value, path, errors);
    check_allowed(checks, value, path, errors);
    check_members(checks, value, path, errors);
}

/// A part of the object: by the same definition, or, as metadata, by the tables.
void check_part(const Schema& schema, const Value& value, const Path& path, Errors& errors) {
    if (schema.checks) {
        check_against(schema, value, path, errors);
    } else {
        check_table(schema, value, path, errors);
    }
}

/// What every object has: the API server itself asks for it, also inside another.
void check_embedded(const Value& value, const Path& path, Errors& errors) {
    for (const char* name : {"apiVersion", "kind"}) {
        if (!value[name].is_string() || value[name].as_string().empty())
            errors.push_back(required(path.child(name), "must not be empty"));
    }
}

void check_items_are_objects(const Value& list, const Path& path, Errors& errors) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!list[i].is_object() && !list[i].is_null())
            errors.push_back(
                invalid(path.item(i), list[i], "must be an object for an array of list-type map"));
    }
}

}  // namespace

void check_against(const Schema& schema, const Value& value, const Path& path, Errors& errors) {
    const Checks& checks = *schema.checks;
    if (schema.type == Schema::Type::int_or_string && !value.is_null() && !is_whole(value) &&
        !value.is_string()) {
        errors.push_back(wrong_type(path, value, "integer,string"));
    }
    check_limits(checks, value, path, errors);
    if (schema.type == Schema::Type::list && value.is_array()) {
        for (std::size_t i = 0; i < value.items().size(); ++i)
            check_part(*schema.element, value.items()[i], path.item(i), errors);
        if (schema.list_kind == ListKind::map) check_items_are_objects(value, path, errors);
        check_unique(schema, value, path, errors);
        return;
    }
    if (!value.is_object()) return;
    if (checks.embedded) check_embedded(value, path, errors);
    for (const Value::Member& member : value.members()) {
        if (schema.type == Schema::Type::map) {
            check_part(*schema.element, member.value, path.child(member.key), errors);
        } else if (const Schema::Field* field = schema.find_field(member.key)) {
            check_part(*field->schema, member.value, path.child(member.key), errors);
        }
    }
}

}  // namespace muster::api

// api/schema.cpp - walks of a document along its schema: strict checking, pruning, defaults.
#include "api/schema.h"

#include "api/json.h"
#include "api/path.h"
#include "base/quantity.h"
#include "base/time.h"

namespace muster::api {
namespace {

/// Calls `visit(schema, value, path)` for each item of a list and each value of a map.
template <typename Visit>
void each_element(const Schema& schema, const Value& value, const Path& path, const Visit& visit) {
    if (schema.type == Schema::Type::list) {
        for (std::size_t i = 0; i < value.items().size(); ++i) {
            visit(*schema.element, value.items()[i], path.item(i));
        }
    } else if (schema.type == Schema::Type::map) {
        for (const Value::Member& member : value.members()) {
            visit(*schema.element, member.value, path.child(member.key));
        }
    }
}

bool holds_objects(const Schema& schema) {
    switch (schema.type) {
        case Schema::Type::object:
            return true;
        case Schema::Type::list:
        case Schema::Type::map:
            return holds_objects(*schema.element);
        default:
            return false;
    }
}

void find_unknown(const Schema& schema, const Value& value, const Path& path,
                  std::vector<std::string>& found) {
    if (schema.type == Schema::Type::object) {
        for (const Value::Member& member : value.members()) {
            const Schema::Field* field = schema.find_field(member.key);
            const Path below = path.child(member.key);
            if (field == nullptr) {
                if (!schema.keeps_unknown) found.push_back(below.text());
            } else if (holds_objects(*field->schema)) {
                find_unknown(*field->schema, member.value, below, found);
            }
        }
        return;
    }
    if (!holds_objects(schema)) return;
    each_element(schema, value, path,
                 [&](const Schema& element, const Value& item, const Path& below) {
                     find_unknown(element, item, below, found);
                 });
}

/// The items or members' values of a list or map, to be changed.
template <typename Visit>
void change_elements(const Schema& schema, Value& value, const Visit& visit) {
    if (schema.type == Schema::Type::list && value.is_array()) {
        for (Value& item : value.mutable_items())
            visit(*schema.element, item);
    } else if (schema.type == Schema::Type::map && value.is_object()) {
        for (Value::Member& member : value.mutable_members())
            visit(*schema.element, member.value);
    }
}

void canonicalize_scalar(Schema::Type type, Value& value) {
    if (type == Schema::Type::quantity) {
        if (!value.is_string() && !value.is_number()) return;
        const auto quantity = Quantity::parse(value.is_string() ? value.text() : to_json(value));
        if (quantity) value = quantity->text();
    } else if (type == Schema::Type::time || type == Schema::Type::micro_time) {
        const auto time = parse_rfc3339(value.text_or(""));
        if (time) value = type == Schema::Type::time ? to_rfc3339(*time) : to_rfc3339_micro(*time);
    }
}

/// In the reference "", 0, false, [] and {} in a field that is neither behind a pointer nor always
/// written are the same as nothing.
bool is_unset(const Schema::Field& field, const Value& value) {
    if (field.keep_zero || field.tag == 0 || field.schema->type == Schema::Type::any) return false;
    switch (value.type()) {
        case Value::Type::boolean:
            return !value.as_boolean();
        case Value::Type::integer:
        case Value::Type::real:
            return value.as_real() == 0;
        case Value::Type::string:
            return value.as_string().empty();
        case Value::Type::array:
        case Value::Type::object:
            return value.empty();
        default:
            return false;
    }
}

}  // namespace

const Schema::Field* Schema::find_field(std::string_view field_name) const {
    for (const Field& field : fields) {
        if (field.name == field_name) return &field;
    }
    return nullptr;
}

std::vector<std::string> unknown_fields(const Schema& schema, const Value& value) {
    std::vector<std::string> found;
    find_unknown(schema, value, Path(), found);
    return found;
}

void prune(const Schema& schema, Value& value) {
    const bool is_brought = schema.checks != nullptr;
    if (is_brought && schema.type == Schema::Type::map && !schema.element->nullable &&
        value.is_object()) {
        std::erase_if(value.mutable_members(),
                      [](const Value::Member& member) { return member.value.is_null(); });
    }
    if (schema.type != Schema::Type::object) {
        if (holds_objects(schema)) change_elements(schema, value, prune);
        return;
    }
    if (!value.is_object()) return;
    std::erase_if(value.mutable_members(), [&](const Value::Member& member) {
        const Schema::Field* field = schema.find_field(member.key);
        if (field == nullptr) return !schema.keeps_unknown;
        const bool may_be_null =
            field->schema->nullable || (!is_brought && field->schema->type == Schema::Type::any);
        return member.value.is_null() && !may_be_null;
    });
    for (Value::Member& member : value.mutable_members()) {
        const Schema::Field* field = schema.find_field(member.key);
        if (field != nullptr) prune(*field->schema, member.value);
    }
}

void canonicalize(const Schema& schema, Value& value) {
    switch (schema.type) {
        case Schema::Type::list:
        case Schema::Type::map:
            return change_elements(schema, value, canonicalize);
        case Schema::Type::object:
            break;
        default:
            return canonicalize_scalar(schema.type, value);
    }
    if (!value.is_object()) return;
    bool unset = false;
    for (Value::Member& member : value.mutable_members()) {
        const Schema::Field* field = schema.find_field(member.key);
        if (field == nullptr) continue;
        canonicalize(*field->schema, member.value);
        unset = unset || is_unset(*field, member.value);
    }
    if (!unset) return;
    std::erase_if(value.mutable_members(), [&](const Value::Member& member) {
        const Schema::Field* field = schema.find_field(member.key);
        return field != nullptr && is_unset(*field, member.value);
    });
}

void apply_defaults(const Schema& schema, Value& value) {
    if (schema.type != Schema::Type::object) {
        if (holds_objects(schema)) change_elements(schema, value, apply_defaults);
        return;
    }
    if (!value.is_object()) return;
    for (const Schema::Field& field : schema.fields) {
        if (!field.default_value) continue;
        const Value* present = value.find(field.name);
        if (present == nullptr || (present->is_null() && !field.schema->nullable)) {
            value.set(field.name, *field.default_value);
        }
    }
    for (Value::Member& member : value.mutable_members()) {
        const Schema::Field* field = schema.find_field(member.key);
        if (field != nullptr) apply_defaults(*field->schema, member.value);
    }
}

}  // namespace muster::api

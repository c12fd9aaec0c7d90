// api/schema.cpp - walks of a document along its schema: strict checking, pruning, defaults.
#include "api/schema.h"

#include <algorithm>

#include "api/path.h"
#include "api/quantity_fields.h"
#include "api/told.h"
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
                if (!schema.keeps_unknown && tells_more(found)) found.push_back(below.text());
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

/// Of a member of an object or a map; null: unknown.
const Schema* schema_of_member(const Schema& schema, const Value::Member& member) {
    if (schema.type == Schema::Type::map) return schema.element.get();
    const Schema::Field* field = schema.find_field(member.key);
    return field == nullptr ? nullptr : field->schema.get();
}

/// Whether pruning drops a member, whose schema is `inner`, of an object or a map of this schema.
bool is_dropped(const Schema& schema, const Schema* inner, const Value& member) {
    if (inner == nullptr) return !schema.keeps_unknown;
    if (!member.is_null() || inner->nullable) return false;
    const bool is_brought = schema.checks != nullptr;
    if (schema.type != Schema::Type::object) return is_brought;
    return is_brought || inner->type != Schema::Type::any;
}

bool lacks(const Schema::Field& field, const Value& value) {
    if (!field.default_value) return false;
    const Value* present = value.find(field.name);
    return present == nullptr || (present->is_null() && !field.schema->nullable);
}

/// Whether there is a default to fill in: most often there is none, and then nothing is unshared.
bool lacks_any(const Schema& schema, const Value& value) {
    if (!holds_objects(schema)) return false;
    if (schema.type == Schema::Type::list) {
        return std::any_of(value.items().begin(), value.items().end(),
                           [&](const Value& item) { return lacks_any(*schema.element, item); });
    }
    if (!value.is_object()) return false;
    return std::any_of(schema.fields.begin(), schema.fields.end(),
                       [&](const Schema::Field& field) { return lacks(field, value); }) ||
           std::any_of(value.members().begin(), value.members().end(), [&](const auto& member) {
               const Schema* inner = schema_of_member(schema, member);
               return inner != nullptr && lacks_any(*inner, member.value);
           });
}

void fill(const Schema& schema, Value& value) {
    if (!holds_objects(schema)) return;
    if (schema.type != Schema::Type::object) return change_elements(schema, value, fill);
    if (!value.is_object()) return;
    for (const Schema::Field& field : schema.fields) {
        if (lacks(field, value)) value.set(field.name, *field.default_value);
    }
    for (Value::Member& member : value.mutable_members()) {
        const Schema* inner = schema_of_member(schema, member);
        if (inner != nullptr) fill(*inner, member.value);
    }
}

bool may_have_more(const Schema& schema) {
    if (schema.type == Schema::Type::list) return may_have_more(*schema.element);
    const bool is_brought_map = schema.type == Schema::Type::map && schema.checks != nullptr;
    return is_brought_map || holds_objects(schema);
}

/// Whether pruning changes anything: most often it does not, and then nothing is unshared.
bool has_more(const Schema& schema, const Value& value) {
    if (!may_have_more(schema)) return false;
    if (schema.type == Schema::Type::list) {
        return std::any_of(value.items().begin(), value.items().end(),
                           [&](const Value& item) { return has_more(*schema.element, item); });
    }
    return std::any_of(value.members().begin(), value.members().end(), [&](const auto& member) {
        const Schema* inner = schema_of_member(schema, member);
        if (is_dropped(schema, inner, member.value)) return true;
        return inner != nullptr && has_more(*inner, member.value);
    });
}

void drop_more(const Schema& schema, Value& value) {
    if (!may_have_more(schema)) return;
    if (schema.type == Schema::Type::list) return change_elements(schema, value, drop_more);
    if (!value.is_object()) return;
    std::erase_if(value.mutable_members(), [&](const Value::Member& member) {
        return is_dropped(schema, schema_of_member(schema, member), member.value);
    });
    for (Value::Member& member : value.mutable_members()) {
        const Schema* inner = schema_of_member(schema, member);
        if (inner != nullptr) drop_more(*inner, member.value);
    }
}

void canonicalize_scalar(Schema::Type type, Value& value) {
    if (type == Schema::Type::quantity) {
        if (!value.is_string() && !value.is_number()) return;
        const std::optional<Quantity> quantity = quantity_of(value);
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
    if (has_more(schema, value)) drop_more(schema, value);
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
    if (lacks_any(schema, value)) fill(schema, value);
}

}  // namespace muster::api

// api/type_words.cpp - see type_words.h.
#include "api/type_words.h"

#include <algorithm>
#include <vector>

#include "api/json.h"
#include "base/text.h"

namespace muster::api {

std::string_view json_type(const Value& value) {
    if (value.is_null()) return "null";
    if (value.is_object()) return "object";
    if (value.is_array()) return "array";
    if (value.is_string()) return "string";
    return value.is_boolean() ? "bool" : "number";
}

std::string_view go_type(const Value& value) {
    if (value.is_null()) return "<nil>";
    if (value.is_string()) return "string";
    if (value.is_boolean()) return "bool";
    if (value.is_integer()) return "int64";
    if (value.is_number()) return "float64";
    return value.is_array() ? "[]interface {}" : "map[string]interface {}";
}

std::string go_text(const Value& value, GoText form) {
    const bool typed = form == GoText::typed;
    if (value.is_string()) return typed ? to_json(value) : value.text();
    if (value.is_null()) return "<nil>";
    std::vector<std::string> parts;
    if (value.is_array()) {
        for (const Value& item : value.items())
            parts.push_back(go_text(item, form));
        return typed ? "[]interface {}{" + join(parts, ", ") + "}" : "[" + join(parts, " ") + "]";
    }
    if (!value.is_object()) return to_json(value);
    for (const Value::Member& member : value.members())
        parts.push_back((typed ? to_json(Value(member.key)) : member.key.text()) + ":" +
                        go_text(member.value, form));
    std::sort(parts.begin(), parts.end());
    return typed ? "map[string]interface {}{" + join(parts, ", ") + "}"
                 : "map[" + join(parts, " ") + "]";
}

}  // namespace muster::api

// api/type_words.cpp - see type_words.h.
#include "api/type_words.h"

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

}  // namespace muster::api

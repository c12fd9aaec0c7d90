// api/type_words.h - what a program in Go calls a JSON value and its type.
#pragma once

#include <string>
#include <string_view>

#include "api/value.h"

namespace muster::api {

/// As its JSON reader names what it cannot take: "bool", "number". Of null, "null".
std::string_view json_type(const Value& value);

/// As it prints the type of what it has read: "map[string]interface {}", "int64".
std::string_view go_type(const Value& value);

/// As its fmt prints what it has read with %v, or with %#v.
enum class GoText { plain, typed };
std::string go_text(const Value& value, GoText form);

}  // namespace muster::api

// api/builtin/fill.h - filling in what an object leaves out, for the defaults of the built-in
// kinds.
#pragma once

#include <string_view>
#include <utility>

#include "api/value.h"

namespace muster::api {

/// Sets a member when it is absent or null.
inline Value& fill(Value& object, std::string_view key, Value value) {
    Value& member = object.at(key);
    if (member.is_null()) member = std::move(value);
    return member;
}

inline void fill_empty_text(Value& object, std::string_view key, const char* text) {
    if (object[key].text_or("").empty()) object.set(key, text);
}

/// The member when it is an object, else null.
inline Value* object_in(Value& parent, std::string_view key) {
    Value* member = parent.is_object() ? parent.find(key) : nullptr;
    return member != nullptr && member->is_object() ? member : nullptr;
}

}  // namespace muster::api

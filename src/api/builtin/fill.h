// api/builtin/fill.h - filling in what an object leaves out, for the defaults of the built-in
// kinds.
#pragma once

#include <initializer_list>
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

/// Times of conditions are there in the reference before anybody says them.
inline void fill_condition_times(Value& object, std::initializer_list<const char*> times) {
    Value* status = object_in(object, "status");
    Value* conditions = status == nullptr ? nullptr : status->find("conditions");
    if (conditions == nullptr || !conditions->is_array()) return;
    for (Value& condition : conditions->mutable_items()) {
        if (!condition.is_object()) continue;
        for (const char* time : times)
            fill(condition, time, nullptr);
    }
}

}  // namespace muster::api

// api/cel_functions.h - the functions that rules in CEL may call.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"

namespace muster::api {

/// What a call came to, or why it came to nothing.
struct CelResult {
    Value value;
    std::string trouble;
};

/// A function; of a method, the first argument is what it is called on.
struct CelFunction {
    std::string_view name;
    std::size_t least;  // Arguments.
    std::size_t most;
    CelResult (*call)(const std::vector<const Value*>& arguments);
    /// Bytes that it makes at most, and steps beside those for the arguments' texts; null: few.
    std::size_t (*makes)(const std::vector<const Value*>& arguments) = nullptr;
    std::size_t (*takes)(const std::vector<const Value*>& arguments) = nullptr;
};

/// Those about texts.
std::span<const CelFunction> cel_text_functions();
/// Null when there is none of that name that takes so many.
const CelFunction* find_cel_function(std::string_view name, std::size_t arguments);

/// Values that JSON has not: quantities, durations and what may not be there. They are objects with
/// one member whose name no JSON field has.
enum class CelSpecial { none, quantity, duration, optional };
CelSpecial special_of(const Value& value);
/// The member: the text of a quantity, nanoseconds, or a list of none or one.
const Value& special_content(const Value& value);
Value make_optional(const Value* content);

/// -1, 0 or 1 of two values that can be ordered.
struct CelOrder {
    bool known = false;
    int sign = 0;
};
CelOrder cel_order(const Value& a, const Value& b);

}  // namespace muster::api

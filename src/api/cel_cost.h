// api/cel_cost.h - what evaluating a rule takes, in room and in steps, known before it is done.
#pragma once

#include <cstddef>
#include <vector>

#include "api/value_size.h"

namespace muster::api {

/// Bytes that the values of one run may take together: rules come from users, and so do objects.
constexpr std::size_t cel_room = 32 << 20;
/// Of one text that a function makes.
constexpr std::size_t cel_text_max = 8 << 20;

/// Steps that it takes to compare two values.
std::size_t compare_steps(const Value& a, const Value& b);

/// Bytes that functions make at most of these arguments.
std::size_t made_by_split(const std::vector<const Value*>& arguments);
std::size_t made_by_join(const std::vector<const Value*>& arguments);
std::size_t made_by_format(const std::vector<const Value*>& arguments);
/// Of a text that is no longer than the first argument.
std::size_t made_as_long(const std::vector<const Value*>& arguments);

/// Steps of functions that walk through a text, a list, or a text for another one at each place.
std::size_t steps_of_search(const std::vector<const Value*>& arguments);
std::size_t steps_of_walk(const std::vector<const Value*>& arguments);
/// An expression is read each time.
std::size_t steps_of_expression(const std::vector<const Value*>& arguments);

}  // namespace muster::api

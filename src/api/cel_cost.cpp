// api/cel_cost.cpp - counts what values and calls take.
#include "api/cel_cost.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/text.h"

namespace muster::api {
namespace {

using Arguments = std::vector<const Value*>;

constexpr std::size_t of_value = sizeof(Value);
constexpr std::size_t of_text = 32;  // Beside its characters.
/// Of comparisons that may begin anew at each place.
constexpr std::size_t tries_a_step = 4096;
constexpr std::size_t values_a_step = 4;
constexpr std::size_t values_max = 8'000'000;

std::string_view text_at(const Arguments& arguments, std::size_t at) {
    return at < arguments.size() ? arguments[at]->text_or("") : std::string_view();
}

}  // namespace

std::size_t compare_steps(const Value& a, const Value& b) {
    if (a.type() != b.type()) return 1;
    const std::size_t fewer = std::min(values_in(a, values_max), values_in(b, values_max));
    return 1 + fewer / values_a_step;
}

std::size_t made_by_split(const Arguments& arguments) {
    const std::string_view text = text_at(arguments, 0);
    const std::string_view separator = text_at(arguments, 1);
    const std::int64_t most = arguments.size() > 2 ? arguments[2]->integer_or(-1) : -1;
    std::size_t parts = 1;
    if (separator.empty()) {
        parts = text.size();
    } else {
        for (std::size_t at = 0; (at = text.find(separator, at)) != std::string_view::npos;
             at += separator.size())
            ++parts;
    }
    if (most >= 0 && !separator.empty()) parts = std::min(parts, static_cast<std::size_t>(most));
    return text.size() + parts * (of_value + of_text);
}

std::size_t made_by_join(const Arguments& arguments) {
    const std::size_t between = text_at(arguments, 1).size();
    std::size_t size = 0;
    for (const Value& item : arguments[0]->items()) {
        size += item.text_or("").size() + between;
        if (size > cel_room) break;
    }
    return size;
}

std::size_t made_by_format(const Arguments& arguments) {
    std::size_t size = text_at(arguments, 0).size();
    if (arguments.size() < 2) return size;
    for (const Value& item : arguments[1]->items()) {
        size += written_size(item, cel_room + 1);
        if (size > cel_room) break;
    }
    return size;
}

std::size_t made_as_long(const Arguments& arguments) {
    return text_at(arguments, 0).size();
}

std::size_t steps_of_search(const Arguments& arguments) {
    if (arguments.size() > 1 && arguments[0]->is_array()) return steps_of_walk(arguments);
    return text_at(arguments, 0).size() * text_at(arguments, 1).size() / tries_a_step;
}

std::size_t steps_of_walk(const Arguments& arguments) {
    return values_in(*arguments[0], values_max) / values_a_step;
}

std::size_t steps_of_expression(const Arguments& arguments) {
    constexpr std::size_t of_reading = 20;
    return of_reading + text_at(arguments, 1).size();
}

}  // namespace muster::api

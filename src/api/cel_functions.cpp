// api/cel_functions.cpp - functions of CEL and of Kubernetes' libraries for it: texts, lists,
// numbers, quantities, durations, and what may not be there.
#include "api/cel_functions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "api/cel_cost.h"
#include "api/cel_text.h"
#include "api/json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/time.h"

namespace muster::api {
namespace {

using Arguments = std::vector<const Value*>;

constexpr const char* quantity_mark = "\x01quantity";
constexpr const char* duration_mark = "\x01duration";
constexpr const char* optional_mark = "\x01optional";

CelResult trouble(std::string what) {
    return {Value(), std::move(what)};
}

CelResult no_overload() {
    return trouble("no such overload");
}

std::string_view text(const Arguments& arguments, std::size_t at) {
    return arguments[at]->as_string();
}

CelResult size(const Arguments& given) {
    const Value& whole = *given[0];
    if (whole.is_string()) return {static_cast<std::int64_t>(characters_in(whole.as_string())), {}};
    if (!whole.is_array() && !whole.is_object()) return no_overload();
    return {static_cast<std::int64_t>(whole.size()), {}};
}

CelResult is_sorted(const Arguments& given) {
    if (!given[0]->is_array()) return no_overload();
    for (std::size_t i = 1; i < given[0]->size(); ++i) {
        const CelOrder order = cel_order((*given[0])[i - 1], (*given[0])[i]);
        if (!order.known) return no_overload();
        if (order.sign > 0) return {false, {}};
    }
    return {true, {}};
}

CelResult sum(const Arguments& given) {
    if (!given[0]->is_array()) return no_overload();
    std::int64_t whole = 0;
    double real = 0;
    bool exact = true;
    for (const Value& item : given[0]->items()) {
        if (!item.is_number()) return no_overload();
        real += item.as_real();
        if (!item.is_integer()) {
            exact = false;
        } else if (__builtin_add_overflow(whole, item.as_integer(), &whole)) {
            return trouble("integer overflow");
        }
    }
    return {exact ? Value(whole) : Value(real), {}};
}

CelResult extreme(const Value& list, int sign) {
    if (!list.is_array()) return no_overload();
    if (list.empty())
        return trouble(std::string(sign < 0 ? "min" : "max") + " called on empty list");
    const Value* best = &list[0];
    for (const Value& item : list.items()) {
        const CelOrder order = cel_order(item, *best);
        if (!order.known) return no_overload();
        if (order.sign == sign) best = &item;
    }
    return {*best, {}};
}

CelResult least(const Arguments& given) {
    return extreme(*given[0], -1);
}

CelResult most(const Arguments& given) {
    return extreme(*given[0], 1);
}

CelResult to_int(const Arguments& given) {
    const Value& value = *given[0];
    if (value.is_integer()) return {value, {}};
    if (value.is_number()) {
        const double real = std::trunc(value.as_real());
        if (!(std::abs(real) < 9.2e18)) return trouble("integer overflow");
        return {static_cast<std::int64_t>(real), {}};
    }
    if (!value.is_string()) return no_overload();
    const auto number = parse_integer(value.as_string());
    if (!number) return trouble("strconv.ParseInt: parsing " + quoted(value.as_string()));
    return {*number, {}};
}

CelResult to_double(const Arguments& given) {
    const Value& value = *given[0];
    if (value.is_number()) return {value.as_real(), {}};
    if (!value.is_string()) return no_overload();
    double number = 0;
    const std::string_view from = value.as_string();
    const auto end = from.data() + from.size();
    const auto result = std::from_chars(from.data(), end, number);
    if (result.ec != std::errc() || result.ptr != end)
        return trouble("strconv.ParseFloat: parsing " + quoted(from));
    return {number, {}};
}

CelResult to_text(const Arguments& given) {
    const Value& value = *given[0];
    if (value.is_string()) return {value, {}};
    if (value.is_number() || value.is_boolean()) return {to_json(value), {}};
    if (special_of(value) == CelSpecial::duration) {
        const auto seconds = static_cast<double>(special_content(value).as_integer()) / 1e9;
        return {to_json(Value(seconds)) + "s", {}};
    }
    return no_overload();
}

CelResult to_bool(const Arguments& given) {
    if (given[0]->is_boolean()) return {*given[0], {}};
    const std::string word = given[0]->text();
    if (word == "true" || word == "True" || word == "TRUE" || word == "t" || word == "1")
        return {true, {}};
    if (word == "false" || word == "False" || word == "FALSE" || word == "f" || word == "0")
        return {false, {}};
    return no_overload();
}

CelResult as_it_is(const Arguments& given) {
    return {*given[0], {}};
}

std::optional<Quantity> quantity_in(const Value& value) {
    if (special_of(value) != CelSpecial::quantity) return std::nullopt;
    return Quantity::parse(special_content(value).as_string());
}

CelResult quantity(const Arguments& given) {
    if (!given[0]->is_string()) return no_overload();
    if (!Quantity::parse(text(given, 0)))
        return trouble(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return {Value::object({{quantity_mark, text(given, 0)}}), {}};
}

CelResult is_quantity(const Arguments& given) {
    if (!given[0]->is_string()) return no_overload();
    return {Quantity::parse(text(given, 0)).has_value(), {}};
}

CelResult compare_quantities(const Arguments& given, int sign, bool answer_sign) {
    const auto a = quantity_in(*given[0]), b = quantity_in(*given[1]);
    if (!a || !b) return no_overload();
    const int found = *a < *b ? -1 : (*a == *b ? 0 : 1);
    if (answer_sign) return {found, {}};
    return {found == sign, {}};
}

CelResult is_less(const Arguments& given) {
    return compare_quantities(given, -1, false);
}

CelResult is_greater(const Arguments& given) {
    return compare_quantities(given, 1, false);
}

CelResult compare_to(const Arguments& given) {
    return compare_quantities(given, 0, true);
}

CelResult duration(const Arguments& given) {
    if (!given[0]->is_string()) return no_overload();
    const auto parsed = parse_go_duration(text(given, 0));
    if (!parsed) return trouble("invalid duration " + quoted(text(given, 0)));
    return {Value::object({{duration_mark, parsed->nanoseconds}}), {}};
}

CelResult has_value(const Arguments& given) {
    if (special_of(*given[0]) != CelSpecial::optional) return no_overload();
    return {!special_content(*given[0]).empty(), {}};
}

CelResult or_value(const Arguments& given) {
    if (special_of(*given[0]) != CelSpecial::optional) return no_overload();
    const Value& content = special_content(*given[0]);
    return {content.empty() ? *given[1] : content[0], {}};
}

CelResult the_value(const Arguments& given) {
    if (special_of(*given[0]) != CelSpecial::optional) return no_overload();
    const Value& content = special_content(*given[0]);
    if (content.empty()) return trouble("optional.none() dereference");
    return {content[0], {}};
}

}  // namespace

CelSpecial special_of(const Value& value) {
    if (!value.is_object() || value.size() != 1) return CelSpecial::none;
    // The types are looked at as well: no object of a client's passes for one of these by its key.
    const auto& [key, content] = value.members()[0];
    if (key == quantity_mark && content.is_string()) return CelSpecial::quantity;
    if (key == duration_mark && content.is_integer()) return CelSpecial::duration;
    const bool optional = key == optional_mark && content.is_array();
    return optional ? CelSpecial::optional : CelSpecial::none;
}

const Value& special_content(const Value& value) {
    return value.members()[0].value;
}

Value make_optional(const Value* content) {
    Value inside = Value::array();
    if (content != nullptr) inside.push(*content);
    return Value::object({{optional_mark, std::move(inside)}});
}

CelOrder cel_order(const Value& a, const Value& b) {
    const auto of = [](const auto& x, const auto& y) {
        return CelOrder{true, x < y ? -1 : (y < x ? 1 : 0)};
    };
    if (a.is_integer() && b.is_integer()) return of(a.as_integer(), b.as_integer());
    if (a.is_number() && b.is_number()) return of(a.as_real(), b.as_real());
    if (a.is_string() && b.is_string()) return of(a.as_string(), b.as_string());
    if (a.is_boolean() && b.is_boolean()) return of(a.as_boolean(), b.as_boolean());
    const bool durations =
        special_of(a) == CelSpecial::duration && special_of(b) == CelSpecial::duration;
    if (durations) return of(special_content(a).as_integer(), special_content(b).as_integer());
    return {};
}

const CelFunction* find_cel_function(std::string_view name, std::size_t arguments) {
    static constexpr CelFunction functions[] = {
        {"size", 1, 1, size},
        {"isSorted", 1, 1, is_sorted, nullptr, steps_of_walk},
        {"sum", 1, 1, sum, nullptr, steps_of_walk},
        {"min", 1, 1, least, nullptr, steps_of_walk},
        {"max", 1, 1, most, nullptr, steps_of_walk},
        {"int", 1, 1, to_int},
        {"double", 1, 1, to_double},
        {"string", 1, 1, to_text},
        {"bool", 1, 1, to_bool},
        {"dyn", 1, 1, as_it_is},
        {"quantity", 1, 1, quantity},
        {"isQuantity", 1, 1, is_quantity},
        {"isLessThan", 2, 2, is_less},
        {"isGreaterThan", 2, 2, is_greater},
        {"compareTo", 2, 2, compare_to},
        {"duration", 1, 1, duration},
        {"hasValue", 1, 1, has_value},
        {"orValue", 2, 2, or_value},
        {"value", 1, 1, the_value},
    };
    for (const std::span<const CelFunction> table :
         {std::span<const CelFunction>(functions), cel_text_functions()}) {
        for (const CelFunction& function : table) {
            if (function.name == name && arguments >= function.least && arguments <= function.most)
                return &function;
        }
    }
    return nullptr;
}

}  // namespace muster::api

// api/scale_faults.cpp - reads the counts and the selector as the API server does.
#include "api/scale_faults.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "api/field_error.h"
#include "api/json.h"
#include "api/type_words.h"
#include "base/text.h"

namespace muster::api {
namespace {

/// What stands at a path, or why nothing can.
struct Reached {
    const Value* value = nullptr;
    std::string fault;
};

std::string fault_of(const std::string& place, const Value& value, std::string_view expected) {
    return place + " accessor error: " + go_text(value, GoText::plain) + " is of the type " +
           std::string(go_type(value)) + ", expected " + std::string(expected);
}

Reached reach(const Value& object, std::string_view path) {
    if (path.starts_with('.')) path.remove_prefix(1);
    const Value* value = &object;
    std::string place;
    for (const std::string_view field : split(path, '.')) {
        if (value->is_null()) return {};
        place += "." + std::string(field);
        if (!value->is_object())
            return {nullptr, fault_of(place, *value, "map[string]interface{}")};
        value = value->find(field);
        if (value == nullptr) return {};
    }
    return {value, {}};
}

FieldError fault_at(const std::string& path, const std::string& value, const std::string& why) {
    return {"FieldValueInvalid", path, "Invalid value: " + value + ": " + why};
}

std::string with_dot(const std::string& path) {
    return path.starts_with('.') ? path : "." + path;
}

Reached reach_count(const Value& object, const std::string& path) {
    Reached reached = reach(object, path);
    if (reached.fault.empty() && reached.value != nullptr && !reached.value->is_integer())
        reached.fault = fault_of(with_dot(path), *reached.value, "int64");
    return reached;
}

Reached reach_selector(const Value& object, const std::string& path) {
    Reached reached = reach(object, path);
    if (reached.fault.empty() && reached.value != nullptr && !reached.value->is_string())
        reached.fault = fault_of(with_dot(path), *reached.value, "string");
    return reached;
}

void check_count(const Value& object, const std::string& path, std::vector<FieldError>& errors) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const Reached reached = reach_count(object, path);
    if (!reached.fault.empty()) return errors.push_back(fault_at(path, "0", reached.fault));
    if (reached.value == nullptr) return;
    const std::int64_t count = reached.value->as_integer();
    if (count < 0) {
        errors.push_back(fault_at(path, std::to_string(count), "should be a non-negative integer"));
    } else if (count > most) {
        errors.push_back(fault_at(path, std::to_string(count),
                                  "should be less than or equal to " + std::to_string(most)));
    }
}

void check_selector(const Value& object, const std::string& path, std::vector<FieldError>& errors) {
    const Reached reached = reach_selector(object, path);
    if (!reached.fault.empty()) errors.push_back(fault_at(path, "\"\"", reached.fault));
}

}  // namespace

ScalePart scale_part_of(std::string_view subresource) {
    return subresource == "status" ? ScalePart::status : ScalePart::whole;
}

std::string unreadable_scale(const Kind& kind, const Value& object) {
    for (const std::string& path : {kind.scale_spec_path, kind.scale_status_path}) {
        if (Reached reached = reach_count(object, path); !reached.fault.empty())
            return reached.fault;
    }
    if (kind.scale_selector_path.empty()) return {};
    return reach_selector(object, kind.scale_selector_path).fault;
}

std::vector<FieldError> scale_faults(const Kind& kind, const Value& object, ScalePart part) {
    std::vector<FieldError> errors;
    if (kind.scale_spec_path.empty()) return errors;
    if (part == ScalePart::whole) check_count(object, kind.scale_spec_path, errors);
    check_count(object, kind.scale_status_path, errors);
    if (!kind.scale_selector_path.empty()) check_selector(object, kind.scale_selector_path, errors);
    return errors;
}

}  // namespace muster::api

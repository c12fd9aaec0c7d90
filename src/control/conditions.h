// control/conditions.h - status conditions and the smallest patch from one value to another.
#pragma once

#include <string>
#include <string_view>

#include "api/value.h"
#include "base/time.h"

namespace muster::control {

/// What a condition says.
struct ConditionText {
    std::string type;
    std::string status;  // True, False, Unknown
    std::string reason;
    std::string message;
};

/// Sets a condition in a list of conditions; its lastTransitionTime changes only with its status.
/// True when anything changed.
bool set_condition(api::Value& conditions, const ConditionText& text, Time now);

/// The condition of that type in a list of conditions; null value when absent.
const api::Value& find_condition(const api::Value& conditions, std::string_view type);

/// The condition of that type in an object's status; null value when absent.
const api::Value& condition_of(const api::Value& status, std::string_view type);

/// True when it was there.
bool remove_condition(api::Value& conditions, std::string_view type);

/// RFC 7386: what turns `before` into `after`; an empty object when they are equal.
api::Value merge_patch_between(const api::Value& before, const api::Value& after);

}  // namespace muster::control

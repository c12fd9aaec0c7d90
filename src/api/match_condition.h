// api/match_condition.h - the conditions in CEL under which a webhook is asked about a request.
#pragma once

#include <string>
#include <string_view>

#include "api/cel.h"
#include "api/value.h"

namespace muster::api {

/// What is wrong with a condition, as the API server words it; empty when it is good.
std::string match_condition_fault(std::string_view expression);

/// What a condition is asked of. Objects are null when there are none.
struct MatchInput {
    const Value& object;
    const Value& old_object;
    const Value& request;  // An AdmissionRequest without its objects.
};

/// Requires: it was parsed.
CelRule::Answer ask_condition(const CelRule& condition, const MatchInput& input);

}  // namespace muster::api

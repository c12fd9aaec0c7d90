// control/webhooks/conversion.h - a ConversionReview in, a ConversionReview out: kinds that have
// two forms, from one to the other.
#pragma once

#include <string_view>

#include "api/value.h"

namespace muster::control::webhooks {

inline constexpr std::string_view conversion_path = "/convert";

/// The answer to a request's body.
struct Converted {
    int status = 200;  // 400: the body is no ConversionReview.
    api::Value body;   // The ConversionReview, or a Status.
};

/// Pure. Either all objects are converted, or the answer says which cannot be and why.
Converted convert(std::string_view body);

}  // namespace muster::control::webhooks

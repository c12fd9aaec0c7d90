// control/webhooks/request.h - what every review begins with: a document with a request that has a
// uid.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "api/value.h"

namespace muster::control::webhooks {

/// The request in the body of a review of this kind, or why it has none, in words.
std::variant<api::Value, std::string> request_in(std::string_view body, std::string_view kind,
                                                 std::string_view api_version);

}  // namespace muster::control::webhooks

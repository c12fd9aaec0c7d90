// api/protobuf.h - reading Kubernetes' protobuf request bodies ("k8s\0" + runtime.Unknown) by
// schema.
#pragma once

#include <string_view>
#include <variant>

#include "api/json.h"
#include "api/value.h"

namespace muster::api {

/// The object with apiVersion and kind, as its JSON would be. Unknown kinds and malformed bytes are
/// errors.
std::variant<Value, ParseError> parse_protobuf(std::string_view body);

}  // namespace muster::api

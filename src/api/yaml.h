// api/yaml.h - YAML text (as Kubernetes reads it: 1.1 booleans, JSON types) to value trees and
// back.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/json.h"
#include "api/value.h"

namespace muster::api {

/// All documents of a stream; empty ones are dropped. Aliases are expanded up to a bounded size;
/// tags other than the core ones are errors. Errors name the line.
std::variant<std::vector<Parsed>, ParseError> parse_yaml(std::string_view text);

/// As kubectl -o yaml prints it: keys sorted, two blanks, strings quoted only where needed.
std::string to_yaml(const Value& value);

}  // namespace muster::api

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

/// All documents of a stream; empty ones are dropped. What sigs.k8s.io/yaml reads as a boolean, a
/// number or null is one (yes, on, y, 0o17, 1_000, ~, ...); times stay text; unknown tags are
/// ignored. Aliases are expanded up to a bounded size, depth is limited to 1,000 levels. Errors
/// name the line.
std::variant<std::vector<Parsed>, ParseError> parse_yaml(std::string_view text);

/// As kubectl -o yaml prints it: keys sorted, two blanks, strings quoted only where needed, long
/// lines folded.
std::string to_yaml(const Value& value);

}  // namespace muster::api

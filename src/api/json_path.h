// api/json_path.h - the JSONPath of printer columns and `kubectl wait`: members, indexes,
// slices, [*] and [?(@.type=='Ready')].
#pragma once

#include <string_view>
#include <vector>

#include "api/value.h"

namespace muster::api {

/// What a path such as ".status.conditions[?(@.type=='Admitted')].status" finds, in document order;
/// nothing when the path is malformed. The pointers live as long as `root` is not changed.
std::vector<const Value*> find_by_json_path(const Value& root, std::string_view path);

}  // namespace muster::api

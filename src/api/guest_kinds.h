// api/guest_kinds.h - kinds that other projects define and queues manage: names only. A server has
// them when somebody brings their CustomResourceDefinitions.
#pragma once

#include <string_view>
#include <vector>

#include "api/kind.h"

namespace muster::api {

/// JobSet, the training kinds of Kubeflow with their runtimes, SparkApplication and
/// LeaderWorkerSet, in the version that queues read. They have no schema.
const std::vector<Kind>& guest_kinds();

/// Of the tables, or a guest; null when it is neither.
const Kind* find_known_kind(std::string_view group, std::string_view plural);
const Kind* find_known_kind_named(std::string_view group, std::string_view kind);

}  // namespace muster::api

// agent/json_file.h - files of JSON that parts of Muster leave for each other.
#pragma once

#include <string>

#include "api/value.h"

namespace muster::agent {

/// The document in a file; null when there is no file, or no JSON in it.
api::Value read_json(const std::string& path);

}  // namespace muster::agent

// apps/cli/json_path.h - kubectl's JSONPath templates: "{.status.state}", "{range .items[*]}...".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"

namespace muster::cli {

/// Fills a template in. Fields that are absent give nothing. Throws Error (bad_request) that says
/// what is wrong with the template.
std::string fill_template(std::string_view text, const api::Value& value);

/// What one path finds ("{.spec.containers[*].name}", ".metadata.name" or "metadata.name").
std::vector<const api::Value*> find_path(std::string_view path, const api::Value& value);

/// A value as templates print it: strings bare, everything else as JSON.
std::string plain_text(const api::Value& value);

}  // namespace muster::cli

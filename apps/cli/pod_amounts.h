// apps/cli/pod_amounts.h - what pods ask for and may use, summed as kubectl sums.
#pragma once

#include <map>
#include <string>

#include "api/value.h"
#include "base/quantity.h"

namespace muster::cli {

using Amounts = std::map<std::string, Quantity>;

/// What one pod requests or is limited to ("requests", "limits"): its containers together, or a
/// larger init container, and its overhead.
Amounts pod_amounts(const api::Value& pod, const char* which);

/// Adds every amount; the first one of a resource gives the sum its form.
void add_amounts(Amounts& sum, const Amounts& more);

}  // namespace muster::cli

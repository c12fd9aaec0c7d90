// agent/capabilities.h - Linux capabilities by the names that pods use for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/value.h"

namespace muster::agent {

/// A set; bit N stands for capability number N.
using Capabilities = std::uint64_t;

/// The number of "NET_ADMIN", "CAP_NET_ADMIN" or "net_admin".
std::optional<int> capability_of(std::string_view name);

/// What a container has inside its user namespace: what container engines give by default, with
/// what its `capabilities` add (`ALL`: every one) and without what they drop. What is dropped and
/// added is had.
Capabilities capabilities_for(const api::Value& security_context);

/// Why a wish cannot be read; empty when it can.
std::string capability_problem(const api::Value& security_context);

}  // namespace muster::agent

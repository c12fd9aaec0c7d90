// apps/cli/follow.h - watching one object until it is as wanted.
#pragma once

#include <functional>
#include <optional>

#include "apps/cli/command.h"

namespace muster::cli {

/// Shows each state of the object to `enough` (null: it is not there) until that is true or the
/// deadline has passed; false then. Throws Error when the server refuses.
bool follow(Session& session, const Placed& place,
            const std::function<bool(const api::Value& object)>& enough,
            std::optional<Time> deadline);

}  // namespace muster::cli

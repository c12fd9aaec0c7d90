// control/queue/requests.h - from what pods ask for to what counts against quotas.
#pragma once

#include "base/amount.h"
#include "control/queue/settings.h"

namespace muster::control::queue {

/// What one pod counts as: without excluded resources, then transformed; at least 0.
Resources counted_requests(const Resources& asked, const ResourceRules& rules);

}  // namespace muster::control::queue

// control/queue/requests.h - from what pods ask for to what counts against quotas.
#pragma once

#include <string_view>

#include "api/value.h"
#include "base/amount.h"
#include "control/queue/settings.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// The pod spec with the defaults of the namespace's LimitRanges, as the API server will complete
/// the pods.
api::Value with_limit_defaults(const api::Value& pod_spec, std::string_view ns,
                               const kube::Cache& seen);

/// What one pod counts as: without excluded resources, then transformed; at least 0.
Resources counted_requests(const Resources& asked, const ResourceRules& rules);

}  // namespace muster::control::queue

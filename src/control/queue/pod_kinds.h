// control/queue/pod_kinds.h - the tables of what queues pod by pod: Pod, Deployment, StatefulSet;
// and their rules, in the words of Kueue's webhooks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/value.h"
#include "control/queue/integration.h"
#include "kube/cache.h"

namespace muster::control::queue {

JobKind pod_kind();
JobKind deployment_kind();
JobKind stateful_set_kind();

/// How many pods its group has in all; absent when it says so nowhere, or wrongly.
std::optional<std::int64_t> group_count_of(const kube::Object& pod);

/// The Workload of a StatefulSet, which is the name of its pods' group too.
std::string stateful_set_workload(std::string_view name, std::string_view uid);

}  // namespace muster::control::queue

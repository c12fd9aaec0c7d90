// control/queue/leader_worker_set.h - LeaderWorkerSet: groups of pods, one Workload for each group.
#pragma once

#include "control/controller.h"
#include "control/queue/integration.h"
#include "control/queue/settings.h"

namespace muster::control::queue {

/// On each pod of a LeaderWorkerSet: whose it is.
inline constexpr std::string_view leader_worker_set_label = "leaderworkerset.sigs.k8s.io/name";

inline constexpr std::string_view leader_worker_framework =
    "leaderworkerset.x-k8s.io/leaderworkerset";

/// leaderworkerset.x-k8s.io/v1. Its own operator makes the pods, which wait behind their gates.
JobKind leader_worker_set_kind();

/// Makes the Workloads of the groups, and brings pods into theirs that came without an index.
Controller leader_worker_set_controller(const Settings& settings);

/// The set that a pod says it is of; empty: none.
std::string_view leader_worker_set_of(const api::Value& pod);

/// The pod in the group of its index. Unchanged while it has no index, or the set no queue.
api::Value in_leader_worker_group(const api::Value& set, api::Value pod);

/// The set with its templates marked: their pods come in gated.
api::Value with_marked_groups(api::Value set);

}  // namespace muster::control::queue

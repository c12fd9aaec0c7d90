// control/queue/group_members.h - which pods of a group count, which are too many and which are
// missing. Pure: pods in, pods out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/value.h"
#include "control/queue/integration.h"
#include "kube/cache.h"

namespace muster::control::queue {

using Pods = std::vector<kube::ObjectPtr>;

/// Waits behind its gate, and admission has told it nothing yet.
bool is_waiting_pod(const kube::Object& pod);

/// Had its gate opened, and is neither done nor being deleted.
bool is_started_pod(const kube::Object& pod);

/// Its processes may live, or may come yet.
bool holds_quota(const kube::Object& pod);

/// It can still run, runs, or has succeeded.
bool counts_for_group(const kube::Object& pod);

bool has_managed_finalizer(const kube::Object& pod);

/// One pod set for each role, by name.

std::vector<PodSet> roles_of(const Pods& members);
PodSet fast_role_of(const kube::Object& pod, std::int64_t count);

/// The pods of a group against what its Workload says.
struct Roll {
    Pods kept;
    Pods excess;    // Active ones beyond the number of their role; the youngest.
    Pods replaced;  // Failed or deleted ones that others stand in for.
    std::int64_t absent = 0;
};
Roll call_roll(const Pods& members, const api::Value& pod_sets);

/// The youngest of them that are too many for the group.
Pods excess_of(Pods active, std::int64_t count);

}  // namespace muster::control::queue

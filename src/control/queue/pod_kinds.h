// control/queue/pod_kinds.h - the tables of what queues pod by pod: Pod, Deployment, StatefulSet;
// and their rules, in the words of Kueue's webhooks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/value.h"
#include "control/queue/integration.h"
#include "kube/cache.h"

namespace muster::control::queue {

JobKind pod_kind();
JobKind deployment_kind();
JobKind stateful_set_kind();

/// Of what makes pods to serve: none of them does yet.
bool has_no_ready_replicas(const api::Value& object);

/// Its queue may change while none does, and is never taken away.
std::vector<api::FieldError> check_serving_change(const api::Value& before, const api::Value& now);

/// How many pods its group has in all; absent when it says so nowhere, or wrongly.
std::optional<std::int64_t> group_count_of(const kube::Object& pod);

/// The Workload of a StatefulSet, which is the name of its pods' group too.
std::string stateful_set_workload(std::string_view name, std::string_view uid);

}  // namespace muster::control::queue

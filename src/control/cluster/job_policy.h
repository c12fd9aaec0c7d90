// control/cluster/job_policy.h - a Job's podFailurePolicy and successPolicy as pure questions.
#pragma once

#include <optional>
#include <string>

#include "api/value.h"
#include "control/cluster/index_set.h"
#include "kube/cache.h"

namespace muster::control::cluster {

/// What the first matching rule of a podFailurePolicy says of a failed pod.
struct FailureVerdict {
    enum class Action { count, ignore, fail_job };
    Action action = Action::count;
    std::string message;  // For fail_job, as Kubernetes words it.
};
FailureVerdict judge_failure(const api::Value& policy, const kube::Object& pod);

/// The number of the first rule of a successPolicy that the finished indexes satisfy.
std::optional<std::int64_t> satisfied_rule(const api::Value& policy, const IndexSet& succeeded,
                                           std::int64_t completions);

}  // namespace muster::control::cluster

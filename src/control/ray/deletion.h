// control/ray/deletion.h - what a RayJob that has ended lets go, and when: its deletionStrategy, or
// shutdownAfterJobFinishes.
#pragma once

#include <optional>
#include <string>

#include "api/value.h"
#include "base/time.h"

namespace muster::control::ray {

/// What is deleted, by growing effect.
enum class Deletion { none, workers, cluster, self };

/// What is due now, and when to look again.
struct Deletions {
    Deletion now = Deletion::none;
    std::optional<Time> next;
};

/// What to delete of a job that has ended: the most destructive of all that is due and goes beyond
/// what was `done` already. The job's status must have an endTime.
Deletions deletions_of(const api::Value& job, Deletion done, Time now);

/// What is wrong with a deletionStrategy beyond its schema, in words.
std::optional<std::string> check_deletion(const api::Value& spec);

}  // namespace muster::control::ray

// control/queue/workload_status.h - what a decision looks like in a Workload's status, in Kueue's
// words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/value.h"
#include "base/time.h"
#include "control/controller.h"
#include "decide/decision.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// A new status, with the events that tell of the change.
struct Told {
    api::Value status;
    std::vector<Event> events;
};

/// It holds quota, and is admitted when it has no admission checks of `cluster_queue` (null: none)
/// to pass. Unchanged when its status says so already.
Told tell_admitted(const kube::Object& workload, const decide::Assignment& assignment, Time now,
                   const api::Value& cluster_queue = {});

/// The event of a workload that is admitted, some time after it got its quota.
Event admitted_event(const kube::Object& workload, const std::string& queue, Duration waited);

/// Whether a queue of it was stopped when it was last told why it waits.
enum class Queues { ran, were_stopped };

/// It waits, and why. Unchanged when its status says so already. `tried` is who was tried in its
/// place, empty: itself.
Told tell_waiting(const kube::Object& workload, const decide::WaitReason& reason,
                  const std::string& tried, Queues before, Time now);

/// It must stop.
struct Eviction {
    std::string reason;
    std::string message;
    std::string preemption = {};        // The reason of Preempted; empty: nobody preempted it.
    std::string underlying_cause = {};  // More of the reason, for the statistics.
    std::optional<api::Key> preemptor = std::nullopt;  // Who preempted it.
    std::int64_t preemptor_priority = 0;
};
/// `preemptor` is who preempted it; null when nobody did or its object is not seen any more.
Eviction eviction_of(const decide::Evict& evict, const kube::Object* preemptor = nullptr);

/// "DeactivatedDueTo..." when the workload says what deactivated it. Its admission checks are
/// Pending again and its preemption gates closed.
Told tell_evicted(const kube::Object& workload, Eviction eviction, Time now);

}  // namespace muster::control::queue

// control/queue/life.h - what time, admission checks and stopped queues do to a Workload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/value.h"
#include "base/time.h"
#include "control/controller.h"
#include "control/queue/life_policy.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// The queues of a Workload as seen; null when they are not there.
struct QueuesOf {
    kube::ObjectPtr local_queue;
    kube::ObjectPtr cluster_queue;
};
QueuesOf queues_of(const kube::Cache& seen, const kube::Object& workload);

/// What becomes of a Workload.
struct Lived {
    enum class Deactivate { no, yes };
    api::Value status;
    Deactivate deactivate = Deactivate::no;  // spec.active becomes false.
    std::vector<Event> events;
    std::optional<Duration> look_again;
};

/// One that is not finished. Pure: all that it needs to know of the past is in the status.
Lived live(const kube::Object& workload, const QueuesOf& queues, const LifePolicy& policy,
           Time now);

/// The wait before the n-th new try.
Duration backoff(const WaitForPodsReady& policy, std::int64_t n);

/// The time that counts for its place in the queue: of its eviction, when that says so, else its
/// arrival.
Time queued_at(const api::Value& workload, Time arrival,
               const std::optional<WaitForPodsReady>& policy);

/// When a finished Workload, or the job of a deactivated one, is to be removed. Absent: never.
std::optional<Time> removed_at(const api::Value& workload, const Retention& retention);

}  // namespace muster::control::queue

// control/appwrapper/status.h - the status of an AppWrapper v1beta1: each step of its life as a
// whole new status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/value.h"
#include "base/time.h"

namespace muster::control::appwrapper {

/// Pods that carry the AppWrapper's label.
struct PodCounts {
    std::int64_t pending = 0;
    std::int64_t running = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t total_cpu_milli = 0;
    std::int64_t total_memory = 0;  // Bytes.
    std::int64_t total_gpu = 0;
    api::Value waiting;  // Those that no node can take: [{podname, conditions}].
    friend bool operator==(const PodCounts&, const PodCounts&) = default;
};

// Each takes the AppWrapper as it is and gives the status as it becomes.

/// Considered and does not fit: Pending, Backoff. Unchanged when it says so already.
api::Value backed_off(const api::Value& appwrapper, std::string_view reason,
                      std::string_view message, Time now);
/// May run: `canrun`, at the head of the line. The controller then makes its objects.
api::Value can_run(const api::Value& appwrapper, Time now);
/// Must give way (its queue evicts it): not `canrun`, Pending again.
api::Value evicted(const api::Value& appwrapper, Time now);
/// All objects were made.
api::Value dispatched(const api::Value& appwrapper, Time now);
/// An object could not be made.
api::Value creation_failed(const api::Value& appwrapper, const std::string& message, Time now);
/// Pod counts, and PodsRunning once the first one runs. Unchanged when the counts are.
api::Value counted(const api::Value& appwrapper, const PodCounts& counts, Time now);
/// All that was asked is done and no pod runs; these are the pods that it had.
api::Value completed(const api::Value& appwrapper, const PodCounts& counts, Time now);
api::Value held_completion(const api::Value& appwrapper, Time now);

/// Taken back because its pods cannot run: PreemptCandidate, then Backoff; one requeuing more, and
/// the next waiting time. `reason` is MinPodsNotRunning or PodsFailedScheduling.
api::Value preempted(const api::Value& appwrapper, std::string_view reason,
                     const std::string& message, Time now);
/// Ran for longer than dispatchDuration.limit: Failed.
api::Value deadline_exceeded(const api::Value& appwrapper, std::int64_t limit_seconds, Time now);
/// Was requeued too often: Deleted.
api::Value given_up(const api::Value& appwrapper, Time now);

/// A condition by type; null when absent.
const api::Value& condition(const api::Value& status, std::string_view type);
/// When a condition last changed; not set when absent.
Time condition_time(const api::Value& status, std::string_view type);

}  // namespace muster::control::appwrapper

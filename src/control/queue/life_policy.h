// control/queue/life_policy.h - how long Workloads may take and how long they are kept, as an
// administrator sets it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster::control::queue {

/// What happens to admitted workloads whose pods do not become ready.
struct WaitForPodsReady {
    enum class Timestamp { eviction, creation };  // By which the evicted ones queue again.
    enum class Admission { goes_on, blocked };    // While a workload is not ready.
    Duration timeout = minutes(30);
    std::optional<Duration> recovery_timeout;  // Absent: any time.
    Admission admission = Admission::goes_on;
    Timestamp timestamp = Timestamp::eviction;
    std::optional<std::int64_t> backoff_limit;  // Absent: they are tried without end.
    std::int64_t backoff_base_seconds = 60;
    std::int64_t backoff_max_seconds = 3600;
    friend bool operator==(const WaitForPodsReady&, const WaitForPodsReady&) = default;
};

/// How long what is over is kept; absent: until somebody removes it.
struct Retention {
    std::optional<Duration> after_finished;
    std::optional<Duration> after_deactivated;  // With the job; only what was not deactivated by
                                                // a person.
    friend bool operator==(const Retention&, const Retention&) = default;
};

struct LifePolicy {
    std::optional<WaitForPodsReady> wait_for_pods_ready;
    Retention retention;
    friend bool operator==(const LifePolicy&, const LifePolicy&) = default;
};

}  // namespace muster::control::queue

// control/apps/rollout.h - how many pods each ReplicaSet of a Deployment should have next; numbers
// in, numbers out.
#pragma once

#include <cstdint>
#include <vector>

namespace muster::control::apps {

/// One ReplicaSet of a Deployment, in numbers.
struct Share {
    std::int64_t wanted = 0;       // Its spec.replicas.
    std::int64_t present = 0;      // Its pods that neither ended nor terminate.
    std::int64_t available = 0;    // Of them.
    std::int64_t earlier_max = 0;  // Its annotation max-replicas; 0: none.
};

struct Rollout {
    std::int64_t replicas = 1;
    std::int64_t max_surge = 0;
    std::int64_t max_unavailable = 0;  // One of the two is not 0.
    std::vector<Share> old;            // By creation, oldest first.
    Share current;                     // The ReplicaSet of the present template.
};

/// maxSurge and maxUnavailable of 0 both would never move: then one may be unavailable.
void allow_progress(Rollout& rollout);

/// One step of a rolling update: the new spec.replicas of `current` and of each of `old`. First it
/// grows what may grow; only when nothing can, it shrinks the old, unhealthy pods first. It never
/// goes above replicas + max_surge, nor lets those available fall below replicas - max_unavailable.
struct Step {
    std::int64_t current = 0;
    std::vector<std::int64_t> old;
    friend bool operator==(const Step&, const Step&) = default;
};
Step rolling_step(const Rollout& rollout);

/// The Deployment was scaled while several of its ReplicaSets have pods: each gets its part of the
/// change, the largest first, the newest the rest.
Step proportional_step(const Rollout& rollout);

}  // namespace muster::control::apps

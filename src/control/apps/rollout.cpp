// control/apps/rollout.cpp - the arithmetic of rolling updates.
#include "control/apps/rollout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace muster::control::apps {
namespace {

std::int64_t sum_wanted(const Rollout& rollout) {
    return std::accumulate(rollout.old.begin(), rollout.old.end(), rollout.current.wanted,
                           [](std::int64_t sum, const Share& share) { return sum + share.wanted; });
}

Step as_is(const Rollout& rollout) {
    Step step;
    step.current = rollout.current.wanted;
    for (const Share& share : rollout.old)
        step.old.push_back(share.wanted);
    return step;
}

// Pods that are not available do no good: they go first, at most `most` of them.
std::int64_t drop_unhealthy(const Rollout& rollout, Step& step, std::int64_t most) {
    std::int64_t dropped = 0;
    for (std::size_t i = 0; i < rollout.old.size() && dropped < most; ++i) {
        const Share& share = rollout.old[i];
        const std::int64_t unhealthy = std::max<std::int64_t>(0, share.wanted - share.available);
        const std::int64_t less = std::min(unhealthy, most - dropped);
        step.old[i] -= less;
        dropped += less;
    }
    return dropped;
}

void drop_available(Step& step, std::int64_t most) {
    for (std::int64_t& wanted : step.old) {
        const std::int64_t less = std::min(wanted, std::max<std::int64_t>(0, most));
        wanted -= less;
        most -= less;
    }
}

}  // namespace

void allow_progress(Rollout& rollout) {
    if (rollout.max_surge == 0 && rollout.max_unavailable == 0) rollout.max_unavailable = 1;
    rollout.max_unavailable = std::min(rollout.max_unavailable, rollout.replicas);
}

Step rolling_step(const Rollout& rollout) {
    Step step = as_is(rollout);
    const Share& current = rollout.current;
    if (current.wanted > rollout.replicas) {
        step.current = rollout.replicas;
        return step;
    }
    const std::int64_t room = rollout.replicas + rollout.max_surge - sum_wanted(rollout);
    const std::int64_t more = std::min(room, rollout.replicas - current.wanted);
    if (more > 0) {
        step.current += more;
        return step;
    }
    const std::int64_t least_available = rollout.replicas - rollout.max_unavailable;
    const std::int64_t new_unavailable =
        std::max<std::int64_t>(0, current.wanted - current.available);
    const std::int64_t most = sum_wanted(rollout) - least_available - new_unavailable;
    if (most <= 0) return step;
    const std::int64_t unhealthy = drop_unhealthy(rollout, step, most);
    std::int64_t available = current.available;
    for (const Share& share : rollout.old)
        available += std::min(share.available, share.wanted);
    drop_available(step, std::min(available - least_available, most - unhealthy));
    return step;
}

Step proportional_step(const Rollout& rollout) {
    Step step = as_is(rollout);
    const std::int64_t allowed = rollout.replicas > 0 ? rollout.replicas + rollout.max_surge : 0;
    const std::int64_t to_add = allowed - sum_wanted(rollout);
    // Index old.size() is the current one.
    std::vector<std::size_t> order(rollout.old.size() + 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto share_at = [&](std::size_t i) -> const Share& {
        return i < rollout.old.size() ? rollout.old[i] : rollout.current;
    };
    // Of equal ones the newest grows first and the oldest shrinks first.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (share_at(a).wanted != share_at(b).wanted)
            return share_at(a).wanted > share_at(b).wanted;
        return to_add > 0 ? a > b : a < b;
    });
    std::int64_t added = 0;
    for (const std::size_t i : order) {
        const Share& share = share_at(i);
        if (share.wanted == 0) continue;
        const std::int64_t before = share.earlier_max > 0 ? share.earlier_max : allowed;
        // Rounded to the nearest.
        const std::int64_t target = (2 * share.wanted * allowed + before) / (2 * before);
        std::int64_t part = target - share.wanted;
        const std::int64_t left = to_add - added;
        part = to_add > 0 ? std::clamp<std::int64_t>(part, 0, left)
                          : std::clamp<std::int64_t>(part, left, 0);
        (i < step.old.size() ? step.old[i] : step.current) += part;
        added += part;
    }
    std::int64_t& largest = order[0] < step.old.size() ? step.old[order[0]] : step.current;
    largest = std::max<std::int64_t>(0, largest + to_add - added);
    return step;
}

}  // namespace muster::control::apps

// net/pace.h - how often something may happen: a few times at once, then only every so often.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace muster::net {

/// A token bucket: `at_once` times without a wait, one more for every `span` that passes. So what
/// is rare is never slowed down, and a burst is taken in bundles.
class Pace {
public:
    using Clock = std::chrono::steady_clock;

    Pace(Duration span, int at_once)
        : span_(span.nanoseconds), at_once_(span.nanoseconds * at_once) {}

    /// It happens at `now`. How long it may not happen again: zero to `span`.
    Duration take(Clock::time_point now) {
        full_ = std::max(full_, now) + span_;
        return {std::clamp(full_ - at_once_ - now, std::chrono::nanoseconds(0), span_).count()};
    }

private:
    std::chrono::nanoseconds span_;
    std::chrono::nanoseconds at_once_;
    Clock::time_point full_ = Clock::time_point::min();  // When nothing is taken any more.
};

}  // namespace muster::net

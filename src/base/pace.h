// base/pace.h - how often something may happen: a few times at once, then only every so often.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace muster {

/// A token bucket: `at_once` times without a wait, one more for every `span` that passes. So what
/// is rare is never slowed down, and a burst is taken in bundles.
class Pace {
public:
    Pace(Duration span, int at_once) : span_(span.nanoseconds), at_once_(at_once * span_) {}

    /// It happens at `now`, by a clock that never goes back, since any one moment. How long it may
    /// not happen again: zero to `span`.
    Duration take(Duration now) {
        full_ = std::max(full_, now.nanoseconds) + span_;
        return {std::clamp<std::int64_t>(full_ - at_once_ - now.nanoseconds, 0, span_)};
    }

private:
    std::int64_t span_;              // All in nanoseconds.
    std::int64_t at_once_;           // The span of so many.
    std::int64_t full_ = INT64_MIN;  // When nothing is taken any more.
};

}  // namespace muster

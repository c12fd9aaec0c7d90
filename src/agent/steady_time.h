// agent/steady_time.h - a clock that never goes back, for spans; its zero is the machine's start.
#pragma once

#include <ctime>

#include "base/time.h"

namespace muster::agent {

inline Time steady_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return Time{std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
}

}  // namespace muster::agent

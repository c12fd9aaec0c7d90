// apps/up/process.cpp - the steady clock, and the set of signals.
#include "apps/up/process.h"

#include <chrono>

namespace muster::up {

Duration steady_time() {
    const auto ticks = std::chrono::steady_clock::now().time_since_epoch();
    return nanoseconds(std::chrono::nanoseconds(ticks).count());
}

sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

}  // namespace muster::up

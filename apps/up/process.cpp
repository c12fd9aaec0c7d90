// apps/up/process.cpp - the steady clock, and the set of signals.
#include "apps/up/process.h"

#include <chrono>

#include <sys/resource.h>
#include <time.h>

#include "base/verify.h"

namespace muster::up {

Duration steady_time() {
    const auto ticks = std::chrono::steady_clock::now().time_since_epoch();
    return nanoseconds(std::chrono::nanoseconds(ticks).count());
}

Duration time_since_boot() {
    timespec time;
    VERIFY(clock_gettime(CLOCK_BOOTTIME, &time) == 0);
    return seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

sigset_t take_signals() {
    signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    return set;
}

std::size_t raise_descriptor_limit() {
    rlimit limit{};
    VERIFY(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    VERIFY(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    return limit.rlim_cur;
}

}  // namespace muster::up

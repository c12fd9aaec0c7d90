// test/kube/clock_shift.cpp - loaded before a program's libraries: its clock of the wall shows what
// a file says, the one of what passes goes on.
#include <cstdint>
#include <cstdlib>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

namespace {

/// Seconds to add: the first eight bytes of the file, which somebody else writes.
const volatile std::int64_t* shift() {
    static const volatile std::int64_t* const mapped = [] {
        static const std::int64_t none = 0;
        const char* path = std::getenv("MUSTER_TEST_CLOCK");
        const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
        void* at = fd < 0 ? MAP_FAILED : mmap(nullptr, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
        return at == MAP_FAILED ? &none : static_cast<const volatile std::int64_t*>(at);
    }();
    return mapped;
}

using ClockGettime = int (*)(clockid_t, timespec*);

int real_time(clockid_t clock, timespec* out) {
    static const auto real = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
    return real(clock, out);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
    const int result = real_time(clock, out);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        out->tv_sec += *shift();
    return result;
}

extern "C" time_t time(time_t* out) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != nullptr) *out = now.tv_sec;
    return now.tv_sec;
}

extern "C" int gettimeofday(timeval* out, void* /*zone*/) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

// base/loop.h - the seam between logic and time: who owns state runs on a Loop and gets time only
// from it.
#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"

namespace muster {

/// A queue of tasks and timers that runs them one at a time. Real one: net/asio_loop.h (a thread).
/// Simulated one: sim/virtual_loop.h (virtual time, order by seed). Everything that owns state
/// lives on exactly one Loop.
class Loop {
public:
    using Task = std::function<void()>;
    enum class TimerId : std::uint64_t {};

    virtual ~Loop() = default;

    /// The present, on this loop's clock (wall clock in the real one).
    virtual Time now() const = 0;

    /// Runs `task` later, after what was posted before. May be called from any thread.
    virtual void post(Task task) = 0;

    /// Runs `task` once `delay` has passed. Call on the loop's own thread.
    virtual TimerId after(Duration delay, Task task) = 0;

    /// Forgets a timer; one that has run or is unknown is ignored. Call on the loop's own thread.
    virtual void cancel(TimerId timer) = 0;
};

}  // namespace muster

// sim/virtual_time.h - many loops in one thread: virtual time, and an order of tasks that a seed
// decides.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/random.h"

namespace muster::sim {

class VirtualTime;

/// One owner's loop. Tasks of one loop run in the order they were posted; between loops the seed
/// decides. A dead loop (its process has crashed) runs nothing any more.
class VirtualLoop : public Loop {
public:
    explicit VirtualLoop(VirtualTime& time) : time_(time) {}
    Time now() const override;
    void post(Task task) override;
    TimerId after(Duration delay, Task task) override;
    void cancel(TimerId timer) override;

    /// Forgets all tasks and timers, now and from now on.
    void kill();

    /// Before all that waits: the rest of a task in the middle of which the process stood still.
    void post_first(Task task);
    /// What a clock of this process that only goes forward shows.
    Duration stopwatch() const;

private:
    friend class VirtualTime;
    VirtualTime& time_;
    std::deque<Task> tasks_;
    bool dead_ = false;
    Duration skew_{0};          // What this loop's clock shows beyond the true time.
    std::int64_t rate_ = 1000;  // How many ms it counts in a true second, timers' spans too.
    Time frozen_until_;
};

/// The time that all loops share, and the next task to run.
class VirtualTime {
public:
    explicit VirtualTime(Random& random, Time start)
        : random_(random), start_(start), now_(start) {}

    /// The loop lives as long as this.
    VirtualLoop& make_loop();

    Time now() const { return now_; }

    /// Runs one task, or the earliest timer when no task waits. False when there is neither before
    /// `end`; then the time is `end`. Throws Broken when very many have run and the time is the
    /// same: whoever runs keeps itself busy.
    bool step(Time end);

    /// Lets so much time pass, with all that runs in it.
    void pass(Duration span);

    /// Some task could run now.
    bool has_tasks() const;

    /// A loop's clock jumps; timers are not moved (they count spans).
    void skew(VirtualLoop& loop, Duration by) { loop.skew_ = loop.skew_ + by; }
    /// A loop's clock runs fast or slow from here on. Before its first timer.
    void set_rate(VirtualLoop& loop, std::int64_t per_mille) { loop.rate_ = per_mille; }
    /// The process of a loop stands still; what is due meanwhile runs when it goes on.
    void freeze(VirtualLoop& loop, Duration span);

private:
    friend class VirtualLoop;
    void move_to(Time time);
    struct Timer {
        VirtualLoop* loop;
        Loop::Task task;
    };

    Random& random_;
    Time start_;
    Time now_;
    std::vector<std::unique_ptr<VirtualLoop>> loops_;
    std::map<std::pair<Time, std::uint64_t>, Timer> timers_;
    std::map<std::uint64_t, Time> due_;
    std::uint64_t last_timer_ = 0;
    std::int64_t ran_ = 0;  // Since the time has moved.
};

}  // namespace muster::sim

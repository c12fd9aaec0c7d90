// base/manual_loop.h - a loop in virtual time that runs only when told: for tests and the
// simulator.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "base/loop.h"

namespace muster {

/// Runs tasks on the caller's thread, in order, in virtual time. Single-threaded.
class ManualLoop : public Loop {
public:
    explicit ManualLoop(Time start = Time{1'700'000'000'000'000'000}) : now_(start) {}

    Time now() const override { return now_; }
    void post(Task task) override { tasks_.push_back(std::move(task)); }

    TimerId after(Duration delay, Task task) override {
        const std::uint64_t id = ++last_timer_;
        timers_.emplace(std::pair(now_ + delay, id), std::move(task));
        due_[id] = now_ + delay;
        return TimerId{id};
    }

    void cancel(TimerId timer) override {
        const auto found = due_.find(static_cast<std::uint64_t>(timer));
        if (found == due_.end()) return;
        timers_.erase({found->second, found->first});
        due_.erase(found);
    }

    /// Runs one posted task. False when there is none.
    bool step() {
        if (tasks_.empty()) return false;
        const Task task = std::move(tasks_.front());
        tasks_.pop_front();
        task();
        return true;
    }

    /// Runs posted tasks until there are none. Time stands still.
    void run() {
        while (step()) {
        }
    }

    /// Lets time pass: runs what is posted and every timer due on the way, in order.
    void advance(Duration span) {
        const Time end = now_ + span;
        run();
        while (!timers_.empty() && timers_.begin()->first.first <= end) {
            fire();
            run();
        }
        now_ = end;
    }

    /// Somebody sets the clock of the wall; what waits is due as much later as before.
    void set_clock(Duration by) {
        std::map<std::pair<Time, std::uint64_t>, Task> timers;
        for (auto& [when, task] : timers_)
            timers.emplace(std::pair(when.first + by, when.second), std::move(task));
        timers_ = std::move(timers);
        for (auto& [id, when] : due_)
            when = when + by;
        now_ = now_ + by;
    }

    bool idle() const { return tasks_.empty(); }
    bool has_timers() const { return !timers_.empty(); }

    /// Jumps to the earliest timer and runs it (but not what it posts). False when there is none.
    bool fire() {
        if (timers_.empty()) return false;
        const auto first = timers_.begin();
        const Task task = std::move(first->second);
        if (now_ < first->first.first) now_ = first->first.first;
        due_.erase(first->first.second);
        timers_.erase(first);
        task();
        return true;
    }

private:
    Time now_;
    std::deque<Task> tasks_;
    std::map<std::pair<Time, std::uint64_t>, Task> timers_;
    std::map<std::uint64_t, Time> due_;
    std::uint64_t last_timer_ = 0;
};

}  // namespace muster

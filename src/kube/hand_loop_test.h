// kube/hand_loop_test.h - time that passes when a test says so.
#pragma once

#include <map>
#include <utility>

#include "base/loop.h"

namespace muster::kube {

/// A loop that runs when it is told to.
class HandLoop final : public Loop {
public:
    Time now() const override { return now_; }
    void post(Task task) override { after({}, std::move(task)); }
    TimerId after(Duration delay, Task task) override {
        tasks_.emplace(now_ + delay, std::move(task));
        return TimerId{};
    }
    void cancel(TimerId) override {}
    /// Runs all that is due within the span.
    void pass(Duration span) {
        const Time until = now_ + span;
        while (!tasks_.empty() && tasks_.begin()->first <= until) {
            now_ = tasks_.begin()->first;
            const Task task = std::move(tasks_.begin()->second);
            tasks_.erase(tasks_.begin());
            task();
        }
        now_ = until;
    }

private:
    Time now_{1'790'000'000'000'000'000};
    std::multimap<Time, Task> tasks_;
};

}  // namespace muster::kube

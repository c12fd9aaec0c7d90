// store/pumped_loop.h - a loop for tests and benchmarks: what is posted runs when it is asked for.
#pragma once

#include "base/loop.h"
#include "base/mailbox.h"

namespace muster::store {

/// Takes tasks from any thread and runs them on the one that calls run_until. Time stands still.
class PumpedLoop : public Loop {
public:
    Time now() const override { return Time{1}; }
    void post(Task task) override { tasks_.put(std::move(task)); }
    TimerId after(Duration, Task) override { return TimerId{0}; }
    void cancel(TimerId) override {}

    /// Waits for tasks and runs them, until `done`.
    template <class Done>
    void run_until(const Done& done) {
        while (!done()) {
            for (const Task& task : tasks_.take_all())
                task();
        }
    }

private:
    Mailbox<Task> tasks_;
};

}  // namespace muster::store

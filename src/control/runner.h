// control/runner.h - runs controllers: watches into one cache, wakes keys, sends writes, retries;
// the only place in control/ with effects.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "control/controller.h"
#include "control/seen.h"
#include "kube/cache.h"
#include "kube/request.h"
#include "kube/transport.h"

namespace muster::control {

/// Asks something outside the API and gives status (0: unreachable) and body back, later, on the
/// runner's loop.
using AskOutside =
    std::function<void(const Call& call, std::function<void(int status, std::string body)> done)>;

/// The runner. Lives on one loop.
///
/// A key is never reconciled twice at once. A write that succeeded is laid over the cache at once;
/// a watch event older than what the cache has is dropped. Failed writes bring the key back after
/// 100 ms, doubling up to 30 s, and not before the server wants to hear of it again (Retry-After).
class Runner {
public:
    Runner(kube::Transport& transport, Loop& loop, AskOutside ask_outside);
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    // Before start().
    void add(Controller controller);
    void add(std::unique_ptr<Planner> planner);

    /// What the controllers that were added want to see.
    std::vector<kube::Target> watched() const;

    void start();
    void stop();

    /// What is seen. Only on the runner's loop.
    const kube::Cache& seen() const;

    /// Of which of it nothing is heard now, and why. Only on the runner's loop.
    std::vector<Trouble> troubles() const;

    /// Nothing is queued, in flight or being planned: all that is seen has been answered. Timers
    /// may still be set.
    bool at_rest() const;

    /// Numbers since the start, for tests and metrics.
    struct Counts {
        std::int64_t reconciles = 0;
        std::int64_t plans = 0;
        std::int64_t writes = 0;
        std::int64_t failed_writes = 0;
        std::int64_t calls = 0;
        std::int64_t events = 0;
    };
    Counts counts() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace muster::control

// net/asio_loop.h - the real Loop: one thread that runs tasks, timers and what waits for
// descriptors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"

namespace muster::net {

/// A Loop on the wall clock, driven by one thread. Threads never share what lives on a loop: they
/// post to it. Either call `run` on a thread of one's own, or `start` to get a thread.
class AsioLoop final : public Loop {
public:
    /// What a watched descriptor is asked for.
    struct Interest {
        bool read = false;
        bool write = false;
    };
    /// What it is ready for; `read` is also set when the other end has closed or failed.
    using OnReady = std::function<void(Interest ready)>;
    enum class WatchId : std::uint64_t {};

    AsioLoop();
    ~AsioLoop() override;  // Stops, and waits for its thread when `start` made one.
    AsioLoop(const AsioLoop&) = delete;
    AsioLoop& operator=(const AsioLoop&) = delete;

    /// From the next `run` on, as long as there is much to do in little pieces, they are run in
    /// bundles, so long apart: what each brings about is then done together. What is rare runs at
    /// once. Not for a loop whose tasks somebody waits for.
    void gather(Duration span);

    /// Runs on this thread until `stop`. What was posted and not run yet is dropped.
    void run();

    /// Runs on a new thread of this name (at most 15 characters).
    void start(const std::string& thread_name);

    /// Ends `run` after the present task; from any thread. Waits for the thread that `start` made,
    /// unless it is called on it.
    void stop();

    /// True on the thread that runs this loop.
    bool on_this_thread() const;

    /// True while some thread runs this loop.
    bool is_running() const;

    Time now() const override;
    void post(Task task) override;
    TimerId after(Duration delay, Task task) override;
    void cancel(TimerId timer) override;

    /// Calls `on_ready` whenever `fd` is ready for what is wanted (level-triggered). The descriptor
    /// stays the caller's: unwatch it before closing it. Call these three on the loop's own thread
    /// (or before it runs).
    WatchId watch(int fd, Interest interest, OnReady on_ready);
    void change(WatchId watch, Interest interest);
    void unwatch(WatchId watch);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace muster::net

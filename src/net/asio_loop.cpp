// net/asio_loop.cpp - the Loop over Boost.Asio's io_context; the only file that includes Asio.
#include "net/asio_loop.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <unordered_map>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <pthread.h>

#include "base/pace.h"
#include "base/verify.h"

namespace muster::net {
namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

namespace {

/// A watched descriptor. Kept alive by the waits under way.
struct Watched {
    explicit Watched(asio::io_context& context) : descriptor(context) {}
    Descriptor descriptor;
    AsioLoop::Interest wanted;
    AsioLoop::Interest waiting;  // Which waits are under way.
    AsioLoop::OnReady on_ready;  // Empty once unwatched.
};
using WatchedPtr = std::shared_ptr<Watched>;

constexpr int bundles_at_once = 16;  // Before the first rest.

void arm(const WatchedPtr& watched);

void fired(const WatchedPtr& watched, AsioLoop::Interest ready) {
    if (ready.read) watched->waiting.read = false;
    if (ready.write) watched->waiting.write = false;
    const bool wanted =
        (ready.read && watched->wanted.read) || (ready.write && watched->wanted.write);
    if (!watched->on_ready || !wanted) return;
    const AsioLoop::OnReady call = watched->on_ready;  // It may unwatch itself.
    call(ready);
    if (watched->on_ready) arm(watched);
}

void arm(const WatchedPtr& watched) {
    if (watched->wanted.read && !watched->waiting.read) {
        watched->waiting.read = true;
        watched->descriptor.async_wait(Descriptor::wait_read,
                                       [watched](const boost::system::error_code& failed) {
                                           if (!failed) fired(watched, {.read = true});
                                       });
    }
    if (watched->wanted.write && !watched->waiting.write) {
        watched->waiting.write = true;
        watched->descriptor.async_wait(Descriptor::wait_write,
                                       [watched](const boost::system::error_code& failed) {
                                           if (!failed) fired(watched, {.write = true});
                                       });
    }
}

}  // namespace

struct AsioLoop::State {
    std::unordered_map<std::uint64_t, asio::steady_timer> timers;
    std::unordered_map<std::uint64_t, WatchedPtr> watches;
    std::uint64_t next_id = 1;
    std::atomic<std::thread::id> runner;
    std::thread thread;
    std::optional<Pace> pace;
    // Destroyed first: what tasks hold may still ask for the maps above when it goes with them.
    asio::io_context context{1};

    void run_in_bundles();
};

void AsioLoop::State::run_in_bundles() {
    while (context.run_one() > 0) {
        context.poll();
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        const Duration pause = pace->take(nanoseconds(now.count()));
        if (pause.nanoseconds > 0)
            std::this_thread::sleep_for(std::chrono::nanoseconds(pause.nanoseconds));
    }
}

AsioLoop::AsioLoop() : state_(std::make_unique<State>()) {}

AsioLoop::~AsioLoop() {
    stop();
    if (state_->thread.joinable()) state_->thread.join();
    // The descriptors are their owners', who may be gone already.
    for (auto& [id, watched] : state_->watches) {
        watched->on_ready = nullptr;
        watched->descriptor.release();
    }
    state_->watches.clear();
    state_->timers.clear();
}

void AsioLoop::gather(Duration span) {
    state_->pace.emplace(span, bundles_at_once);
}

void AsioLoop::run() {
    const auto work = asio::make_work_guard(state_->context);
    state_->runner = std::this_thread::get_id();
    if (state_->pace) {
        state_->run_in_bundles();
    } else {
        state_->context.run();
    }
    state_->runner = std::thread::id();
    state_->context.restart();  // So that it can be run again.
}

void AsioLoop::start(const std::string& thread_name) {
    VERIFY(!state_->thread.joinable());
    state_->thread = std::thread([this] { run(); });
    state_->runner = state_->thread.get_id();
    pthread_setname_np(state_->thread.native_handle(), thread_name.substr(0, 15).c_str());
}

void AsioLoop::stop() {
    state_->context.stop();
    if (state_->thread.joinable() && state_->thread.get_id() != std::this_thread::get_id())
        state_->thread.join();
}

bool AsioLoop::on_this_thread() const {
    return state_->runner.load() == std::this_thread::get_id();
}

bool AsioLoop::is_running() const {
    return state_->runner.load() != std::thread::id();
}

Time AsioLoop::now() const {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count()};
}

void AsioLoop::post(Task task) {
    asio::post(state_->context, std::move(task));
}

Loop::TimerId AsioLoop::after(Duration delay, Task task) {
    const std::uint64_t id = state_->next_id++;
    const auto span = std::chrono::nanoseconds(std::max<std::int64_t>(delay.nanoseconds, 0));
    auto& timer = state_->timers.try_emplace(id, state_->context, span).first->second;
    timer.async_wait([this, id, task = std::move(task)](const boost::system::error_code&) {
        // Gone when it was cancelled, also when it had already expired by then.
        if (state_->timers.erase(id) > 0) task();
    });
    return TimerId{id};
}

void AsioLoop::cancel(TimerId timer) {
    state_->timers.erase(static_cast<std::uint64_t>(timer));
}

AsioLoop::WatchId AsioLoop::watch(int fd, Interest interest, OnReady on_ready) {
    auto watched = std::make_shared<Watched>(state_->context);
    watched->descriptor.assign(fd);
    watched->wanted = interest;
    watched->on_ready = std::move(on_ready);
    arm(watched);
    const std::uint64_t id = state_->next_id++;
    state_->watches.emplace(id, std::move(watched));
    return WatchId{id};
}

void AsioLoop::change(WatchId watch, Interest interest) {
    const auto at = state_->watches.find(static_cast<std::uint64_t>(watch));
    VERIFY(at != state_->watches.end());
    at->second->wanted = interest;
    arm(at->second);
}

void AsioLoop::unwatch(WatchId watch) {
    const auto at = state_->watches.find(static_cast<std::uint64_t>(watch));
    if (at == state_->watches.end()) return;
    at->second->on_ready = nullptr;
    at->second->descriptor.release();  // Cancels its waits and forgets the descriptor.
    state_->watches.erase(at);
}

}  // namespace muster::net

// sim/virtual_time.cpp - which task runs next.
#include "sim/virtual_time.h"

#include <algorithm>

#include "sim/broken.h"

namespace muster::sim {
namespace {

constexpr std::int64_t most_at_once = 2'000'000;

}  // namespace

Time VirtualLoop::now() const {
    return time_.now_ + skew_;
}

void VirtualLoop::post(Task task) {
    if (!dead_) tasks_.push_back(std::move(task));
}

Loop::TimerId VirtualLoop::after(Duration delay, Task task) {
    const std::uint64_t id = ++time_.last_timer_;
    if (dead_) return TimerId{id};
    const Duration span = rate_ == 1000 ? delay : nanoseconds(delay.nanoseconds / rate_ * 1000);
    const Time due = time_.now_ + (span > Duration{0} ? span : Duration{0});
    time_.timers_.emplace(std::pair(due, id), VirtualTime::Timer{this, std::move(task)});
    time_.due_[id] = due;
    return TimerId{id};
}

void VirtualLoop::cancel(TimerId timer) {
    const auto found = time_.due_.find(static_cast<std::uint64_t>(timer));
    if (found == time_.due_.end()) return;
    time_.timers_.erase({found->second, found->first});
    time_.due_.erase(found);
}

void VirtualLoop::kill() {
    dead_ = true;
    tasks_.clear();
    for (auto timer = time_.timers_.begin(); timer != time_.timers_.end();) {
        if (timer->second.loop == this) {
            time_.due_.erase(timer->first.second);
            timer = time_.timers_.erase(timer);
        } else {
            ++timer;
        }
    }
}

void VirtualLoop::post_first(Task task) {
    if (!dead_) tasks_.push_front(std::move(task));
}

Duration VirtualLoop::stopwatch() const {
    const Duration since = time_.now_ - time_.start_;
    return milliseconds(since.nanoseconds / 1'000'000 * rate_ / 1000);
}

void VirtualTime::freeze(VirtualLoop& loop, Duration span) {
    loop.frozen_until_ = std::max(loop.frozen_until_, now_ + span);
    // The time stops there.
    timers_.emplace(std::pair(now_ + span, ++last_timer_), Timer{nullptr, [] {}});
}

VirtualLoop& VirtualTime::make_loop() {
    loops_.push_back(std::make_unique<VirtualLoop>(*this));
    return *loops_.back();
}

bool VirtualTime::has_tasks() const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [](const auto& loop) { return !loop->tasks_.empty(); });
}

void VirtualTime::pass(Duration span) {
    const Time end = now_ + span;
    while (now_ < end)
        step(end);
}

bool VirtualTime::step(Time end) {
    if (++ran_ > most_at_once) throw Broken{"tasks go on and on, and the time stands still"};
    std::vector<VirtualLoop*> ready;
    for (const auto& loop : loops_) {
        if (!loop->tasks_.empty() && loop->frozen_until_ <= now_) ready.push_back(loop.get());
    }
    if (!ready.empty()) {
        VirtualLoop& loop = *ready[random_.below(ready.size())];
        const Loop::Task task = std::move(loop.tasks_.front());
        loop.tasks_.pop_front();
        task();
        return true;
    }
    if (timers_.empty() || timers_.begin()->first.first > end) {
        move_to(end);
        return false;
    }
    const auto first = timers_.begin();
    const Loop::Task task = std::move(first->second.task);
    VirtualLoop* const of = first->second.loop;
    move_to(first->first.first);
    due_.erase(first->first.second);
    timers_.erase(first);
    if (of != nullptr && of->frozen_until_ > now_) {
        of->tasks_.push_back(task);
        return true;
    }
    task();
    return true;
}

void VirtualTime::move_to(Time time) {
    if (time != now_) ran_ = 0;
    now_ = time;
}

}  // namespace muster::sim

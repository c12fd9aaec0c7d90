// control/work_queue.cpp - the queue of keys.
#include "control/work_queue.h"

#include <algorithm>

#include "base/verify.h"

namespace muster::control {

void WorkQueue::wake(const api::Key& key) {
    if (running_.contains(key)) {
        woken_while_running_.insert(key);
    } else if (const auto held = not_before_.find(key); held != not_before_.end()) {
        wake_at(key, held->second);
    } else if (in_line_.insert(key).second) {
        ready_.push_back(key);
    }
}

void WorkQueue::wake_at(const api::Key& key, Time when) {
    if (const auto held = not_before_.find(key); held != not_before_.end())
        when = std::max(when, held->second);
    const auto found = due_.find(key);
    if (found != due_.end()) {
        if (found->second <= when) return;
        delayed_.erase({found->second, key});
    }
    due_[key] = when;
    delayed_.insert({when, key});
}

std::optional<api::Key> WorkQueue::take(Time now) {
    while (!delayed_.empty() && delayed_.begin()->first <= now) {
        const api::Key key = delayed_.begin()->second;
        delayed_.erase(delayed_.begin());
        due_.erase(key);
        not_before_.erase(key);
        wake(key);
    }
    if (ready_.empty()) return std::nullopt;
    api::Key key = std::move(ready_.front());
    ready_.pop_front();
    in_line_.erase(key);
    running_.insert(key);
    return key;
}

void WorkQueue::done(const api::Key& key) {
    failures_.erase(key);
    forget_delay(key);
    finish(key);
}

void WorkQueue::forget_delay(const api::Key& key) {
    const auto found = due_.find(key);
    if (found == due_.end()) return;
    delayed_.erase({found->second, key});
    due_.erase(found);
}

void WorkQueue::failed(const api::Key& key, Time now, Duration wait) {
    const int doublings = std::min(failures_[key]++, 9);
    // The failure decides when it comes back: a wake that came meanwhile would make a busy loop of
    // it.
    woken_while_running_.erase(key);
    finish(key);
    const Duration pause = std::min(milliseconds(100LL << doublings), seconds(30));
    if (wait > Duration{}) {
        forget_delay(key);  // Of before the server said so.
        not_before_[key] = now + wait;
    }
    wake_at(key, now + std::max(pause, wait));
}

void WorkQueue::set_clock(Duration by) {
    std::set<std::pair<Time, api::Key>> delayed;
    for (const auto& [when, key] : delayed_)
        delayed.emplace(when + by, key);
    delayed_ = std::move(delayed);
    for (ByKey<Time>* const times : {&due_, &not_before_}) {
        for (auto& [key, when] : *times)
            when = when + by;
    }
}

std::optional<Time> WorkQueue::next_due() const {
    if (delayed_.empty()) return std::nullopt;
    return delayed_.begin()->first;
}

void WorkQueue::finish(const api::Key& key) {
    VERIFY(running_.erase(key) == 1);
    if (woken_while_running_.erase(key) == 1) wake(key);
}

}  // namespace muster::control

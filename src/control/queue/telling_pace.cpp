// control/queue/telling_pace.cpp - a bucket that fills with time, and a line of those who wait.
#include "control/queue/telling_pace.h"

#include <algorithm>
#include <iterator>

namespace muster::control::queue {
namespace {

/// Who would wait longer than anybody must has come before the clock was set back.
bool is_ripe(Time at, Time now) {
    return at <= now || at > now + TellingPace::pause;
}

}  // namespace

bool TellingPace::may_tell(const api::Key& key, Time now) {
    const auto known = ripe_at_.find(key);
    if (known != ripe_at_.end()) {
        if (!is_ripe(known->second, now)) return false;
        leave_line(known);
        return true;
    }
    fill(now);
    if (left_ > 0) {
        --left_;
        return true;
    }
    const Time ripe = now + (in_order_.size() < few ? moment : pause);
    ripe_at_[key] = ripe;
    in_order_.emplace(ripe, key);
    return false;
}

void TellingPace::leave_line(std::map<api::Key, Time>::iterator waiting) {
    in_order_.erase({waiting->second, waiting->first});
    ripe_at_.erase(waiting);
}

void TellingPace::forget(const api::Key& key) {
    if (const auto waiting = ripe_at_.find(key); waiting != ripe_at_.end()) leave_line(waiting);
    settled(key);
}

std::vector<api::Key> TellingPace::take_ripe(Time now) {
    // Those who came before the clock was set back are the last.
    const auto next_ripe = [&] {
        if (in_order_.empty() || is_ripe(in_order_.begin()->first, now)) return in_order_.begin();
        const auto last = std::prev(in_order_.end());
        return is_ripe(last->first, now) ? last : in_order_.end();
    };
    std::vector<api::Key> ripe;
    for (auto next = next_ripe(); next != in_order_.end(); next = next_ripe()) {
        if (on_their_way_.size() == on_their_way_max) break;
        if (on_their_way_.insert(next->second).second) ripe.push_back(next->second);
        in_order_.erase(next);
    }
    return ripe;
}

std::optional<Time> TellingPace::next() const {
    if (in_order_.empty() || on_their_way_.size() == on_their_way_max) return std::nullopt;
    return in_order_.begin()->first;
}

void TellingPace::fill(Time now) {
    constexpr Duration of_one{seconds(1).nanoseconds / each_second};
    if (!in_order_.empty()) filled_ = now;
    filled_ = std::min(filled_, now);
    const std::int64_t more = (now - filled_).nanoseconds / of_one.nanoseconds;
    if (more <= 0) return;
    left_ = std::min(at_once, left_ + more);
    filled_ = now;
}

}  // namespace muster::control::queue

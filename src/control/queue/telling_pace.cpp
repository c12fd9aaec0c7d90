// control/queue/telling_pace.cpp - a bucket that fills with time, and a line of those who wait.
#include "control/queue/telling_pace.h"

#include <algorithm>

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
        ripe_at_.erase(known);
        return true;
    }
    fill(now);
    if (left_ > 0) {
        --left_;
        return true;
    }
    ripe_at_[key] = now + pause;
    in_order_.emplace_back(now + pause, key);
    return false;
}

void TellingPace::forget(const api::Key& key) {
    ripe_at_.erase(key);
    settled(key);
}

std::vector<api::Key> TellingPace::take_ripe(Time now) {
    std::vector<api::Key> ripe;
    for (; !in_order_.empty() && is_ripe(in_order_.front().first, now); in_order_.pop_front()) {
        const auto found = ripe_at_.find(in_order_.front().second);
        if (found == ripe_at_.end() || !is_ripe(found->second, now)) continue;
        if (on_their_way_.size() == on_their_way_max) break;
        if (on_their_way_.insert(found->first).second) ripe.push_back(found->first);
    }
    return ripe;
}

std::optional<Time> TellingPace::next() const {
    if (in_order_.empty() || on_their_way_.size() == on_their_way_max) return std::nullopt;
    return in_order_.front().first;
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

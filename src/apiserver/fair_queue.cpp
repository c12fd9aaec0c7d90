// apiserver/fair_queue.cpp - lines ordered by the time that their clients have had.
#include "apiserver/fair_queue.h"

#include <algorithm>

namespace muster::apiserver {
namespace {

/// Clients that do not wait are remembered until they are so many, then those that are level with
/// the others are forgotten.
constexpr std::size_t remembered = 4096;

}  // namespace

bool FairQueue::push(const std::string& client, Waiting waiting) {
    if (lines_.size() > remembered) forget_idle();
    Line& line = lines_[client];
    if (line.waiting.size() >= line_max) return false;
    if (line.waiting.empty()) {
        line.used = std::max(line.used, begin_);
        ready_.insert({line.used, client});
    }
    line.waiting.push_back(std::move(waiting));
    return true;
}

std::optional<FairQueue::Turn> FairQueue::next(Time now) {
    for (const auto& [used, client] : ready_) {
        Line& line = lines_.at(client);
        Waiting& first = line.waiting.front();
        const bool late = first.until <= now;
        if (!late && first.has_room && !first.has_room()) continue;
        Turn turn{client, std::move(late ? first.refuse : first.run)};
        line.waiting.pop_front();
        // Who was passed over for want of room has not had its turn.
        if (used == ready_.begin()->first) begin_ = std::max(begin_, used);
        if (line.waiting.empty()) ready_.erase({used, turn.client});
        return turn;
    }
    return std::nullopt;
}

bool FairQueue::has_next(Time now) const {
    return std::any_of(ready_.begin(), ready_.end(), [&](const auto& each) {
        const Waiting& first = lines_.at(each.second).waiting.front();
        return first.until <= now || !first.has_room || first.has_room();
    });
}

void FairQueue::spent(const std::string& client, Duration time) {
    const auto at = lines_.find(client);
    if (at == lines_.end() || time.nanoseconds <= 0) return;
    Line& line = at->second;
    const bool waits = ready_.erase({line.used, client}) > 0;
    line.used += time.nanoseconds;
    if (waits) ready_.insert({line.used, client});
}

void FairQueue::forget_idle() {
    std::erase_if(lines_, [&](const auto& each) {
        return each.second.waiting.empty() && each.second.used <= begin_;
    });
}

}  // namespace muster::apiserver

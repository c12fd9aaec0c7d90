// apiserver/fair_queue.cpp - lines ordered by the time that their clients have had.
#include "apiserver/fair_queue.h"

#include <algorithm>

namespace muster::apiserver {
namespace {

/// Clients that do not wait are remembered until they are so many, then those that are level with
/// the others are forgotten.
constexpr std::size_t remembered = 4096;

}  // namespace

FairQueue::Waiting FairQueue::Line::take_first() {
    const std::string name = std::move(order.front());
    order.pop_front();
    const auto part = parts.find(name);
    Waiting first = std::move(part->second.front());
    part->second.pop_front();
    --size;
    if (part->second.empty()) {
        parts.erase(part);
    } else {
        order.push_back(name);
    }
    return first;
}

/// The one of the longest part that came last goes, if that part stays longer than `part` becomes.
std::optional<FairQueue::Waiting> FairQueue::Line::make_room(const std::string& part) {
    const auto longest = std::max_element(
        parts.begin(), parts.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const auto own = parts.find(part);
    const std::size_t own_size = own == parts.end() ? 0 : own->second.size();
    if (longest == parts.end() || longest->second.size() < own_size + 2) return std::nullopt;
    Waiting displaced = std::move(longest->second.back());
    longest->second.pop_back();
    --size;
    return displaced;
}

bool FairQueue::push(const std::string& client, Waiting waiting) {
    if (lines_.size() > remembered) forget_idle();
    Line& line = lines_[client];
    if (line.size >= line_max) {
        std::optional<Waiting> displaced = line.make_room(waiting.part);
        if (!displaced) return false;
        displaced_.push_back({client, std::move(displaced->refuse)});
    }
    if (line.size == 0) {
        line.used = std::max(line.used, begin_);
        ready_.insert({line.used, client});
    }
    std::deque<Waiting>& part = line.parts[waiting.part];
    if (part.empty()) line.order.push_back(waiting.part);
    part.push_back(std::move(waiting));
    ++line.size;
    return true;
}

std::optional<FairQueue::Turn> FairQueue::next(Time now) {
    if (!displaced_.empty()) {
        Turn turn = std::move(displaced_.front());
        displaced_.pop_front();
        return turn;
    }
    for (const auto& [used, client] : ready_) {
        Line& line = lines_.at(client);
        const Waiting& first = line.first();
        const bool late = first.until <= now;
        if (!late && first.has_room && !first.has_room()) continue;
        Waiting taken = line.take_first();
        Turn turn{client, std::move(late ? taken.refuse : taken.run)};
        // Who was passed over for want of room has not had its turn.
        if (used == ready_.begin()->first) begin_ = std::max(begin_, used);
        if (line.size == 0) ready_.erase({used, turn.client});
        return turn;
    }
    return std::nullopt;
}

bool FairQueue::has_next(Time now) const {
    if (!displaced_.empty()) return true;
    return std::any_of(ready_.begin(), ready_.end(), [&](const auto& each) {
        const Waiting& first = lines_.at(each.second).first();
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
        return each.second.size == 0 && each.second.used <= begin_;
    });
}

}  // namespace muster::apiserver

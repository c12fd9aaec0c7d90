// agent/removal_queue.cpp - see removal_queue.h.
#include "agent/removal_queue.h"

#include <algorithm>
#include <utility>

namespace muster::agent {

void RemovalQueue::add(RemovalJob job) {
    ++pods_[job.uid];
    waiting_[job.ns].push_back(std::move(job));
}

std::optional<RemovalJob> RemovalQueue::take() {
    if (busy_.size() >= kMostAtOnce) return std::nullopt;
    std::vector<std::string> turn;
    for (auto each = waiting_.upper_bound(last_); each != waiting_.end(); ++each)
        turn.push_back(each->first);
    for (auto each = waiting_.begin(); each != waiting_.end() && each->first <= last_; ++each)
        turn.push_back(each->first);
    for (const std::string& ns : turn)
        if (auto job = take_of(ns)) return job;
    return std::nullopt;
}

std::optional<RemovalJob> RemovalQueue::take_of(const std::string& ns) {
    const auto running = running_.find(ns);
    if (running != running_.end() && running->second >= kMostOfNamespace) return std::nullopt;
    auto& jobs = waiting_[ns];
    const auto next = std::find_if(jobs.begin(), jobs.end(), [this](const RemovalJob& job) {
        return !busy_.contains(job.uid);
    });
    if (next == jobs.end()) return std::nullopt;
    RemovalJob job = std::move(*next);
    jobs.erase(next);
    if (jobs.empty()) waiting_.erase(ns);
    ++running_[ns];
    busy_.insert(job.uid);
    last_ = ns;
    return job;
}

void RemovalQueue::end(const RemovalJob& job) {
    busy_.erase(job.uid);
    if (--running_[job.ns] == 0) running_.erase(job.ns);
    if (--pods_[job.uid] == 0) pods_.erase(job.uid);
}

}  // namespace muster::agent

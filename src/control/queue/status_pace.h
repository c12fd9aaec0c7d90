// control/queue/status_pace.h - how often the counts of queues are written: in rounds, the further
// apart the longer the server takes for one.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "api/kind.h"
#include "base/time.h"

namespace muster::control::queue {

/// In a burst every workload changes the counts of its queues. They are written together, in
/// rounds: a tenth of a second apart, more with many queues, and nine times as long as the round
/// before took, so that a busy server has nine tenths of its time for workloads. No object is
/// written again while a write of it is on its way: that would only meet a conflict.
class StatusPace {
public:
    static constexpr Duration shortest = milliseconds(100);
    static constexpr Duration of_each = milliseconds(10);     // Object of the round before.
    static constexpr Duration longest_for_many = seconds(1);  // Kueue's pause, always.
    static constexpr std::int64_t times_as_long = 9;          // As the round before took.
    static constexpr Duration longest = seconds(8);
    static constexpr Duration patience = seconds(2);  // With a round that does not end.

    /// Absent: a round may be sent now. Else when to ask again, if nothing settles before.
    std::optional<Time> not_before(Time now);
    bool is_on_its_way(const api::Key& key) const { return on_its_way_.contains(key); }

    /// The next round may be sent at once: it has what does not wait (a finalizer).
    void hurry() { hurry_ = true; }

    /// A write of the round that begins at `now`.
    void sent(const api::Key& key, Time now);
    /// Something was seen or heard of a write; also of objects that were not written.
    void settled(const api::Key& key) { on_its_way_.erase(key); }

private:
    std::set<api::Key> on_its_way_;
    std::optional<Time> began_;  // The round that is under way.
    std::int64_t size_ = 0;      // Its writes.
    Time due_;
    bool hurry_ = false;
};

}  // namespace muster::control::queue

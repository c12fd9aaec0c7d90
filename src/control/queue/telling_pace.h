// control/queue/telling_pace.h - in a burst, why a workload waits is told only of those that wait
// longer than a moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "base/time.h"

namespace muster::control::queue {

/// Says which reasons may be written now. The first of a burst may, as many as a handful of jobs
/// makes; of those that come faster than that, each when a pause has passed and it is still asked
/// for, a few at a time. The pause is a moment while few wait for it, and longer in a great burst:
/// most have started by then, and a write is saved: the more, the busier the server is.
class TellingPace {
public:
    static constexpr std::int64_t at_once = 50;
    static constexpr std::int64_t each_second = 10;  // Again, once nobody is in the line.
    static constexpr Duration moment = milliseconds(300);
    static constexpr std::size_t few = 50;  // In the line.
    static constexpr Duration pause = seconds(1);
    static constexpr std::size_t on_their_way_max = 4;  // Of those who had to wait.

    /// Whether it may be told now. If not, `take_ripe` names it after the pause.
    bool may_tell(const api::Key& key, Time now);
    /// There is nothing to tell of it any more.
    void forget(const api::Key& key);
    /// Those whose pause is over and whose turn it is; they may be told. The others follow when
    /// these have been.
    std::vector<api::Key> take_ripe(Time now);
    /// A write about it was seen, or failed, or is not needed; also of those never told.
    void settled(const api::Key& key) { on_their_way_.erase(key); }
    /// When the next is ripe. Absent: nobody waits, or as many as may be are on their way.
    std::optional<Time> next() const;

private:
    void leave_line(std::map<api::Key, Time>::iterator waiting);
    void fill(Time now);

    std::int64_t left_ = at_once;
    Time filled_;
    std::map<api::Key, Time> ripe_at_;
    std::set<api::Key> on_their_way_;
    std::set<std::pair<Time, api::Key>> in_order_;  // Those who wait, as they get ripe.
};

}  // namespace muster::control::queue

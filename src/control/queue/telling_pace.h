// control/queue/telling_pace.h - in a burst, why a workload waits is told only of those that wait
// longer than a moment.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "base/time.h"

namespace muster::control::queue {

/// Says which reasons may be written now. The first of a burst may, as many as a handful of jobs
/// makes; of those that come faster than that, each when a pause has passed and it is still asked
/// for. Most have started by then, and a write is saved.
class TellingPace {
public:
    static constexpr std::int64_t at_once = 50;
    static constexpr std::int64_t each_second = 10;
    static constexpr Duration pause = seconds(1);

    /// Whether it may be told now. If not, `take_ripe` names it after the pause.
    bool may_tell(const api::Key& key, Time now);
    /// There is nothing to tell of it any more.
    void forget(const api::Key& key);
    /// Those whose pause is over; they may be told.
    std::vector<api::Key> take_ripe(Time now);
    /// When the next is ripe.
    std::optional<Time> next() const;

private:
    void fill(Time now);

    std::int64_t left_ = at_once;
    Time filled_;
    std::map<api::Key, Time> ripe_at_;
    std::deque<std::pair<Time, api::Key>> in_order_;  // Also some that were forgotten since.
};

}  // namespace muster::control::queue

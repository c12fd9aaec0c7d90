// control/work_queue.h - which keys to reconcile next: each at most once in line, never while it
// runs, failures later and later.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "api/kind.h"
#include "base/time.h"

namespace muster::control {

/// The work queue of one controller; time is a parameter.
///
/// Invariant: a key is in at most one of `ready_` and `running_`; one that is woken while it runs
/// comes back when it is done.
class WorkQueue {
public:
    /// Puts the key in line now; when somebody has asked to be left in peace, after that.
    void wake(const api::Key& key);
    /// Puts the key in line at a time; the earlier of several counts.
    void wake_at(const api::Key& key, Time when);
    /// The next key, which then runs. Absent when none is ready.
    std::optional<api::Key> take(Time now);
    /// The key's run is over; a success forgets its failures, and when it was to be looked at again
    /// by what was known before it: the caller says what is to be now.
    void done(const api::Key& key);
    /// The key's run failed: it comes back after 100 ms, doubling up to 30 s, or sooner when it is
    /// woken; but not before `wait`, for which a server has asked, is over.
    void failed(const api::Key& key, Time now, Duration wait = {});

    /// The clock was set by so much: delayed keys wait as long as before.
    void set_clock(Duration by);

    /// When the earliest delayed key is due. Absent when none is delayed.
    std::optional<Time> next_due() const;
    bool idle() const { return ready_.empty() && running_.empty(); }

private:
    void finish(const api::Key& key);
    void forget_delay(const api::Key& key);
    std::deque<api::Key> ready_;
    using Keys = std::unordered_set<api::Key, api::KeyHash>;
    template <class T>
    using ByKey = std::unordered_map<api::Key, T, api::KeyHash>;

    Keys in_line_;
    Keys running_;
    Keys woken_while_running_;
    std::set<std::pair<Time, api::Key>> delayed_;
    ByKey<Time> due_;
    ByKey<Time> not_before_;  // Only of keys that are delayed; never later than they are due.
    ByKey<int> failures_;
};

}  // namespace muster::control

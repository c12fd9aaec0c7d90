// control/queue/planner_doubles.cpp - admissions that another operator has written while this one
// decided: a request of its predecessor that came very late.
#include <set>
#include <string>
#include <utility>

#include "control/queue/names.h"
#include "control/queue/planner.h"
#include "decide/double_admission.h"

namespace muster::control::queue {
namespace {

Eviction eviction_of_double(const std::string& queue) {
    return {"Preempted",
            "Two operators admitted at once: this admission came later than others that use the "
            "quota of ClusterQueue " +
                queue,
            "InClusterQueue"};
}

}  // namespace

/// It was seen to wait, and holds quota now that this planner did not give it. What holds some when
/// it is first seen was admitted before its time.
void QueuePlanner::note_stranger(const api::Key& key, const Entry& entry,
                                 const decide::Assignment& held) {
    if (!rim_.had_predecessor || !rim_.had_predecessor()) return;
    if (decide::assignment_of(state_, entry.id) != held) strangers_.insert(key);
}

/// Of what two operators have admitted at once the later one goes, and of several one after the
/// other. Nobody is looked at a second
/// time: a quota that is cut later evicts nobody.
void QueuePlanner::evict_doubles() {
    // What one of them holds comes back first: the others may fit in then.
    if (last_double_ && decide::assignment_of(state_, *last_double_)) return;
    last_double_.reset();
    while (!strangers_.empty() && !last_double_) {
        const api::Key key = *strangers_.begin();
        strangers_.erase(strangers_.begin());
        const auto found = entries_.find(key);
        if (found == entries_.end() || found->second.over || found->second.ending) continue;
        const std::string& id = found->second.id;
        if (evictions_.contains(key) || !decide::exceeds_what_was_left(state_, id)) continue;
        evictions_[key] = eviction_of_double(decide::assignment_of(state_, id)->cluster_queue);
        to_write_.insert(key);
        last_double_ = id;
    }
}

}  // namespace muster::control::queue

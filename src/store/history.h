// store/history.h - the newest changes in order, within bounds of number and memory.
#pragma once

#include <deque>

#include "store/store.h"

namespace muster::store {

/// Changes of consecutive revisions; the oldest are forgotten first.
class History {
public:
    History(HistoryLimits limits, Revision newest) : limits_(limits), forgotten_(newest) {}

    void add(Change change);

    /// The newest revision that is not kept; all later ones are.
    Revision forgotten() const { return forgotten_; }

    /// The changes after `since`, oldest first. Requires: since >= forgotten().
    template <class Visit>
    void each_after(Revision since, const Visit& visit) const {
        const std::size_t from = static_cast<std::size_t>(since - forgotten_);
        for (std::size_t i = from; i < changes_.size(); ++i)
            visit(changes_[i]);
    }

private:
    HistoryLimits limits_;
    std::deque<Change> changes_;
    std::size_t bytes_ = 0;
    Revision forgotten_;
};

}  // namespace muster::store

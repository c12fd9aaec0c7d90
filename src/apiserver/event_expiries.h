// apiserver/event_expiries.h - when each Event goes, in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <tuple>
#include <utility>

#include "base/time.h"
#include "store/store.h"

namespace muster::apiserver {

/// An entry for each write of an Event; those of a write that is not the Event's newest any more
/// count for nothing, and are dropped before they are more than the others.
class EventExpiries {
public:
    struct Expiry {
        Time when;
        std::string key;
        store::Revision revision;
    };

    /// `events`: so many Events there are, about. `is_newest(expiry)`: whether its write is still
    /// the Event's newest; not asked of the one that is added.
    template <class IsNewest>
    void add(Expiry expiry, std::size_t events, const IsNewest& is_newest) {
        constexpr std::size_t slack = 1024;
        if (entries_.size() > 2 * events + slack)
            std::erase_if(entries_, [&](const Expiry& entry) { return !is_newest(entry); });
        entries_.push_back(std::move(expiry));
    }
    /// After they were added in another order than that of time.
    void sort() {
        std::sort(entries_.begin(), entries_.end(), [](const Expiry& a, const Expiry& b) {
            return std::tie(a.when, a.revision) < std::tie(b.when, b.revision);
        });
    }

    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    const Expiry& first() const { return entries_.front(); }
    Expiry take_first() {
        Expiry expiry = std::move(entries_.front());
        entries_.pop_front();
        return expiry;
    }

private:
    std::deque<Expiry> entries_;
};

}  // namespace muster::apiserver

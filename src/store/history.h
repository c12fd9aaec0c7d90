// store/history.h - the newest changes in order, within bounds of number and memory; all but the
// last few are packed.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace muster::store {

/// Changes of consecutive revisions; the oldest are forgotten first.
///
/// Watches start from what was just listed, so most changes are never asked for again; and the
/// values of one object, before and after, are nearly the same. Packed together they take a
/// twentieth.
class History {
public:
    History(HistoryLimits limits, Revision newest) : limits_(limits), forgotten_(newest) {}

    void add(Change change);

    /// The newest revision that is not kept; all later ones are.
    Revision forgotten() const { return forgotten_; }

    /// The changes of keys with this prefix after `since`, oldest first. Requires: since >=
    /// forgotten(). `visit` may not add.
    void each_after(Revision since, std::string_view prefix,
                    const std::function<void(const Change&)>& visit) const;

    static constexpr std::size_t changes_of_block = 64;

private:
    struct Block {
        Revision newest = 0;
        std::size_t changes = 0;
        std::size_t plain_size = 0;
        std::string packed;
        std::vector<std::string> folders;  // Of its keys: only who asks for one has it unpacked.

        std::size_t bytes() const;
        bool may_have(std::string_view prefix) const;
    };

    std::size_t bytes() const { return packed_bytes_ + recent_bytes_; }
    Change take_oldest_recent();
    void pack_oldest();
    void forget_oldest();

    HistoryLimits limits_;
    std::deque<Block> blocks_;
    std::deque<Change> recent_;  // Newer than all blocks.
    std::size_t packed_changes_ = 0;
    std::size_t packed_bytes_ = 0;
    std::size_t recent_bytes_ = 0;
    Revision forgotten_;
};

}  // namespace muster::store

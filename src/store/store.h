// store/store.h - a durable, revisioned, watchable key-value store: all state in memory as bytes,
// every write on disk before it is visible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "store/journal.h"

namespace muster::store {

/// Counts all writes of the store's life, across keys and restarts. The resourceVersion of
/// Kubernetes.
using Revision = std::int64_t;

/// A key's value as it is now.
struct Entry {
    std::string key;
    Bytes value;
    Revision revision = 0;  // Of the write that made it so.
};

/// One write, as watchers see it.
struct Change {
    std::string key;
    Bytes before;  // Null: it was created.
    Bytes after;   // Null: it was removed.
    Revision revision = 0;
    Revision before_revision = 0;
};

/// How much of the past is kept for watches that start late: whatever is reached first.
struct HistoryLimits {
    std::size_t changes = 50'000;
    std::size_t bytes = 4 << 20;  // Of what only history still holds, packed, and of bookkeeping.
};

/// What a write finds when it is staged.
enum class Staged { accepted, conflict };

/// The store. Lives on one thread; the journal's thread posts what is durable back to it.
///
/// A write is staged (checked against the newest state, staged writes included, and given its
/// revision), becomes durable with others in one group commit, then becomes visible: readers and
/// watchers see it, and `done` runs. A failed disk write ends the process: nothing that was
/// answered may be lost.
class Store {
public:
    using Done = std::function<void()>;
    using Watcher = std::function<void(const Change&)>;
    enum class WatchId : std::uint64_t {};

    /// Reads everything the journal holds. Throws Error when it is not ours, locked, or damaged.
    explicit Store(std::unique_ptr<Journal> journal, HistoryLimits limits = {});
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// The newest visible revision.
    Revision revision() const;
    /// The revision that the next staged write gets.
    Revision next_revision() const;

    /// The visible value of a key.
    const Entry* find(std::string_view key) const;
    /// The newest value, staged writes included: what preconditions are checked against. Null
    /// value: absent.
    Entry newest(std::string_view key) const;

    /// The revision of the newest write under this prefix that is staged and not yet visible; 0:
    /// there is none.
    Revision staged_under(std::string_view prefix) const;

    /// At most `limit` visible entries with this prefix, after `start_after` (exclusive; empty:
    /// from the first), in key order.
    std::vector<Entry> range(std::string_view prefix, std::string_view start_after,
                             std::size_t limit) const;
    std::size_t count(std::string_view prefix) const;

    /// What there is room for on the disk: asked before a write is staged.
    Room room() const;

    /// Stages a write of `value` (null: removal) that holds if the newest revision of the key is
    /// `expected` (0: absent). `value` must already contain `next_revision()` where it wants to
    /// name its own revision. `done` may be empty. Removing what is absent is a conflict.
    [[nodiscard]] Staged stage(std::string key, Bytes value, Revision expected, Done done);

    /// Calls `watcher` for each change under `prefix` after revision `since`, first (before this
    /// returns) those kept in history, then as they become visible. Absent when `since` is older
    /// than the history. A watcher may stage, watch and unwatch; it is not called again within its
    /// own call.
    std::optional<WatchId> watch(std::string prefix, Revision since, Watcher watcher);
    void unwatch(WatchId watch);

    /// The oldest revision that a watch may start from.
    Revision oldest_watchable() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace muster::store

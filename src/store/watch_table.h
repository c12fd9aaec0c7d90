// store/watch_table.h - who wants to hear of which keys: watchers by prefix, found without looking
// at the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/store.h"

namespace muster::store {

/// Watchers by prefix. While a change is told, watchers may come and go.
class WatchTable {
public:
    /// The watcher hears of changes after `seen`.
    Store::WatchId add(std::string prefix, Revision seen, Store::Watcher watcher);
    void remove(Store::WatchId watch);

    /// Tells the change to each watcher whose prefix the key has. Not to be nested.
    void tell(const Change& change);

private:
    struct Slot {
        Store::WatchId id{};
        Revision seen = 0;
        bool removed = false;  // While a change is told, a slot is only marked.
        Store::Watcher watcher;
    };
    using Slots = std::vector<std::unique_ptr<Slot>>;

    void tell_slots(Slots& slots, const Change& change);
    void sweep(const std::string& prefix);

    std::map<std::string, Slots, std::less<>> by_prefix_;
    std::unordered_map<std::uint64_t, std::string> prefix_of_;
    std::vector<std::string> to_sweep_;
    bool telling_ = false;
    std::uint64_t last_id_ = 0;
};

}  // namespace muster::store

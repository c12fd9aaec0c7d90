// store/watch_table.cpp - finding the prefixes of a key among many, and calling their watchers.
#include "store/watch_table.h"

#include <algorithm>
#include <utility>

#include "base/verify.h"

namespace muster::store {
namespace {

std::size_t common_length(std::string_view a, std::string_view b) {
    const auto end = std::mismatch(
        a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
        b.begin());
    return static_cast<std::size_t>(end.first - a.begin());
}

}  // namespace

Store::WatchId WatchTable::add(std::string prefix, Revision seen, Store::Watcher watcher) {
    const Store::WatchId id{++last_id_};
    auto slot = std::make_unique<Slot>(Slot{id, seen, false, std::move(watcher)});
    by_prefix_[prefix].push_back(std::move(slot));
    prefix_of_.emplace(last_id_, std::move(prefix));
    return id;
}

void WatchTable::remove(Store::WatchId watch) {
    const auto found = prefix_of_.find(static_cast<std::uint64_t>(watch));
    if (found == prefix_of_.end()) return;
    for (const std::unique_ptr<Slot>& slot : by_prefix_.find(found->second)->second) {
        if (slot->id == watch) slot->removed = true;
    }
    if (telling_) {
        to_sweep_.push_back(found->second);
    } else {
        sweep(found->second);
    }
    prefix_of_.erase(found);
}

void WatchTable::tell(const Change& change) {
    VERIFY(!telling_);
    telling_ = true;
    // The greatest prefix not above what is left of the key either is a prefix of it, or shares so
    // much with it that every prefix of the key has at most that length.
    std::string_view left = change.key;
    for (;;) {
        auto at = by_prefix_.upper_bound(left);
        if (at == by_prefix_.begin()) break;
        --at;
        const std::size_t common = common_length(at->first, left);
        const bool matches = common == at->first.size();
        if (matches) tell_slots(at->second, change);
        if (matches && common == 0) break;
        left = left.substr(0, matches ? common - 1 : common);
    }
    telling_ = false;
    for (const std::string& prefix : std::exchange(to_sweep_, {}))
        sweep(prefix);
}

void WatchTable::tell_slots(Slots& slots, const Change& change) {
    // By index: a watcher may add watchers.
    const std::size_t count = slots.size();
    for (std::size_t i = 0; i < count; ++i) {
        Slot& slot = *slots[i];
        if (!slot.removed && slot.seen < change.revision) slot.watcher(change);
    }
}

void WatchTable::sweep(const std::string& prefix) {
    const auto found = by_prefix_.find(prefix);
    if (found == by_prefix_.end()) return;
    // What a removed watcher owns may itself watch or unwatch when it is destroyed.
    Slots gone;
    Slots& slots = found->second;
    for (auto slot = slots.begin(); slot != slots.end();) {
        if (!(*slot)->removed) {
            ++slot;
            continue;
        }
        gone.push_back(std::move(*slot));
        slot = slots.erase(slot);
    }
    if (slots.empty()) by_prefix_.erase(found);
}

}  // namespace muster::store

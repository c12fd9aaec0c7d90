// decide/flat_map.h - small maps that live for one search: sorted in one piece of memory.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace muster::decide {

/// Best where keys mostly come in their order. What it returns ends with the next new key.
template <class Key, class Value>
class FlatMap {
public:
    Value* find(const Key& key) {
        const auto at = place_of(key);
        return at == entries_.end() || at->first != key ? nullptr : &at->second;
    }
    Value& operator[](const Key& key) {
        const auto at = place_of(key);
        if (at != entries_.end() && at->first == key) return at->second;
        return entries_.insert(at, {key, Value{}})->second;
    }
    void clear() { entries_.clear(); }
    void reserve(std::size_t count) { entries_.reserve(count); }
    auto begin() const { return entries_.begin(); }
    auto end() const { return entries_.end(); }

private:
    auto place_of(const Key& key) {
        if (entries_.empty() || entries_.back().first < key) return entries_.end();
        return std::lower_bound(
            entries_.begin(), entries_.end(), key,
            [](const auto& entry, const Key& wanted) { return entry.first < wanted; });
    }

    std::vector<std::pair<Key, Value>> entries_;
};

}  // namespace muster::decide

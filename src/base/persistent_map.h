// base/persistent_map.h - an ordered map and an ordered set whose copies share memory.
#pragma once

#include <functional>
#include <utility>

#include "base/persistent_tree.h"

namespace muster {

template <class Key_, class Value, class Less_>
struct PersistentMapTraits {
    struct Entry {
        Key_ key;
        Value value;
    };
    using Key = Key_;
    using Less = Less_;
    static const Key& key(const Entry& entry) { return entry.key; }
};

template <class Key_, class Less_>
struct PersistentSetTraits {
    using Entry = Key_;
    using Key = Key_;
    using Less = Less_;
    static const Key& key(const Entry& entry) { return entry; }
};

/// An ordered map. A copy takes constant time and shares all nodes; a change takes O(log n), also
/// the first one after a copy. Iteration yields {key, value} in order, for reading; iterators and
/// references end with the next change.
template <class Key, class Value, class Less = std::less<>>
class PersistentMap : public PersistentTree<PersistentMapTraits<Key, Value, Less>> {
public:
    /// False, and nothing changes, when the key is there.
    bool insert(Key key, Value value) {
        return this->insert_entry({std::move(key), std::move(value)});
    }
    /// Null when there is none.
    template <class K>
    const Value* find(const K& key) const {
        const auto* entry = this->find_entry(key);
        return entry == nullptr ? nullptr : &entry->value;
    }
    /// For changing; null when there is none.
    template <class K>
    Value* edit(const K& key) {
        auto* entry = this->edit_entry(key);
        return entry == nullptr ? nullptr : &entry->value;
    }
    /// For changing; made when there is none.
    Value& operator[](const Key& key) {
        if (!this->contains(key)) insert(key, Value());
        return *edit(key);
    }
};

/// An ordered set with the same promises.
template <class Key, class Less = std::less<>>
class PersistentSet : public PersistentTree<PersistentSetTraits<Key, Less>> {
public:
    /// False, and nothing changes, when the key is there.
    bool insert(Key key) { return this->insert_entry(std::move(key)); }
};

}  // namespace muster

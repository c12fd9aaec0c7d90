// kube/cache.h - what is seen: the objects of the watched kinds, read-only for everybody but its
// one writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "api/value.h"

namespace muster::kube {

/// An object as it was seen; shared, never changed.
struct Object {
    api::Key key;
    api::Value value;
    std::int64_t version = 0;  // metadata.resourceVersion.
    std::string uid;

    std::string_view label(std::string_view name) const;
    std::string_view annotation(std::string_view name) const;
    bool is_terminating() const;  // Has a deletionTimestamp.
};
using ObjectPtr = std::shared_ptr<const Object>;

/// Wraps an object's JSON value; key, uid and version are read from its metadata.
ObjectPtr make_object(const api::GroupResource& resource, api::Value value);

/// What an index goes by: a word of an object, such as a label; objects without it are in none.
using IndexFunc = std::string_view (*)(const Object&);

struct Index {
    api::GroupResource resource;
    IndexFunc word = nullptr;
};

/// All seen objects, by kind, then namespace and name; with an index by controlling owner and those
/// that were asked for.
///
/// Writes that the server took but the watch has not shown yet are laid over it by the runner, so
/// readers see their own writes.
class Cache {
public:
    Cache() = default;
    Cache(const Cache&) = delete;  // One table points into the other.
    Cache& operator=(const Cache&) = delete;
    Cache(Cache&&) = default;
    Cache& operator=(Cache&&) = default;
    ~Cache() = default;

    /// Null when not seen.
    ObjectPtr find(const api::Key& key) const;
    /// All of a kind in key order; in one namespace when `ns` is not empty.
    std::vector<ObjectPtr> list(const api::GroupResource& resource, std::string_view ns = "") const;
    /// Objects of a kind whose controller owner reference has this uid.
    std::vector<ObjectPtr> owned_by(const api::GroupResource& resource,
                                    std::string_view owner_uid) const;
    /// Objects of a kind in a namespace of which `word` is `value`, which is not empty, in key
    /// order. Without such an index all of the namespace are looked at.
    std::vector<ObjectPtr> by_index(const api::GroupResource& resource, std::string_view ns,
                                    IndexFunc word, std::string_view value) const;
    /// True when the first full list of every watched kind has been seen.
    bool synced() const { return synced_; }
    /// The kinds that the server is known to have.
    const api::Kinds& kinds() const { return kinds_; }

    // For the one writer (the runner; tests fill caches with it too).
    void put(ObjectPtr object);
    /// Before the first object of the kind is put; a second time is no other.
    void add_index(const Index& index);
    void remove(const api::Key& key);
    void set_synced() { synced_ = true; }
    void add_kind(api::Kind kind) { kinds_.add(std::move(kind)); }
    void remove_kind(const api::GroupResource& resource) { kinds_.remove(resource); }

private:
    using Place = std::pair<std::string_view, std::string_view>;  // Namespace and name.
    /// Where an object stands; a newer one of the same key takes its place there.
    struct Cell {
        mutable ObjectPtr object;
    };
    /// Objects of one kind stand by the names that they have themselves.
    struct ByPlace {
        using is_transparent = void;
        static Place place(const ObjectPtr& object) { return {object->key.ns, object->key.name}; }
        static Place place(const Cell& cell) { return place(cell.object); }
        static Place place(const Place& place) { return place; }
        bool operator()(const auto& a, const auto& b) const { return place(a) < place(b); }
    };
    using Cells = std::set<Cell, ByPlace>;
    /// And all of them by key, for the one that is wanted: a walk down a tree of many is slow.
    struct ByKey {
        using is_transparent = void;
        static const api::Key& key(Cells::const_iterator cell) { return cell->object->key; }
        static const api::Key& key(const api::Key& key) { return key; }
        std::size_t operator()(const auto& a) const { return api::KeyHash()(key(a)); }
        bool operator()(const auto& a, const auto& b) const { return key(a) == key(b); }
    };

    using Objects = std::set<ObjectPtr, ByPlace>;
    struct Indexed {
        IndexFunc word;
        std::map<std::pair<std::string, std::string>, Objects, std::less<>>
            by_word;  // And namespace.
    };

    void add_to_indexes(const ObjectPtr& object);
    void remove_from_indexes(const ObjectPtr& object);
    const Indexed* find_index(const api::GroupResource& resource, IndexFunc word) const;

    std::map<api::GroupResource, Cells> objects_;
    std::unordered_set<Cells::const_iterator, ByKey, ByKey> by_key_;
    std::map<std::pair<api::GroupResource, std::string>, Objects> by_owner_;
    std::map<api::GroupResource, std::vector<Indexed>> indexes_;
    api::Kinds kinds_;
    bool synced_ = false;
};

}  // namespace muster::kube

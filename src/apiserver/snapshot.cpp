// apiserver/snapshot.cpp - the present with later changes taken back.
#include "apiserver/snapshot.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace muster::apiserver {
namespace {

struct Former {
    Bytes value;  // Null: it was not there.
    store::Revision revision = 0;
    bool is_now = false;  // There is such a key at present.
};

/// What each key that changed since `revision` was before. Absent: too long ago.
std::optional<std::map<std::string, Former>> changed_since(store::Store& store,
                                                           std::string_view prefix,
                                                           store::Revision revision) {
    std::map<std::string, Former> former;
    const auto watch = store.watch(std::string(prefix), revision, [&](const store::Change& change) {
        const auto [entry, first] =
            former.try_emplace(change.key, Former{change.before, change.before_revision, false});
        static_cast<void>(first);
        entry->second.is_now = change.after != nullptr;
    });
    if (!watch) return std::nullopt;
    store.unwatch(*watch);
    return former;
}

}  // namespace

std::optional<Snapshot> snapshot_at(store::Store& store, std::string_view prefix,
                                    store::Revision revision, std::string_view start_after,
                                    std::size_t limit) {
    Snapshot snapshot;
    snapshot.total = store.count(prefix);
    if (revision >= store.revision()) {
        snapshot.entries = store.range(prefix, start_after, limit);
        return snapshot;
    }
    const auto former = changed_since(store, prefix, revision);
    if (!former) return std::nullopt;
    for (store::Entry& entry : store.range(prefix, start_after, limit + former->size())) {
        if (!former->contains(entry.key)) snapshot.entries.push_back(std::move(entry));
    }
    for (const auto& [key, before] : *former) {
        if (before.is_now) --snapshot.total;
        if (before.value == nullptr) continue;
        ++snapshot.total;
        if (key > start_after) snapshot.entries.push_back({key, before.value, before.revision});
    }
    std::sort(snapshot.entries.begin(), snapshot.entries.end(),
              [](const store::Entry& a, const store::Entry& b) { return a.key < b.key; });
    if (snapshot.entries.size() > limit) snapshot.entries.resize(limit);
    return snapshot;
}

}  // namespace muster::apiserver

// apiserver/snapshot.h - the past: what was under a prefix at an earlier revision.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace muster::apiserver {

/// A part of what was under a prefix, and how much there was in all.
struct Snapshot {
    std::vector<store::Entry> entries;
    std::size_t total = 0;
};

/// Entries under the prefix as they were at `revision`, after the key `start_after`, at most
/// `limit`. Absent when the store's history does not reach back so far.
std::optional<Snapshot> snapshot_at(store::Store& store, std::string_view prefix,
                                    store::Revision revision, std::string_view start_after,
                                    std::size_t limit);

}  // namespace muster::apiserver

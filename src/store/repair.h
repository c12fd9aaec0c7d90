// store/repair.h - makes a sound store folder of what can still be read of a damaged one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster::store {

/// What a repair did.
struct Repaired {
    bool was_whole = false;     // There was nothing to do, and nothing was done.
    std::string fault;          // What was wrong, in one sentence.
    std::size_t objects = 0;    // So many keys are there now.
    std::int64_t readable = 0;  // Everything up to this revision is there, unless tables were lost.
    std::int64_t revision = 0;  // Where the counting goes on.
    bool lost_tables = false;   // Parts of the state from any time may be gone.
    std::string damaged_copy;   // Where the damaged folder is now.
};

/// The counting goes on so far above all revisions that may have been given out, that none is given
/// out twice: a client that still knows a lost one is told that it is too old.
constexpr std::int64_t revisions_skipped_by_repair = 1'000'000;

/// The damaged folder is kept, under another name beside it. Throws Error when the folder is in
/// use, is not a store, or nothing at all can be read.
Repaired repair_store(const std::string& folder);

/// Makes an empty store where there is no database; the counting goes on at `revision`. A folder
/// that has something else is kept as by repair_store, which `damaged_copy` then names.
Repaired replace_lost_store(const std::string& folder, std::int64_t revision);

}  // namespace muster::store

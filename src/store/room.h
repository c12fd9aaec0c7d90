// store/room.h - whether the disk has room for a write. It is asked before one is taken: a database
// that meets a full disk cannot go on.
#pragma once

#include <cstdint>

namespace muster::store {

/// What may still be written.
enum class Room {
    plenty,
    removals_only,  // Nothing but what removes objects: people can make room.
    none,
};

/// A disk as it is.
struct DiskSpace {
    std::uint64_t size = 0;   // Bytes.
    std::uint64_t free = 0;   // Of them, for this process, without what is on its way there.
    std::uint64_t files = 0;  // How many more files there can be.
};

/// What is kept back: for the database's own work, which takes room before it gives any back. No
/// disk keeps back more than half of itself.
constexpr std::uint64_t kept_for_removals = 32 << 20;  // Only what removes objects gets this,
constexpr std::uint64_t kept_for_database = 16 << 20;  // and nobody gets this.
constexpr std::uint64_t files_kept = 64;

/// There must be so much more before one that was refused is taken again, so that it is not taken
/// and refused by turns.
constexpr std::uint64_t room_slack = 2 << 20;

/// `before`: what was said last.
Room room_on(const DiskSpace& disk, Room before);

}  // namespace muster::store

// store/room.cpp - compares what is free with what is kept back.
#include "store/room.h"

#include <algorithm>

namespace muster::store {

Room room_on(const DiskSpace& disk, Room before) {
    const std::uint64_t kept = std::min(kept_for_removals, disk.size / 2);
    // A disk that keeps back less needs less to change its mind.
    const std::uint64_t slack = std::min(room_slack, kept / 16);
    const auto is_free = [&](std::uint64_t bytes, Room room) {
        return disk.free >= bytes + (before > room ? slack : 0) && disk.files >= files_kept;
    };
    if (is_free(kept, Room::plenty)) return Room::plenty;
    const std::uint64_t least = kept * kept_for_database / kept_for_removals;
    return is_free(least, Room::removals_only) ? Room::removals_only : Room::none;
}

}  // namespace muster::store

// store/disk_room.h - looks at the disk of the store, often enough to know whether a write fits.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/time.h"
#include "store/room.h"

namespace muster::store {

/// Between two looks it counts what is written itself. Lives on the store's thread, but for
/// `was_written`.
class DiskRoom {
public:
    explicit DiskRoom(std::string folder) : folder_(std::move(folder)) {}

    /// Says in the log when it changes.
    Room now();
    void will_be_written(std::uint64_t bytes) { appended_ += bytes; }
    void was_written(std::uint64_t bytes) { written_ += bytes; }

private:
    void look();
    void say(Room room) const;

    std::string folder_;
    Room room_ = Room::plenty;
    std::uint64_t appended_ = 0;
    std::atomic<std::uint64_t> written_ = 0;  // Of `appended_`; any thread.

    DiskSpace seen_;
    std::uint64_t written_then_ = 0;   // What `seen_` knows of, at least.
    std::uint64_t appended_then_ = 0;  // When it was seen.
    Duration due_{};                   // When it is too old, by a clock that never goes back.
};

}  // namespace muster::store

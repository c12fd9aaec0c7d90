// store/disk_room.cpp - asks the file system, at most every 20 ms and every megabyte.
#include "store/disk_room.h"

#include <algorithm>
#include <cstdint>

#include <rocksdb/env.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"

namespace muster::store {
namespace {

constexpr Duration between_looks = milliseconds(20);
constexpr std::uint64_t bytes_between_looks = 1 << 20;

}  // namespace

Room DiskRoom::now() {
    rocksdb::Env& machine = *rocksdb::Env::Default();
    const Duration now = nanoseconds(static_cast<std::int64_t>(machine.NowNanos()));
    if (now >= due_ || appended_ - appended_then_ >= bytes_between_looks) {
        look();
        due_ = now + between_looks;
    }
    DiskSpace disk = seen_;
    disk.free -= std::min(disk.free, appended_ - written_then_);
    const Room room = room_on(disk, room_);
    if (room != room_) say(room);
    room_ = room;
    return room;
}

void DiskRoom::look() {
    // Before the disk is asked: what is written meanwhile counts twice rather than not at all.
    written_then_ = written_;
    appended_then_ = appended_;
    struct statvfs disk {};
    if (statvfs(folder_.c_str(), &disk) != 0) {
        // Nobody knows; the write itself will tell.
        seen_ = {0, 0, files_kept};
        return;
    }
    const bool is_root = geteuid() == 0;
    const bool counts_files = disk.f_files != 0;
    const std::uint64_t files = is_root ? disk.f_ffree : disk.f_favail;
    seen_ = {disk.f_blocks * disk.f_frsize,
             (is_root ? disk.f_bfree : disk.f_bavail) * disk.f_frsize,
             counts_files ? files : files_kept};
}

void DiskRoom::say(Room room) const {
    const std::string of_disk = "the disk of " + folder_ + " ";
    if (room == Room::plenty) {
        log_info("store", of_disk + "has room again: all writes are taken");
    } else if (room == Room::removals_only) {
        log_warning("store", of_disk +
                                 "is full but for a reserve: only deletes are taken until "
                                 "there is room; free some space on it");
    } else {
        log_warning("store", of_disk +
                                 "is full: no writes are taken until there is room; free "
                                 "some space on it");
    }
}

}  // namespace muster::store

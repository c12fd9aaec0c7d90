// agent/disk_limits.h - when a pod takes more of the disk than it may. Without touching the disk.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/pod_seen.h"
#include "api/value.h"

namespace muster::agent {

/// The disk use of a pod, in bytes and in files: each takes an inode.
struct PodDiskUse {
    std::map<std::string, std::int64_t> volumes;     // emptyDirs on the disk.
    std::map<std::string, std::int64_t> containers;  // Writable folders and logs.
    std::int64_t other = 0;  // Its /etc, and files without a name that it still holds.
    std::int64_t files = 0;  // How many there are of them together.

    std::int64_t all() const;
};
/// As pod_chores.h gives it.
PodDiskUse pod_disk_use_of(const api::Value& value);

/// True when the pod has a limit that must be watched: emptyDir sizeLimit or ephemeral-storage.
bool has_disk_limits(const api::Value& pod);

/// The kubelet's verdict on a pod that is over one of its limits, in its words.
std::optional<Verdict> disk_verdict(const api::Value& pod, const PodDiskUse& use);

/// How full the disk is: of bytes, and of inodes.
struct DiskSpace {
    std::int64_t size = 0;
    std::int64_t free = 0;    // For users that are not root.
    std::int64_t inodes = 0;  // 0: the file system makes them as it needs them.
    std::int64_t inodes_free = 0;
};
/// The bytes that stay free for Muster itself: a twentieth of the disk, at most 256 MiB.
std::int64_t disk_reserve(const DiskSpace& space);
/// The inodes that do: a twentieth of them, at most 10,000.
std::int64_t inodes_reserve(const DiskSpace& space);
/// Below a reserve, a pod has to go at once.
bool is_low(const DiskSpace& space);

/// What is about to be free: of pods that are being ended or have ended, and whose files are being
/// removed.
struct Freeing {
    std::int64_t bytes = 0;
    std::int64_t files = 0;
    std::int64_t removed = 0;  // Files of all pods that are gone, since the start.
};

/// Whether nobody is evicted for space although the disk is low: what is about to be free is
/// enough, and it goes on. Asked after each measurement of the pods.
class FreeingWait {
public:
    /// No file is gone and no space is free in so long: nothing goes on.
    static constexpr Duration kStandstill = seconds(5);
    /// Muster's own writes wait for space too.
    static constexpr Duration kLongest = seconds(60);

    bool waits(const DiskSpace& space, const Freeing& freeing, Time now);
    /// The disk is not low.
    void reset() { *this = {}; }

private:
    std::optional<Time> since_;
    Time moved_;  // When something was freed last.
    std::int64_t removed_ = 0;
    std::int64_t free_ = 0;
    std::int64_t inodes_free_ = 0;
};

/// Which pod goes when the disk is low, and what it is told: the one that takes most of what is
/// short, by name where two take the same. None when no pod takes anything.
struct DiskEviction {
    std::string uid;
    Verdict verdict;
};
std::optional<DiskEviction> evict_for_space(const std::map<std::string, PodDiskUse>& uses,
                                            const DiskSpace& space);

}  // namespace muster::agent

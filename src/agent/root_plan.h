// agent/root_plan.h - what the file system of a container is made of, as a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/uid_ranges.h"
#include "api/value.h"

namespace muster::agent {

/// Something that a container sees at a path of its own.
struct BindMount {
    std::string source;  // A path that Muster chose, as the holder sees it.
    std::string target;  // Where the pod wants it.
    bool read_only = false;
    /// The part of the source that is mounted, as users named it: a path beneath the source, then
    /// one beneath that. No step leads out of the one before. A missing step is made as a folder,
    /// where the mount is not read-only.
    std::vector<std::string> inside{};
};

/// The parts of a container's root.
struct RootPlan {
    std::string mount_point;    // An empty folder.
    std::string scratch;        // The container's own disk space; gets tmp/, vartmp/ and home/.
    std::string shared_memory;  // The pod's /dev/shm.
    std::string home;           // A writable folder of its own.
    std::string working_directory;
    bool read_only = false;     // Only volumes, /dev/shm and /dev can be written.
    bool accelerators = false;  // GPUs and their like are among its devices.
    IdMap ids{};                // Of the pod; empty: all is this process's user's.
    std::int64_t user = 0;      // Whose the home folder is, as the pod sees it.
    std::int64_t group = 0;
    std::vector<std::string> hidden{};        // Folders that look empty wherever they would show.
    std::vector<std::string> environments{};  // Visible read-only at their own paths.
    std::vector<BindMount> mounts{};          // Volumes and files, in this order.
};

api::Value to_value(const RootPlan& plan);
RootPlan root_plan_of(const api::Value& value);

}  // namespace muster::agent

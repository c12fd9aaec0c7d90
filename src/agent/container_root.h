// agent/container_root.h - the file system that a container sees: the machine's, read-only, with
// its own writable places and volumes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/value.h"

namespace muster::agent {

/// Something of the machine that a container sees at a path of its own.
struct BindMount {
    std::string source;  // As the holder sees it.
    std::string target;
    bool read_only = false;
};

/// What a container's root is made of.
struct RootPlan {
    std::string mount_point;    // An empty folder.
    std::string scratch;        // The container's own disk space; gets tmp/, vartmp/ and home/.
    std::string shared_memory;  // The pod's /dev/shm.
    std::string home;           // Replaced by an own empty one.
    std::string working_directory;
    bool read_only = false;                 // Only volumes, /dev/shm and /dev can be written.
    std::int64_t owner = 0;                 // Of the home folder.
    std::vector<std::string> hidden;        // Folders that look empty.
    std::vector<std::string> environments;  // Visible read-only, also where home hides them.
    std::vector<BindMount> mounts;          // Volumes and files, in this order.
};

api::Value to_value(const RootPlan& plan);
RootPlan root_plan_of(const api::Value& value);

/// Makes the root and enters it. The process must be in mount and pid namespaces of its own. Throws
/// Error.
void enter_root(const RootPlan& plan);

}  // namespace muster::agent

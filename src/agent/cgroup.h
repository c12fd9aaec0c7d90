// agent/cgroup.h - limits of cpu and memory as control groups write them, version 1 and 2; without
// touching any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"

namespace muster::agent {

enum class CgroupVersion { one, two };

/// What a container may use at most; 0: as much as there is.
struct ContainerLimits {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t processes = 0;  // With threads.
    friend bool operator==(const ContainerLimits&, const ContainerLimits&) = default;
};

/// The container's own `resources.limits`; what it does not limit, the pod's do.
ContainerLimits limits_of(const api::Value& pod, const api::Value& container);
api::Value to_value(const ContainerLimits& limits);
ContainerLimits container_limits_of(const api::Value& value);

/// The folders of the groups in which a process is, one for each kind of limit.
struct CgroupFolders {
    CgroupVersion version = CgroupVersion::one;
    std::string cpu;     // Absolute; empty: there is no such hierarchy.
    std::string memory;  // The same as `cpu` in version 2.
    std::string pids;
    // Where the hierarchies are mounted: a container sees its own group there.
    std::string cpu_mount;
    std::string memory_mount;
    std::string pids_mount;
};

/// Reads /proc/self/mountinfo and /proc/self/cgroup. Version 1 where its controllers are mounted,
/// else version 2.
CgroupFolders cgroup_folders(std::string_view mountinfo, std::string_view own);

/// A file of a group and what is to be written to it.
struct CgroupSetting {
    std::string file;
    std::string value;
    bool must = true;  // False: the kernel may be without it.
    friend bool operator==(const CgroupSetting&, const CgroupSetting&) = default;
};
std::vector<CgroupSetting> cpu_settings(CgroupVersion version, std::int64_t milli);
std::vector<CgroupSetting> memory_settings(CgroupVersion version, std::int64_t bytes);

std::vector<CgroupSetting> pids_settings(std::int64_t processes);

/// How many processes and threads all pods may have together, of what the machine can have: an
/// eighth is left for the machine itself.
std::int64_t processes_of_all_pods(std::int64_t threads_max, std::int64_t pid_max);

/// The file that counts what was killed for want of memory, and the count in it.
const char* memory_kills_file(CgroupVersion version);
std::int64_t memory_kills_in(std::string_view content);

}  // namespace muster::agent

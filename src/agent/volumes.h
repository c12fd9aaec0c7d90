// agent/volumes.h - what a pod's volumes hold and where its containers see them.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/pod_sources.h"
#include "agent/root_plan.h"
#include "api/value.h"
#include "base/bytes.h"

namespace muster::agent {

/// What the files of a pod's volumes have together, with their names and what each costs beside.
constexpr std::size_t kFilesLimit = 16 << 20;
/// Each is made on the disk, and the next pod waits for it.
constexpr std::size_t kFilesMost = 5'000;
constexpr std::size_t kMemoryVolumesMost = 100;

struct VolumeFile {
    std::string path;  // Inside the volume.
    Bytes content;     // Files of one key share it.
    int mode = 0644;
};

/// One volume as it is to be made.
struct VolumePlan {
    enum class Kind { folder, memory, machine_path, files };
    std::string name;
    Kind kind = Kind::folder;
    std::int64_t size_limit = 0;  // Memory; 0: none.
    std::string machine_path;     // hostPath
    std::string path_type;        // "", Directory, DirectoryOrCreate, File, FileOrCreate, ...
    std::string machine_root;     // The allowed path that it is in,
    std::string machine_inside;   // and the rest.
    bool machine_read_only = true;
    std::vector<VolumeFile> files;
};

/// All volumes of a pod, or why they cannot be made, in the kubelet's words.
struct VolumesPlan {
    std::vector<VolumePlan> volumes;
    std::string problem;
};
VolumesPlan plan_volumes(const api::Value& pod, const Sources& sources, const PodPlace& place);

/// Finds the allowed path that each hostPath is in; one that is in none is the plan's problem.
void admit_machine_paths(VolumesPlan& plan, const std::vector<HostPath>& allowed);

/// What a container mounts, shortest path first. Volumes are in `folder`/NAME; subPath is inside
/// the volume, and a subPathExpr is expanded with the container's variables.
std::vector<BindMount> plan_mounts(const api::Value& container, const VolumesPlan& volumes,
                                   const std::string& folder, const Variables& variables);

}  // namespace muster::agent

// agent/cgroup_tree.h - the control groups of one Muster: made, filled, asked and removed.
#pragma once

#include <string>
#include <vector>

#include "agent/cgroup.h"
#include "agent/root_plan.h"

namespace muster::agent {

/// Where this Muster makes groups for its pods; without a folder that limit is not enforced.
struct CgroupTree {
    CgroupVersion version = CgroupVersion::one;
    std::string cpu;
    std::string memory;
    std::string cpu_mount;
    std::string memory_mount;
    std::string pids;  // Empty: the number of processes is limited otherwise.
    std::string pids_mount;
    std::string problem;  // Why not all limits are enforced: a clause for the node's condition.

    bool enforces_all() const { return !cpu.empty() && !memory.empty(); }
};

/// Makes this process's group of the name below the one it is in, after removing what a dead one
/// left there. What cannot be had is told in `problem`.
CgroupTree claim_cgroups(const std::string& name);

/// The group of one run of a container.
struct RunGroup {
    std::vector<std::string> folders;  // To be entered; empty: nothing is limited.
    std::string memory;                // The one that counts kills; empty: none.
    std::vector<BindMount> mounts;     // What the container sees of them, as in a cluster.
    bool counts_processes = false;     // The number of processes is limited.
};

/// Makes the group with its limits; `pod` and `run` become folder names. Throws Error when the
/// kernel refuses a limit.
RunGroup make_run_group(const CgroupTree& tree, const std::string& pod, const std::string& run,
                        const ContainerLimits& limits);

/// Puts the calling process, and so all that it starts, into the groups. Throws Error.
void enter_groups(const std::vector<std::string>& folders);

/// Kills every process of the group at once, also what it is just starting. False: the kernel
/// cannot (it is older than 5.14, or its groups are of version 1), or the run has no group.
bool kill_run_group(const RunGroup& group);
/// Lets nothing more be started in the group, where it counts processes.
void close_run_group(const RunGroup& group);
/// True while a process of the group lives.
bool holds_processes(const RunGroup& group);

/// True when something in the group was killed because the memory was used up.
bool was_out_of_memory(const CgroupTree& tree, const RunGroup& group);

/// Removes the groups of a run, of a pod, or of all; those that still hold a process stay.
void remove_run_group(const RunGroup& group);
void remove_pod_groups(const CgroupTree& tree, const std::string& pod);
void remove_groups(const CgroupTree& tree);

}  // namespace muster::agent

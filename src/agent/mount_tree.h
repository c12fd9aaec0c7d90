// agent/mount_tree.h - mounts as descriptors: taken, changed and put in place without a path.
#pragma once

#include <string>
#include <vector>

#include "agent/descriptor.h"

namespace muster::agent {

/// The restrictions of a mount.
struct MountFlags {
    bool read_only = false;
    bool no_devices = true;
    bool no_programs = false;  // noexec
};

/// A detached copy of what is mounted at an open file or folder, with all that is mounted beneath
/// it. `what` names it in errors. Throws Error.
Descriptor copy_tree(int at, const std::string& what);

/// The same by a path that Muster chose; empty with errno when nothing is there.
Descriptor copy_tree_at(const std::string& path);

/// A detached file system of its own ("tmpfs", "proc", ...) with "key=value" or "flag" options.
/// Empty with errno when the kernel refuses it.
Descriptor new_file_system(const char* type, const std::vector<std::string>& options,
                           const MountFlags& flags);

enum class Depth { one, all };

/// Narrows a tree, or only its top, to the flags; set-user-id bits never count. Throws Error.
void narrow(int tree, const MountFlags& flags, Depth depth, const std::string& what);

/// Puts a detached tree over an open file or folder. Throws Error.
void attach(int tree, int place, const std::string& what);

}  // namespace muster::agent

// agent/beneath.h - paths that a pod or a user names, resolved by descriptor beneath a folder that
// Muster chose.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "agent/descriptor.h"

namespace muster::agent {

/// How links on the way are followed.
enum class Reach {
    beneath,  // A path that leads out, by a link or by "..", is refused (EXDEV).
    in_root,  // The folder is the root of the path: nothing leads out of it.
};

/// Opens `path` from `folder` with `flags` of open(2). Links of /proc that lead anywhere are
/// refused (ELOOP). Empty with errno when it cannot.
Descriptor open_within(int folder, const std::string& path, Reach reach, int flags);

/// The owner of a new file or folder, as this process sees the ids; -1: it is left as it is.
struct Ownership {
    std::int64_t user = -1;
    std::int64_t group = -1;
};

/// The file or folder wanted at the end of a path; missing folders on the way are made alike.
struct Place {
    enum class Kind { folder, file };
    Kind kind = Kind::folder;
    mode_t mode = 0755;  // Of what is made.
    Ownership owner{};
};

/// A descriptor (O_PATH) of what is at `path`, which is made where it is missing, with the folders
/// above it. Each step is resolved from `folder` anew, so that a link that changes meanwhile leads
/// nowhere else. `read_only` is called when a folder cannot be written (EROFS), and may make it
/// writable; then the step is tried once more. Throws Error.
using ReadOnlyFolder = std::function<void(int folder)>;
Descriptor make_within(int folder, const std::string& path, Reach reach, const Place& place,
                       const ReadOnlyFolder& read_only = {});

/// Calls `each` with every name in the folder, "." and ".." left out. Stops with false after
/// `limit` names.
bool list_folder(int folder, std::size_t limit, const std::function<void(const char*)>& each);

/// Removes `name` in `folder` with all that is in it, through no link, however deep it is. Each
/// folder is this process' alone before it is emptied, so that a process that still holds it makes
/// nothing new in it. What cannot be removed stays; false then. `removed` is called for each file
/// or folder that is gone, with the bytes that it took.
using Removed = std::function<void(std::int64_t bytes)>;
bool remove_within(int folder, const std::string& name, const Removed& removed = {});

/// The space and the inodes that a folder takes on the disk.
struct DiskUse {
    std::int64_t bytes = 0;
    std::int64_t files = 0;
};

/// Adds up `name` in `folder`: through no link, on no other file system. A name that is not there
/// takes nothing.
DiskUse disk_use_within(int folder, const std::string& name);

/// The first `limit` bytes of a regular file, or its last ones. Empty when there is no such file; a
/// link or a pipe is none.
enum class End { first, last };
std::string read_within(int folder, const std::string& name, std::size_t limit, End end);

}  // namespace muster::agent

// agent/removed_files.h - the files that have no name any more and live on in the processes that
// hold them: they take space that no walk through folders finds.
#pragma once

#include <sys/types.h>

#include "agent/beneath.h"

namespace muster::agent {

/// The space of the removed regular files on `device` that a process or one of its descendants has
/// open or mapped. Each file counts once. What cannot be asked (a process that has just ended, a
/// mapping without the right to see it) counts for nothing.
DiskUse removed_files_of(pid_t process, dev_t device);

}  // namespace muster::agent

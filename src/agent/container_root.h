// agent/container_root.h - the file system that a container sees: programs and libraries of the
// machine, the environment of its image, and what is its own. Nothing else of the machine.
#pragma once

#include "agent/root_plan.h"

namespace muster::agent {

/// Makes the root and enters it. The process must be in mount and pid namespaces of its own that
/// nobody else is in, with all capabilities over them. What the pod itself named is touched only
/// after the machine's root is gone from the namespace. Throws Error.
void enter_root(const RootPlan& plan);

}  // namespace muster::agent

// apps/cli/pod_target.h - the pod that "POD" or "job/NAME" means.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/command.h"

namespace muster::cli {

/// The name of the pod; for an owner the first of its pods, running ones before others. Throws
/// Error when it has none.
std::string pod_of(Command& command, const std::string& target);

/// The container that is meant: the one named, which must be there, else the annotated or the first
/// one, which is said when there are several. What was named when the pod cannot be read.
std::string container_of(Command& command, const std::string& pod, const std::string& named);

/// The names of the pods with these labels, sorted.
std::vector<std::string> pods_selected(Command& command, const std::string& selector);

}  // namespace muster::cli

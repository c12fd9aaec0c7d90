// apps/cli/run_plugin.h - runs a kubeconfig's credential plugin and gives what it prints.
#pragma once

#include <string>

#include "kube/exec_plugin.h"

namespace muster::cli {

/// Waits until it has ended, at most a minute; its errors go to ours. Throws Error in words.
std::string run_plugin(const kube::ExecPlugin& plugin);

}  // namespace muster::cli

// agent/host_path.h - the paths of this machine that pods may mount with hostPath.
#pragma once

#include <string>

namespace muster::agent {

/// One path, with all beneath it.
struct HostPath {
    std::string path;  // Absolute, without "." or "..", doubled slashes or one at its end.
    bool writable = false;
};

/// Why a path may not be given to pods, in one clause; empty when it may. `data_directory` is
/// Muster's own: nothing in it or around it may.
std::string host_path_problem(const std::string& path, const std::string& data_directory);

}  // namespace muster::agent

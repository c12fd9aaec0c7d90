// agent/host_path.cpp - see host_path.h.
#include "agent/host_path.h"

#include <filesystem>
#include <system_error>

namespace muster::agent {

namespace {

bool is_below(const std::string& path, const std::string& folder) {
    return path == folder || path.starts_with(folder + "/");
}

}  // namespace

std::string host_path_problem(const std::string& path, const std::string& data_directory) {
    const std::string clean = std::filesystem::path(path).lexically_normal().string();
    if (path.empty() || path[0] != '/' || clean != path || (path.size() > 1 && path.back() == '/'))
        return "give it as an absolute path without \".\", \"..\" and needless slashes";
    if (path == "/") return "it would show pods all of the machine";
    std::error_code none;
    const std::string real = std::filesystem::weakly_canonical(path, none).string();
    if (real != path) return "it leads over a link to " + real + ": give that path";
    for (const char* system : {"/proc", "/sys", "/dev", "/run"})
        if (is_below(path, system))
            return std::string(system) + " is how the machine is steered; no pod may have it";
    if (is_below(path, data_directory) || is_below(data_directory, path))
        return "Muster's own data is in it (" + data_directory + ")";
    return "";
}

}  // namespace muster::agent

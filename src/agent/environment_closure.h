// agent/environment_closure.h - which folders of this machine an environment consists of: a virtual
// environment points to the Python that it was made with, and perhaps to packages elsewhere.
#pragma once

#include <string>
#include <vector>

namespace muster::agent {

/// Absolute paths, shortest first: the environment itself, under its own and its real name; the
/// Python installations that it builds on; what the links in its bin/ and the lines of its .pth
/// files lead to. `missing` names the first that is not there, or that pods cannot read, with what
/// to do; empty when all are there. What the machine shows to every pod (/usr, /bin, /lib*) is left
/// out.
struct EnvironmentClosure {
    std::vector<std::string> paths;
    std::string missing;
};
EnvironmentClosure environment_closure(const std::string& environment);

}  // namespace muster::agent

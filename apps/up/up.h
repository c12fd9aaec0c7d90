// apps/up/up.h - `muster up`: everything on this machine, in one process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::up {

/// What the command line says.
struct UpOptions {
    std::string data;                       // Empty: the usual folder.
    std::string listen = "127.0.0.1:6443";  // ADDRESS:PORT; port 0: any free one.
    std::string kubeconfig;                 // Empty: "kubeconfig" in the data folder.
    std::vector<std::string> nodes;         // "NAME:cpu=8,memory=8Gi"; none: this machine.
    std::string config;                     // A file of Kueue's Configuration; may be empty.
    std::string feature_gates;              // "A=true,B=false"; not when the file has some.
    std::int64_t shutdown_grace = 30;       // Seconds that pods have to end, at most.
    bool allow_shared_uid = false;          // Others' pods may run as Muster's own user.
    bool api_only = false;                  // No controllers and no nodes: nothing acts by itself.
};

/// Runs until SIGTERM or SIGINT; prints `ready` when it serves. Gives the exit code. Throws Error
/// in words for the user when it cannot start. Requires: no other threads yet.
int run_up(const UpOptions& options);

}  // namespace muster::up

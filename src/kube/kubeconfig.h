// kube/kubeconfig.h - kubeconfig files: which server a user means and how to convince it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kube/http_transport.h"

namespace muster::kube {

/// One file of a KUBECONFIG list, read.
struct KubeconfigFile {
    std::string path;  // Relative paths inside are relative to its folder.
    std::string text;
};

/// What a command line says beside the files; empty: as the files say.
struct KubeconfigChoice {
    std::string context;
    std::string cluster;
    std::string user;
    std::string server;
    std::string token;
    std::string impersonate;
};

/// The connection that the files' current context, or the chosen one, describes. As in kubectl the
/// first file that names a thing wins. `read` gives the content of a file that one of them names
/// and throws Error when it cannot; it is kept where a token file may change. `run` gives what a
/// credential plugin prints; without it users with one are refused. Throws Error in words about
/// what is missing.
using ReadFile = std::function<std::string(const std::string& path)>;
using RunPlugin = std::function<std::string(const ExecPlugin& plugin)>;
Connection connection_of(const std::vector<KubeconfigFile>& files, const KubeconfigChoice& choice,
                         const ReadFile& read, const RunPlugin& run = nullptr);

/// The server that this program's own pod belongs to, with its service account; `variable` gives
/// the environment. Absent outside of a cluster.
std::optional<Connection> in_cluster_connection(
    const std::function<std::string(const std::string& name)>& variable, const ReadFile& read);

/// A kubeconfig with one cluster, user and context, everything inline.
std::string kubeconfig_text(const Connection& connection, const std::string& name,
                            const std::string& user);

}  // namespace muster::kube

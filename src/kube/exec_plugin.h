// kube/exec_plugin.h - programs that give credentials (client.authentication.k8s.io): what they are
// asked, and what their answer says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/value.h"
#include "base/time.h"

namespace muster::kube {

/// A user's `exec` in a kubeconfig.
struct ExecPlugin {
    std::string api_version;  // client.authentication.k8s.io/v1 or v1beta1.
    std::string command;      // A path, or a name to be found in PATH.
    std::vector<std::string> args;
    std::vector<std::pair<std::string, std::string>> env;  // Beside our own.
    std::string install_hint;
    api::Value cluster;  // Null unless the plugin wants to know about it.
};

/// What a request proves itself with.
struct Credential {
    std::string token;
    std::string certificate_pem;
    std::string key_pem;
    std::optional<Time> until;  // Absent: until the server refuses it.
};

/// The `exec` of a user, whose paths with a slash are relative to `folder`. Throws Error in words.
ExecPlugin read_exec_plugin(const api::Value& exec, const std::string& folder);

/// The text of KUBERNETES_EXEC_INFO.
std::string exec_info(const ExecPlugin& plugin);

/// What a plugin printed. Throws Error that names the plugin and what is wrong.
Credential read_exec_answer(const ExecPlugin& plugin, std::string_view printed);

}  // namespace muster::kube

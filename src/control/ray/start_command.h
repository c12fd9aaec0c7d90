// control/ray/start_command.h - the `ray start` line of a head or worker, as KubeRay makes it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/value.h"

namespace muster::control::ray {

enum class NodeType { head, worker };

/// The parameters of `ray start` by name: the user's, completed by what the container's resources,
/// the group's `resources` and `labels`, and the node's role say. The user's own values win.
/// `head_address` is "SERVICE.NAMESPACE.svc.cluster.local:6379"; only workers use it.
std::map<std::string, std::string> start_parameters(NodeType type, const api::Value& group,
                                                    std::string_view head_address);

/// "ray start --head  --block  --num-cpus=1 ": flags sorted by name, each with a blank before and
/// behind.
std::string start_command(NodeType type, const std::map<std::string, std::string>& parameters);

/// The GCS port that a head's parameters name; 6379 when they name none.
std::string gcs_port(const api::Value& head_group);

}  // namespace muster::control::ray

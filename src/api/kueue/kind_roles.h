// api/kueue/kind_roles.h - Kueue's roles for people: of each kind that has to do with queues, who
// may edit it and who may see it.
#pragma once

#include <string>
#include <vector>

#include "api/value.h"

namespace muster::api {

/// What the roles are called and whom they are gathered for.
struct KindRoleNames {
    std::string prefix = "kueue";  // "kueue-localqueue-editor-role"
    /// On `muster up` Kubernetes' own role `edit` gets what batch-user has, and what waits is
    /// listed.
    enum class Server { a_cluster, muster_up };
    Server server = Server::a_cluster;
};

/// batch-admin and batch-user, which the cluster fills, and an editor and a viewer role for each
/// kind, by the labels of Kueue and of Kubernetes' roles `view`, `edit` and `admin`.
std::vector<Value> kind_roles(const KindRoleNames& names);

}  // namespace muster::api

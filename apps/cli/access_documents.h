// apps/cli/access_documents.h - the objects of RBAC that an installation needs.
#pragma once

#include <string>
#include <vector>

#include "api/value.h"
#include "control/rights.h"

namespace muster::cli {

/// What the objects are called and where they are.
struct AccessNames {
    std::string prefix = "muster";  // "muster-operator", "muster-batch-user-role"
    std::string ns = "muster-system";
};

/// Rules of a role: resources of one group with the same verbs stand together.
api::Value rules_of(const control::Rights& rights);

/// The operator's own: service account, roles and bindings; who may read its metrics.
std::vector<api::Value> operator_access(const AccessNames& names);

/// ClusterRoles to give to people: batch-admin and batch-user, made of an editor and a viewer role
/// for each kind, by Kueue's labels.
std::vector<api::Value> user_roles(const AccessNames& names);

}  // namespace muster::cli

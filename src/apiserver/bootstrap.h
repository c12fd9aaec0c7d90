// apiserver/bootstrap.h - what every cluster has from the start.
#pragma once

#include <functional>
#include <vector>

#include "api/value.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Creates what is missing of the system's namespaces, roles, bindings, priority classes and the
/// service `kubernetes`, and corrects what differs from this version's. `done` when durable.
void create_what_every_cluster_has(Context& context, std::function<void()> done);

/// The default roles and bindings, as objects.
std::vector<api::Value> default_roles();

}  // namespace muster::apiserver

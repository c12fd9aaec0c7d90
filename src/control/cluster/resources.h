// control/cluster/resources.h - the kinds that the cluster's controllers read and write.
#pragma once

#include "api/kind.h"

namespace muster::control::cluster {

inline const api::GroupResource pods{"", "pods"};
inline const api::GroupResource nodes{"", "nodes"};
inline const api::GroupResource namespaces{"", "namespaces"};
inline const api::GroupResource services{"", "services"};
inline const api::GroupResource service_accounts{"", "serviceaccounts"};
inline const api::GroupResource config_maps{"", "configmaps"};
inline const api::GroupResource events{"", "events"};
inline const api::GroupResource jobs{"batch", "jobs"};
inline const api::GroupResource leases{"coordination.k8s.io", "leases"};
inline const api::GroupResource endpoint_slices{"discovery.k8s.io", "endpointslices"};

}  // namespace muster::control::cluster

// api/kind_families.h - the rows of the registry, by family.
#pragma once

#include <vector>

#include "api/kind.h"

namespace muster::api {

/// What Kubernetes itself has.
std::vector<Kind> builtin_kinds();
std::vector<Kind> builtin_review_kinds();

/// Kueue's queues (kueue.x-k8s.io), Ray's clusters and jobs (ray.io), MCAD's AppWrappers.
std::vector<Kind> kueue_kinds();
std::vector<Kind> ray_kinds();
std::vector<Kind> appwrapper_kinds();

}  // namespace muster::api

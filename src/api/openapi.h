// api/openapi.h - the kinds as OpenAPI v3 documents, for clients.
#pragma once

#include <vector>

#include "api/kind.h"
#include "api/value.h"

namespace muster::api {

/// Every group version with a document of its own, in discovery order.
std::vector<GroupVersion> open_api_group_versions(const Kinds& kinds);

/// The OpenAPI v3 document of a group version: its kinds with all that they refer to, and the paths
/// of its resources with their query parameters. Made anew at each call; a null value when the
/// group version is not served.
Value open_api_document(const Kinds& kinds, const GroupVersion& group_version);

}  // namespace muster::api

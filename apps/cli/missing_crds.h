// apps/cli/missing_crds.h - which definitions a cluster still needs, from those that it has.
#pragma once

#include <string>
#include <vector>

#include "api/kind.h"
#include "api/value.h"

namespace muster::cli {

struct MissingCrds {
    std::vector<const api::Kind*> wanted;  // Not there, or brought by Muster: perhaps an older one.
    std::vector<std::string> others;   // Names of those that somebody else brought: never replaced.
    std::vector<std::string> leaving;  // Being deleted: what is applied now would go with them.
};

/// `present` are the cluster's definitions; their metadata is enough.
MissingCrds missing_crds(const std::vector<const api::Kind*>& kinds, const api::Value& present);

}  // namespace muster::cli

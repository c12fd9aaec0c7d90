// api/scale_owners.h - who owns the replicas of an object, as /scale shows it and takes it back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/managed_fields.h"
#include "api/value.h"

namespace muster::api {

/// Where an object keeps what its Scale calls spec.replicas.
struct ReplicasPlace {
    std::string_view path;              // ".spec.replicas"
    std::vector<std::string> versions;  // The apiVersions in which it stands there.
};

/// metadata.managedFields of the Scale: whoever owns the replicas. Null: nobody.
Value owners_of_scale(const ReplicasPlace& place, const Value& managed_fields);

/// metadata.managedFields of the object, once its Scale has those of `scale`: the replicas belong
/// to whom they belong to there, by now in `api_version`. Null: nobody owns anything.
Value owners_with_scale(const ReplicasPlace& place, const Value& managed_fields, const Value& scale,
                        const std::string& api_version);

}  // namespace muster::api

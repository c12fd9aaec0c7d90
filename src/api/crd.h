// api/crd.h - the custom kinds as CustomResourceDefinitions, for clusters.
#pragma once

#include <string>
#include <string_view>

#include "api/kind.h"
#include "api/value.h"

namespace muster::api {

/// Who turns one served version into another on a cluster.
struct Conversion {
    /// The service of the webhook; its namespace empty: none, and then only the stored version of a
    /// kind that needs conversion is served.
    std::string service_namespace = "muster-system";
    std::string service_name = "muster-webhook-service";
    std::string ca_bundle;  // PEM; empty: put in later by who makes the certificates.
};

/// The label of the definitions that Muster brings to a cluster: on others it has no claim.
inline constexpr std::string_view crd_label = "app.kubernetes.io/part-of";
inline constexpr std::string_view crd_label_value = "muster";

/// What clients of a deprecated version are told.
std::string deprecation_warning(const Kind& kind, const Version& version);

/// The definition by which clients find a kind that is served without one: its names and versions,
/// and schemas that leave everything open. Requires: `kind.custom`.
Value listed_crd_of(const Kind& kind);

/// Requires: `kind.custom`.
Value crd_of(const Kind& kind, const Conversion& conversion);

}  // namespace muster::api

// control/webhooks/configuration.h - what a cluster must say so that its API server asks Muster's
// webhooks: the two configurations, and the conversion of the kinds that have two forms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/webhooks/table.h"

namespace muster::control::webhooks {

/// Where the webhooks are.
struct Address {
    std::string service_namespace = "muster-system";
    std::string service_name = "muster-webhook-service";
    std::string url;  // Not empty: instead of the service; for an API server that sees no services.
};

inline constexpr std::string_view mutating_name = "muster-mutating-webhook-configuration";
inline constexpr std::string_view validating_name = "muster-validating-webhook-configuration";

/// A MutatingWebhookConfiguration or ValidatingWebhookConfiguration with every field that an API
/// server would fill in. Without authorities (PEM) it has no caBundle: for a manifest, in which
/// whoever runs it fills them in. Jobs are asked about in the namespaces that `rules` choose,
/// never in kube-system (by the usual rules) nor in the service's own, so that Muster itself can
/// always start.
api::Value configuration(Phase phase, const std::vector<Webhook>& webhooks,
                         const queue::JobRules& rules, const Address& address,
                         const std::string& authorities);

/// The configuration goes when that ClusterRole goes: without it nobody would answer its webhooks.
api::Value owned(api::Value configuration, const std::string& cluster_role, const std::string& uid);

/// What is to be written to a configuration that is there; absent when nothing is. Only the
/// webhooks and that owner are ours: labels, annotations and other owners stay.
std::optional<api::Value> corrected(const api::Value& present, const api::Value& wanted);

/// A kind's CustomResourceDefinition and what it must say.
struct ConversionPlan {
    enum class Kept { ours, somebody_elses };
    Kept kept = Kept::ours;
    std::optional<api::Value> patch;  // A merge patch; absent: it is as it must be.
    std::string asked;                // Who converts instead: "kueue-system/kueue-webhook-service".
};

/// Kinds whose CRD names another service are left to it: it may be Kueue's, at work.
ConversionPlan plan_conversion(const api::Value& crd, const Address& address,
                               const std::string& authorities);

/// The kinds that have two forms, by resource.
std::vector<api::GroupResource> converted_kinds();

}  // namespace muster::control::webhooks

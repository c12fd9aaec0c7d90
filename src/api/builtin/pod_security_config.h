// api/builtin/pod_security_config.h - what namespaces without labels get of Pod Security, and who
// is exempt: the fields of Kubernetes' PodSecurityConfiguration.
#pragma once

#include <set>
#include <string>

#include "api/builtin/pod_security.h"

namespace muster::api {

struct PodSecurityConfiguration {
    /// Pods that break the level baseline are refused and told of, when nothing else is said.
    NamespaceSecurity defaults{{SecurityLevel::baseline, {}}, {}, {SecurityLevel::baseline, {}}};
    std::set<std::string, std::less<>> usernames;
    std::set<std::string, std::less<>> namespaces{"kube-system"};
    std::set<std::string, std::less<>> runtime_classes;
};

/// Reads `defaults` and `exemptions`. As in Kubernetes, `defaults` that are given leave what they
/// do not say at privileged and latest, and `exemptions` that are given are all there are. Faults
/// name the field.
PodSecurityConfiguration read_pod_security(const Value& section, FieldErrors& faults);

}  // namespace muster::api

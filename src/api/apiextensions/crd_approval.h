// api/apiextensions/crd_approval.h - whether a kind of one of Kubernetes' own groups was approved.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/value.h"

namespace muster::api {

inline constexpr std::string_view approval_annotation = "api-approved.kubernetes.io";

/// The definition's condition KubernetesAPIApprovalPolicyConformant.
struct CrdApproval {
    const char* status;
    const char* reason;
    std::string message;
};

/// Absent when its group is nobody's but its author's.
std::optional<CrdApproval> approval_of_crd(const Value& crd);

}  // namespace muster::api

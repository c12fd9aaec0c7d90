// api/builtin/pod_security_checks.h - the single checks of the Pod Security Standards.
#pragma once

#include <optional>

#include "api/builtin/pod_security.h"

namespace muster::api {

/// A pod as the checks see it.
struct CheckedPod {
    const Value& metadata;
    const Value& spec;
    bool has_own_users() const { return !spec["hostUsers"].boolean_or(true); }
    bool is_windows() const { return spec["os"]["name"].text_or("") == "windows"; }
    std::vector<const Value*> containers() const;  // Init containers, containers, ephemeral ones.
};

/// One version of a check, which holds from a minor version on until the next one of that check.
struct SecurityCheck {
    std::string_view id;
    SecurityLevel level;
    int since;
    std::optional<SecurityViolation> (*check)(const CheckedPod& pod);
    std::string_view overrides = {};  // A check of baseline that restricted does not ask any more.
};

/// By level, then by id, then by version.
const std::vector<SecurityCheck>& security_checks();

}  // namespace muster::api

// api/builtin/pod_security.h - the Pod Security Standards: what a level and a version of them
// forbid a pod, in the words of Kubernetes' library pod-security-admission 0.36.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/builtin/validation.h"

namespace muster::api {

enum class SecurityLevel { privileged, baseline, restricted };

/// A minor version of Kubernetes 1, whose checks are meant; or the newest ones.
struct SecurityVersion {
    static constexpr int latest = std::numeric_limits<int>::max();
    int minor = latest;
    friend bool operator==(const SecurityVersion&, const SecurityVersion&) = default;
};

/// "baseline:latest", "restricted:v1.25".
struct SecurityPolicy {
    SecurityLevel level = SecurityLevel::privileged;
    SecurityVersion version;
    std::string text() const;
    friend bool operator==(const SecurityPolicy&, const SecurityPolicy&) = default;
};

/// What is done with pods that break each: they are refused, told of in the log, told of to their
/// writer.
struct NamespaceSecurity {
    SecurityPolicy enforce;
    SecurityPolicy audit;
    SecurityPolicy warn;
    bool is_all_privileged() const;
};

/// Absent when it is none of the three words.
std::optional<SecurityLevel> parse_security_level(std::string_view text);
/// "latest" or "v1.N".
std::optional<SecurityVersion> parse_security_version(std::string_view text);
inline constexpr const char* security_level_fault =
    "must be one of privileged, baseline, restricted";
inline constexpr const char* security_version_fault = "must be \"latest\" or \"v1.x\"";

/// What the labels of a namespace say; what they do not say is as in `defaults`. A label that
/// cannot be read is an error, and means the strictest for what is refused and nothing for the
/// others.
std::pair<NamespaceSecurity, FieldErrors> security_of(const Value& labels,
                                                      const NamespaceSecurity& defaults);

/// One check that a pod breaks.
struct SecurityViolation {
    std::string reason;  // "hostPath volumes"
    std::string detail;  // "volume "v""
    friend bool operator==(const SecurityViolation&, const SecurityViolation&) = default;
};
using SecurityViolations = std::vector<SecurityViolation>;

/// What of the policy a pod, or a template of pods, breaks. Pure.
SecurityViolations security_violations(const SecurityPolicy& policy, const Value& metadata,
                                       const Value& spec);

/// "hostPath volumes (volume "v"), privileged (container "a" must not ...)".
std::string detailed(const SecurityViolations& violations);
/// "hostPath volumes, privileged".
std::string reasons_of(const SecurityViolations& violations);

}  // namespace muster::api

// api/builtin/pod_security.cpp - levels, versions, labels, and which checks they mean.
#include "api/builtin/pod_security.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/builtin/pod_security_checks.h"
#include "api/field_error.h"
#include "base/text.h"

namespace muster::api {
namespace {

constexpr std::string_view level_words[] = {"privileged", "baseline", "restricted"};
constexpr std::string_view label_prefix = "pod-security.kubernetes.io/";

/// The labels of one of the three ways. Says whether there is a level that can be read.
struct Labels {
    bool has_level = false;
    bool has_good_level = false;
    bool has_version = false;
};

Labels read_labels(const Value& labels, const std::string& way, SecurityLevel of_unreadable,
                   SecurityPolicy& policy, FieldErrors& errors) {
    Labels found;
    const Path root;
    const Path metadata = root.child("metadata");
    const Path path = metadata.child("labels");
    const std::string level_key = std::string(label_prefix) + way;
    if (const Value& given = labels[level_key]; !given.is_null()) {
        found.has_level = true;
        const auto level = parse_security_level(given.text_or(""));
        found.has_good_level = level.has_value();
        policy.level = level.value_or(of_unreadable);
        if (!level) errors.push_back(invalid(path.key(level_key), given, security_level_fault));
    }
    const std::string version_key = level_key + "-version";
    if (const Value& given = labels[version_key]; !given.is_null()) {
        found.has_version = true;
        const auto version = parse_security_version(given.text_or(""));
        policy.version = version.value_or(SecurityVersion());
        if (!version)
            errors.push_back(invalid(path.key(version_key), given, security_version_fault));
    }
    return found;
}

/// The version of each check that holds; of a check that is overridden none.
std::vector<const SecurityCheck*> checks_of(const SecurityPolicy& policy) {
    std::vector<const SecurityCheck*> held;
    std::set<std::string_view> overridden;
    for (const SecurityCheck& check : security_checks()) {
        if (check.level > policy.level || check.since > policy.version.minor) continue;
        if (!held.empty() && held.back()->id == check.id) held.pop_back();
        held.push_back(&check);
        if (!check.overrides.empty()) overridden.insert(check.overrides);
    }
    std::erase_if(held, [&](const SecurityCheck* check) { return overridden.contains(check->id); });
    return held;
}

}  // namespace

std::string SecurityPolicy::text() const {
    return std::string(level_words[static_cast<std::size_t>(level)]) + ":" +
           (version.minor == SecurityVersion::latest ? "latest"
                                                     : "v1." + std::to_string(version.minor));
}

bool NamespaceSecurity::is_all_privileged() const {
    return enforce.level == SecurityLevel::privileged && audit.level == SecurityLevel::privileged &&
           warn.level == SecurityLevel::privileged;
}

std::optional<SecurityLevel> parse_security_level(std::string_view text) {
    for (std::size_t i = 0; i < std::size(level_words); ++i) {
        if (text == level_words[i]) return static_cast<SecurityLevel>(i);
    }
    return std::nullopt;
}

std::optional<SecurityVersion> parse_security_version(std::string_view text) {
    if (text == "latest") return SecurityVersion();
    constexpr std::string_view prefix = "v1.";
    if (!text.starts_with(prefix)) return std::nullopt;
    text.remove_prefix(prefix.size());
    const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
    if (text.empty() || !digits || (text.size() > 1 && text.front() == '0')) return std::nullopt;
    const auto minor = parse_integer(text);
    if (!minor || *minor >= SecurityVersion::latest) return std::nullopt;
    return SecurityVersion{static_cast<int>(*minor)};
}

std::pair<NamespaceSecurity, FieldErrors> security_of(const Value& labels,
                                                      const NamespaceSecurity& defaults) {
    NamespaceSecurity security = defaults;
    FieldErrors errors;
    if (labels.empty()) return {security, errors};
    const Labels enforced =
        read_labels(labels, "enforce", SecurityLevel::restricted, security.enforce, errors);
    read_labels(labels, "audit", SecurityLevel::privileged, security.audit, errors);
    const Labels warned =
        read_labels(labels, "warn", SecurityLevel::privileged, security.warn, errors);
    // Who asks for a stricter level than what is warned of is warned of that as well.
    if (!warned.has_level && enforced.has_good_level &&
        security.enforce.level > security.warn.level) {
        security.warn.level = security.enforce.level;
        if (!warned.has_version) security.warn.version = security.enforce.version;
    }
    return {security, errors};
}

SecurityViolations security_violations(const SecurityPolicy& policy, const Value& metadata,
                                       const Value& spec) {
    SecurityViolations violations;
    if (policy.level == SecurityLevel::privileged) return violations;
    const CheckedPod pod{metadata, spec};
    for (const SecurityCheck* check : checks_of(policy)) {
        if (auto violation = check->check(pod)) violations.push_back(*std::move(violation));
    }
    return violations;
}

std::string detailed(const SecurityViolations& violations) {
    std::string text;
    for (const SecurityViolation& each : violations) {
        if (!text.empty()) text += ", ";
        text += each.reason;
        if (!each.detail.empty()) text += " (" + each.detail + ")";
    }
    return text;
}

std::string reasons_of(const SecurityViolations& violations) {
    std::string text;
    for (const SecurityViolation& each : violations)
        text += (text.empty() ? "" : ", ") + each.reason;
    return text;
}

}  // namespace muster::api

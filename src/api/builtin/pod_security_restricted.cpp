// api/builtin/pod_security_restricted.cpp - the checks that the level restricted adds.
#include <algorithm>

#include "api/builtin/pod_security_parts.h"
#include "base/text.h"

namespace muster::api::pod_security {
namespace {

Found seccomp_restricted(const CheckedPod& pod) {
    const Seccomp seccomp(pod);
    if (const Found found = seccomp.violation()) return found;
    if (seccomp.silent_containers.empty()) return std::nullopt;
    return SecurityViolation{"seccompProfile",
                             "pod or " + containers_text(seccomp.silent_containers) +
                                 " must set securityContext.seccompProfile.type to "
                                 "\"RuntimeDefault\" or \"Localhost\""};
}

Found privilege_escalation(const CheckedPod& pod) {
    const Names containers = containers_that(pod, [](const Value& each) {
        return security_context(each)["allowPrivilegeEscalation"].boolean_or(true);
    });
    if (containers.empty()) return std::nullopt;
    return SecurityViolation{
        "allowPrivilegeEscalation != false",
        containers_text(containers) + " must set securityContext.allowPrivilegeEscalation=false"};
}

Found capabilities_restricted(const CheckedPod& pod) {
    Words bad;
    const Names keeping = containers_that(pod, [](const Value& each) {
        const auto& dropped = security_context(each)["capabilities"]["drop"].items();
        return std::none_of(dropped.begin(), dropped.end(),
                            [](const Value& one) { return one.text_or("") == "ALL"; });
    });
    const Names adding = containers_that(pod, [&](const Value& each) {
        bool adds = false;
        for (const Value& added : security_context(each)["capabilities"]["add"].items()) {
            if (added.text_or("") == "NET_BIND_SERVICE") continue;
            adds = true;
            bad.insert(added.text());
        }
        return adds;
    });
    Names parts;
    if (!keeping.empty())
        parts.push_back(containers_text(keeping) +
                        " must set securityContext.capabilities.drop=[\"ALL\"]");
    if (!adding.empty())
        parts.push_back(containers_text(adding) + " must not include " + quoted_list(bad) +
                        " in securityContext.capabilities.add");
    if (parts.empty()) return std::nullopt;
    return SecurityViolation{"unrestricted capabilities", join(parts, "; ")};
}

Found restricted_volumes(const CheckedPod& pod) {
    static constexpr const char* good[] = {
        "configMap", "csi",   "downwardAPI",           "emptyDir",
        "ephemeral", "image", "persistentVolumeClaim", "projected",
        "secret"};
    static constexpr const char* known[] = {"hostPath",
                                            "gcePersistentDisk",
                                            "awsElasticBlockStore",
                                            "gitRepo",
                                            "nfs",
                                            "iscsi",
                                            "glusterfs",
                                            "rbd",
                                            "flexVolume",
                                            "cinder",
                                            "cephfs",
                                            "flocker",
                                            "fc",
                                            "azureFile",
                                            "vsphereVolume",
                                            "quobyte",
                                            "azureDisk",
                                            "photonPersistentDisk",
                                            "portworxVolume",
                                            "scaleIO",
                                            "storageos"};
    Names names;
    Words types;
    for (const Value& volume : pod.spec["volumes"].items()) {
        const auto is_set = [&](const char* type) { return !volume[type].is_null(); };
        if (std::any_of(std::begin(good), std::end(good), is_set)) continue;
        names.push_back(volume["name"].text());
        const auto* const type = std::find_if(std::begin(known), std::end(known), is_set);
        types.insert(type == std::end(known) ? "unknown" : *type);
    }
    if (names.empty()) return std::nullopt;
    return SecurityViolation{
        "restricted volume types",
        plural(names.size(), "volume ", "volumes ") + quoted_list(names) +
            plural(names.size(), " uses ", " use ") +
            plural(types.size(), "restricted volume type ", "restricted volume types ") +
            quoted_list(types)};
}

Found run_as_non_root(const CheckedPod& pod) {
    const Value& of_pod = security_context(pod.spec)["runAsNonRoot"];
    const auto own = [](const Value& each) -> const Value& {
        return security_context(each)["runAsNonRoot"];
    };
    const bool bad_pod = !of_pod.boolean_or(true);
    const Names bad =
        containers_that(pod, [&](const Value& each) { return !own(each).boolean_or(true); });
    if (bad_pod || !bad.empty())
        return SecurityViolation{
            "runAsNonRoot != true",
            setters_text(bad_pod, bad) + " must not set securityContext.runAsNonRoot=false"};
    if (of_pod.boolean_or(false)) return std::nullopt;
    const Names silent =
        containers_that(pod, [&](const Value& each) { return own(each).is_null(); });
    if (silent.empty()) return std::nullopt;
    return SecurityViolation{
        "runAsNonRoot != true",
        "pod or " + containers_text(silent) + " must set securityContext.runAsNonRoot=true"};
}

Found run_as_user(const CheckedPod& pod) {
    const auto is_root = [](const Value& holder) {
        return security_context(holder)["runAsUser"].integer_or(-1) == 0;
    };
    const Names containers = containers_that(pod, is_root);
    const bool of_pod = is_root(pod.spec);
    if (!of_pod && containers.empty()) return std::nullopt;
    return SecurityViolation{"runAsUser=0",
                             setters_text(of_pod, containers) + " must not set runAsUser=0"};
}

/// Its own users are nobody outside, so that root among them is none.
template <Found (*check)(const CheckedPod&)>
Found unless_own_users(const CheckedPod& pod) {
    return pod.has_own_users() ? std::nullopt : check(pod);
}

/// Fields that a Windows pod cannot have.
template <Found (*check)(const CheckedPod&)>
Found unless_windows(const CheckedPod& pod) {
    return pod.is_windows() ? std::nullopt : check(pod);
}

}  // namespace

std::vector<SecurityCheck> restricted_checks() {
    constexpr auto restricted = SecurityLevel::restricted;
    return {
        {"allowPrivilegeEscalation", restricted, 8, privilege_escalation},
        {"allowPrivilegeEscalation", restricted, 25, unless_windows<privilege_escalation>},
        {"capabilities_restricted", restricted, 22, capabilities_restricted,
         "capabilities_baseline"},
        {"capabilities_restricted", restricted, 25, unless_windows<capabilities_restricted>,
         "capabilities_baseline"},
        {"procMount_restricted", restricted, 35, proc_mount, "procMount"},
        {"restrictedVolumes", restricted, 0, restricted_volumes, "hostPathVolumes"},
        {"runAsNonRoot", restricted, 0, run_as_non_root},
        {"runAsNonRoot", restricted, 35, unless_own_users<run_as_non_root>},
        {"runAsUser", restricted, 23, run_as_user},
        {"runAsUser", restricted, 35, unless_own_users<run_as_user>},
        {"seccompProfile_restricted", restricted, 19, seccomp_restricted,
         "seccompProfile_baseline"},
        {"seccompProfile_restricted", restricted, 25, unless_windows<seccomp_restricted>,
         "seccompProfile_baseline"},
    };
}

}  // namespace muster::api::pod_security

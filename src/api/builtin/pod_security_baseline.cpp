// api/builtin/pod_security_baseline.cpp - the checks of the level baseline.
#include <algorithm>

#include "api/builtin/pod_security_parts.h"
#include "base/text.h"

namespace muster::api::pod_security {
namespace {

bool is_good_app_armor(const Value& context, Words& bad) {
    const Value& profile = context["appArmorProfile"];
    if (profile.is_null()) return true;
    const std::string type = profile["type"].text();
    if (is_one_of(type, {"RuntimeDefault", "Localhost"})) return true;
    bad.insert(type);
    return false;
}

Found app_armor_profile(const CheckedPod& pod) {
    constexpr std::string_view prefix = "container.apparmor.security.beta.kubernetes.io/";
    Words bad;
    const bool of_pod = !is_good_app_armor(security_context(pod.spec), bad);
    const Names containers = containers_that(
        pod, [&](const Value& each) { return !is_good_app_armor(security_context(each), bad); });
    Names values(bad.begin(), bad.end());
    Words annotations;
    for (const auto& [key, value] : pod.metadata["annotations"].members()) {
        const std::string_view profile = value.text_or("");
        if (!std::string_view(key).starts_with(prefix) || profile.empty() ||
            profile == "runtime/default" || profile.starts_with("localhost/"))
            continue;
        annotations.insert(std::string(key) + "=" + quoted(profile));
    }
    std::string setters = setters_text(of_pod, containers);
    if (!annotations.empty()) {
        values.insert(values.end(), annotations.begin(), annotations.end());
        setters += (setters.empty() ? "" : " and ") +
                   plural(annotations.size(), "annotation", "annotations");
    }
    if (setters.empty()) return std::nullopt;
    return SecurityViolation{
        plural(values.size(), "forbidden AppArmor profile", "forbidden AppArmor profiles"),
        setters + " must not set AppArmor profile type to " + quoted_list(values)};
}

Found capabilities_baseline(const CheckedPod& pod) {
    Words bad;
    const Names containers = containers_that(pod, [&](const Value& each) {
        bool good = true;
        for (const Value& added : security_context(each)["capabilities"]["add"].items()) {
            if (is_one_of(
                    added.text_or(""),
                    {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
                     "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}))
                continue;
            good = false;
            bad.insert(added.text());
        }
        return !good;
    });
    if (containers.empty()) return std::nullopt;
    return SecurityViolation{"non-default capabilities",
                             containers_text(containers) + " must not include " + quoted_list(bad) +
                                 " in securityContext.capabilities.add"};
}

Found host_namespaces(const CheckedPod& pod) {
    std::string set;
    for (const char* field : {"hostNetwork", "hostPID", "hostIPC"}) {
        if (pod.spec[field].boolean_or(false))
            set += std::string(set.empty() ? "" : ", ") + field + "=true";
    }
    if (set.empty()) return std::nullopt;
    return SecurityViolation{"host namespaces", set};
}

Found host_path_volumes(const CheckedPod& pod) {
    Names names;
    for (const Value& volume : pod.spec["volumes"].items()) {
        if (!volume["hostPath"].is_null()) names.push_back(volume["name"].text());
    }
    if (names.empty()) return std::nullopt;
    return SecurityViolation{"hostPath volumes",
                             plural(names.size(), "volume ", "volumes ") + quoted_list(names)};
}

Found host_ports(const CheckedPod& pod) {
    Words ports;
    const Names containers = containers_that(pod, [&](const Value& each) {
        bool uses = false;
        for (const Value& port : each["ports"].items()) {
            const std::int64_t number = port["hostPort"].integer_or(0);
            if (number == 0) continue;
            uses = true;
            ports.insert(std::to_string(number));
        }
        return uses;
    });
    if (containers.empty()) return std::nullopt;
    return SecurityViolation{"hostPort", containers_text(containers) +
                                             plural(containers.size(), " uses ", " use ") +
                                             plural(ports.size(), "hostPort ", "hostPorts ") +
                                             join(Names(ports.begin(), ports.end()), ", ")};
}

/// Probes and hooks may ask the pod itself only.
Found probe_hosts(const CheckedPod& pod) {
    Words hosts;
    const auto asks_others = [&](const Value& handler) {
        bool found = false;
        for (const char* way : {"httpGet", "tcpSocket"}) {
            const std::string host = handler[way]["host"].text();
            if (host.empty()) continue;
            found = true;
            hosts.insert(host);
        }
        return found;
    };
    const Names named = containers_that(pod, [&](const Value& each) {
        bool found = false;
        for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"})
            found = asks_others(each[probe]) || found;
        for (const char* hook : {"postStart", "preStop"})
            found = asks_others(each["lifecycle"][hook]) || found;
        return found;
    });
    if (named.empty()) return std::nullopt;
    const Words sorted(named.begin(), named.end());
    const Names containers(sorted.begin(), sorted.end());
    return SecurityViolation{
        "probe or lifecycle host",
        containers_text(containers) + plural(containers.size(), " uses ", " use ") +
            plural(hosts.size(), "probe or lifecycle host ", "probe or lifecycle hosts ") +
            quoted_list(hosts)};
}

Found privileged(const CheckedPod& pod) {
    const Names containers = containers_that(pod, [](const Value& each) {
        return security_context(each)["privileged"].boolean_or(false);
    });
    if (containers.empty()) return std::nullopt;
    return SecurityViolation{"privileged", containers_text(containers) +
                                               " must not set securityContext.privileged=true"};
}

Found proc_mount_of_shared_users(const CheckedPod& pod) {
    return pod.has_own_users() ? std::nullopt : proc_mount(pod);
}

/// What is wrong with SELinux options, gathered over a pod.
struct SeLinuxFaults {
    Words types;
    bool user = false;
    bool role = false;

    bool has_any(const Value& options, bool engines) {
        if (options.is_null()) return false;
        const std::string type = options["type"].text();
        const bool good_type =
            is_one_of(type, {"", "container_t", "container_init_t", "container_kvm_t"}) ||
            (engines && type == "container_engine_t");
        if (!good_type) types.insert(type);
        const bool sets_user = !options["user"].text_or("").empty();
        const bool sets_role = !options["role"].text_or("").empty();
        user = user || sets_user;
        role = role || sets_role;
        return !good_type || sets_user || sets_role;
    }
    std::string text() const {
        Names parts;
        if (!types.empty())
            parts.push_back(plural(types.size(), "type ", "types ") + quoted_list(types));
        if (user) parts.emplace_back("user may not be set");
        if (role) parts.emplace_back("role may not be set");
        return join(parts, "; ");
    }
};

Found se_linux(const CheckedPod& pod, bool engines) {
    SeLinuxFaults faults;
    const bool of_pod = faults.has_any(security_context(pod.spec)["seLinuxOptions"], engines);
    const Names containers = containers_that(pod, [&](const Value& each) {
        return faults.has_any(security_context(each)["seLinuxOptions"], engines);
    });
    if (!of_pod && containers.empty()) return std::nullopt;
    return SecurityViolation{"seLinuxOptions",
                             setters_text(of_pod, containers) +
                                 " set forbidden securityContext.seLinuxOptions: " + faults.text()};
}

Found se_linux_1_0(const CheckedPod& pod) {
    return se_linux(pod, false);
}

Found se_linux_1_31(const CheckedPod& pod) {
    return se_linux(pod, true);
}

/// Before there was a field, annotations said it.
Found seccomp_annotations(const CheckedPod& pod) {
    const Value& annotations = pod.metadata["annotations"];
    Words bad;
    const auto look = [&](const std::string& key) {
        const Value& value = annotations[key];
        if (value.is_null()) return;
        const std::string_view profile = value.text_or("");
        if (is_one_of(profile, {"runtime/default", "docker/default"}) ||
            profile.starts_with("localhost/"))
            return;
        bad.insert(key + "=" + quoted(profile));
    };
    look("seccomp.security.alpha.kubernetes.io/pod");
    for (const Value* container : pod.containers())
        look("container.seccomp.security.alpha.kubernetes.io/" + (*container)["name"].text());
    if (bad.empty()) return std::nullopt;
    return SecurityViolation{"seccompProfile",
                             "forbidden " + plural(bad.size(), "annotation ", "annotations ") +
                                 join(Names(bad.begin(), bad.end()), ", ")};
}

Found seccomp_baseline(const CheckedPod& pod) {
    return Seccomp(pod).violation();
}

Found sysctls(const CheckedPod& pod, int minor) {
    Names bad;
    for (const Value& sysctl : security_context(pod.spec)["sysctls"].items()) {
        const std::string name = sysctl["name"].text();
        const bool good =
            is_one_of(name, {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range",
                             "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
                             "net.ipv4.ip_unprivileged_port_start"}) ||
            (minor >= 27 && name == "net.ipv4.ip_local_reserved_ports") ||
            (minor >= 29 &&
             is_one_of(name, {"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
                              "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"})) ||
            (minor >= 32 && is_one_of(name, {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}));
        if (!good) bad.push_back(name);
    }
    if (bad.empty()) return std::nullopt;
    return SecurityViolation{"forbidden sysctls", join(bad, ", ")};
}

template <int minor>
Found sysctls_since(const CheckedPod& pod) {
    return sysctls(pod, minor);
}

Found windows_host_process(const CheckedPod& pod) {
    const auto is_set = [](const Value& holder) {
        return security_context(holder)["windowsOptions"]["hostProcess"].boolean_or(false);
    };
    const Names containers = containers_that(pod, is_set);
    const bool of_pod = is_set(pod.spec);
    if (!of_pod && containers.empty()) return std::nullopt;
    return SecurityViolation{"hostProcess",
                             setters_text(of_pod, containers) +
                                 " must not set securityContext.windowsOptions.hostProcess=true"};
}

}  // namespace

std::vector<SecurityCheck> baseline_checks() {
    constexpr auto baseline = SecurityLevel::baseline;
    return {
        {"appArmorProfile", baseline, 0, app_armor_profile},
        {"capabilities_baseline", baseline, 0, capabilities_baseline},
        {"hostNamespaces", baseline, 0, host_namespaces},
        {"hostPathVolumes", baseline, 0, host_path_volumes},
        {"hostPorts", baseline, 0, host_ports},
        {"hostProbesAndHostLifecycle", baseline, 34, probe_hosts},
        {"privileged", baseline, 0, privileged},
        {"procMount", baseline, 0, proc_mount},
        {"procMount", baseline, 35, proc_mount_of_shared_users},
        {"seLinuxOptions", baseline, 0, se_linux_1_0},
        {"seLinuxOptions", baseline, 31, se_linux_1_31},
        {"seccompProfile_baseline", baseline, 0, seccomp_annotations},
        {"seccompProfile_baseline", baseline, 19, seccomp_baseline},
        {"sysctls", baseline, 0, sysctls_since<0>},
        {"sysctls", baseline, 27, sysctls_since<27>},
        {"sysctls", baseline, 29, sysctls_since<29>},
        {"sysctls", baseline, 32, sysctls_since<32>},
        {"windowsHostProcess", baseline, 0, windows_host_process},
    };
}

}  // namespace muster::api::pod_security

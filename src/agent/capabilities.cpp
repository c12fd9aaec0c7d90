// agent/capabilities.cpp - see capabilities.h.
#include "agent/capabilities.h"

#include <array>

#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;

/// In the order of <linux/capability.h>.
constexpr std::array<std::string_view, 41> kNames = {"chown",
                                                     "dac_override",
                                                     "dac_read_search",
                                                     "fowner",
                                                     "fsetid",
                                                     "kill",
                                                     "setgid",
                                                     "setuid",
                                                     "setpcap",
                                                     "linux_immutable",
                                                     "net_bind_service",
                                                     "net_broadcast",
                                                     "net_admin",
                                                     "net_raw",
                                                     "ipc_lock",
                                                     "ipc_owner",
                                                     "sys_module",
                                                     "sys_rawio",
                                                     "sys_chroot",
                                                     "sys_ptrace",
                                                     "sys_pacct",
                                                     "sys_admin",
                                                     "sys_boot",
                                                     "sys_nice",
                                                     "sys_resource",
                                                     "sys_time",
                                                     "sys_tty_config",
                                                     "mknod",
                                                     "lease",
                                                     "audit_write",
                                                     "audit_control",
                                                     "setfcap",
                                                     "mac_override",
                                                     "mac_admin",
                                                     "syslog",
                                                     "wake_alarm",
                                                     "block_suspend",
                                                     "audit_read",
                                                     "perfmon",
                                                     "bpf",
                                                     "checkpoint_restore"};

constexpr std::array<std::string_view, 14> kUsual = {
    "chown",   "dac_override",     "fowner",  "fsetid",     "kill",  "setgid",      "setuid",
    "setpcap", "net_bind_service", "net_raw", "sys_chroot", "mknod", "audit_write", "setfcap"};

constexpr Capabilities kAll = (Capabilities{1} << kNames.size()) - 1;

bool is_all(std::string_view name) {
    return to_lower(name) == "all";
}

Capabilities set_of(const Value& names) {
    Capabilities set = 0;
    for (const Value& name : names.items()) {
        if (is_all(name.text())) return kAll;
        if (const auto number = capability_of(name.text())) set |= Capabilities{1} << *number;
    }
    return set;
}

}  // namespace

std::optional<int> capability_of(std::string_view name) {
    std::string small = to_lower(name);
    if (small.starts_with("cap_")) small.erase(0, 4);
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (kNames[i] == small) return static_cast<int>(i);
    return std::nullopt;
}

Capabilities capabilities_for(const Value& security_context) {
    Capabilities set = 0;
    for (const std::string_view name : kUsual)
        set |= Capabilities{1} << *capability_of(name);
    const Value& wishes = security_context["capabilities"];
    return (set & ~set_of(wishes["drop"])) | set_of(wishes["add"]);
}

std::string capability_problem(const Value& security_context) {
    for (const char* list : {"add", "drop"})
        for (const Value& name : security_context["capabilities"][list].items())
            if (!is_all(name.text()) && !capability_of(name.text()))
                return "unknown capability \"" + std::string(name.text()) + "\" to " + list;
    return "";
}

}  // namespace muster::agent

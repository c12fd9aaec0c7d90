// agent/identity.cpp - see identity.h.
#include "agent/identity.h"

#include <cerrno>
#include <cstring>

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/files.h"
#include "base/error.h"

namespace muster::agent {

namespace {

using api::Value;

// Images' users are not read; the usual one of images that are not root's.
constexpr std::int64_t kSomeUser = 1000;

[[noreturn]] void fail(const std::string& what) {
    throw Error(Reason::internal_error, what + ": " + std::strerror(errno));
}

/// The container's word, else the pod's.
const Value& wish(const Value& pod, const Value& container, const char* field) {
    const Value& own = container["securityContext"][field];
    return own.is_null() ? pod["spec"]["securityContext"][field] : own;
}

void change_ids(const Identity& identity) {
    std::vector<gid_t> groups;
    for (const std::int64_t each : identity.groups)
        groups.push_back(static_cast<gid_t>(each));
    const auto user = static_cast<uid_t>(identity.user);
    const auto group = static_cast<gid_t>(identity.group);
    if (::setgroups(groups.size(), groups.data()) != 0 || ::setresgid(group, group, group) != 0 ||
        ::setresuid(user, user, user) != 0)
        fail("cannot run as user " + std::to_string(identity.user) + " and group " +
             std::to_string(identity.group));
}

void change_namespace(const Identity& identity) {
    if (::unshare(CLONE_NEWUSER) != 0)
        fail("cannot make a user namespace in which the user is " + std::to_string(identity.user));
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", std::to_string(identity.user) + " 0 1");
    write_file("/proc/self/gid_map", std::to_string(identity.group) + " 0 1");
}

}  // namespace

Identity identity_for(const Value& pod, const Value& container, bool rootless) {
    Identity identity;
    identity.user = wish(pod, container, "runAsUser").integer_or(-1);
    if (identity.user < 0)
        identity.user =
            wish(pod, container, "runAsNonRoot").boolean_or(false) ? kSomeUser : std::int64_t{0};
    identity.group = wish(pod, container, "runAsGroup").integer_or(0);
    // Without root there are no further groups; what they would open is the one user's own.
    identity.nested = rootless && !identity.is_root();
    if (rootless) return identity;
    const Value& shared = pod["spec"]["securityContext"];
    for (const Value& each : shared["supplementalGroups"].items())
        identity.groups.push_back(each.integer_or(0));
    if (shared["fsGroup"].is_integer()) identity.groups.push_back(shared["fsGroup"].as_integer());
    return identity;
}

Value to_value(const Identity& identity) {
    Value groups = Value::array();
    for (const std::int64_t each : identity.groups)
        groups.push(each);
    return Value::object({{"user", identity.user},
                          {"group", identity.group},
                          {"groups", groups},
                          {"nested", identity.nested}});
}

Identity identity_of(const Value& value) {
    Identity identity;
    identity.user = value["user"].integer_or(0);
    identity.group = value["group"].integer_or(0);
    for (const Value& each : value["groups"].items())
        identity.groups.push_back(each.integer_or(0));
    identity.nested = value["nested"].boolean_or(false);
    return identity;
}

void become(const Identity& identity) {
    for (unsigned long capability = 0; capability < 64; ++capability)
        ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (identity.nested)
        change_namespace(identity);
    else if (!identity.is_root())
        change_ids(identity);
    __user_cap_header_struct header{};
    header.version = _LINUX_CAPABILITY_VERSION_3;
    __user_cap_data_struct none[2]{};
    if (::syscall(SYS_capset, &header, none) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail("cannot give up capabilities");
}

}  // namespace muster::agent

// agent/identity.cpp - see identity.h.
#include "agent/identity.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/user_namespace.h"
#include "base/error.h"

namespace muster::agent {

namespace {

using api::Value;

// Images' users are not read; the usual one of images that are not root's.
constexpr std::int64_t kSomeUser = 1000;
constexpr int kCapabilityNumbers = 64;

[[noreturn]] void fail(const std::string& what) {
    throw Error(Reason::internal_error, what + ": " + std::strerror(errno));
}

/// The container's word, else the pod's.
const Value& wish(const Value& pod, const Value& container, const char* field) {
    const Value& own = container["securityContext"][field];
    return own.is_null() ? pod["spec"]["securityContext"][field] : own;
}

/// A namespace with one user, who is this process's own outside.
void make_own_namespace(const Identity& identity) {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWUSER) != 0)
        fail("cannot make a user namespace in which the user is " + std::to_string(identity.user));
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map",
               std::to_string(identity.user) + " " + std::to_string(user) + " 1");
    write_file("/proc/self/gid_map",
               std::to_string(identity.group) + " " + std::to_string(group) + " 1");
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

/// Nothing that is executed later can have more than `wanted`. A process that is not root any more
/// has no right to say so.
void bound(Capabilities wanted) {
    for (int number = 0; number < kCapabilityNumbers; ++number) {
        if ((wanted >> number & 1) != 0) continue;
        // EINVAL: the kernel does not know such a capability.
        if (::prctl(PR_CAPBSET_DROP, static_cast<unsigned long>(number), 0, 0, 0) != 0 &&
            errno != EINVAL)
            fail("cannot give up capabilities");
    }
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/// Only root has any of `wanted`.
void keep_only(Capabilities wanted, bool root) {
    const Capabilities held = root ? wanted : 0;
    __user_cap_header_struct header{};
    header.version = _LINUX_CAPABILITY_VERSION_3;
    std::array<__user_cap_data_struct, 2> sets{};
    for (std::size_t half = 0; half < sets.size(); ++half) {
        const auto bits = static_cast<std::uint32_t>(held >> (32 * half));
        sets[half].permitted = bits;
        sets[half].effective = bits;
    }
    if (::syscall(SYS_capset, &header, sets.data()) != 0) fail("cannot give up capabilities");
}

}  // namespace

Identity identity_for(const Value& pod, const Value& container, PodUsers users) {
    Identity identity;
    identity.user = wish(pod, container, "runAsUser").integer_or(-1);
    if (identity.user < 0)
        identity.user =
            wish(pod, container, "runAsNonRoot").boolean_or(false) ? kSomeUser : std::int64_t{0};
    identity.group = wish(pod, container, "runAsGroup").integer_or(0);
    identity.capabilities = capabilities_for(container["securityContext"]);
    if (users == PodUsers::shared) return identity;
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
                          {"capabilities", static_cast<std::int64_t>(identity.capabilities)}});
}

Identity identity_of(const Value& value) {
    Identity identity;
    identity.user = value["user"].integer_or(0);
    identity.group = value["group"].integer_or(0);
    for (const Value& each : value["groups"].items())
        identity.groups.push_back(each.integer_or(0));
    identity.capabilities = static_cast<Capabilities>(value["capabilities"].integer_or(0));
    return identity;
}

void become(const Identity& identity, const Descriptor& users) {
    if (users)
        enter_user_namespace(users);
    else
        make_own_namespace(identity);
    bound(identity.capabilities);
    if (users) change_ids(identity);
    keep_only(identity.capabilities, identity.user == 0);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("cannot give up privileges");
}

}  // namespace muster::agent

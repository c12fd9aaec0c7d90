// agent/holder_ground.cpp - see holder_ground.h.
#include "agent/holder_ground.h"

#include <cerrno>
#include <cstring>

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/netlink.h"
#include "agent/pod_users.h"
#include "agent/subordinate_ids.h"
#include "base/error.h"

namespace muster::agent {

Ground enter_namespaces() {
    Ground ground;
    if (::geteuid() == 0 && ::unshare(CLONE_NEWNET | CLONE_NEWNS) == 0) {
        ground.supply = ranges_of_root();
        return ground;
    }
    ground.rootless = true;
    const OwnNamespace own = enter_own_user_namespace();
    ground.users_problem = own.problem;
    if (own.count > 0) ground.supply = {IdSupply::Kind::singles, 1, 1, own.count};
    if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0)
        throw Error(Reason::forbidden,
                    fault("this machine does not allow Muster to make namespaces for pods"));
    return ground;
}

void make_network() {
    if (::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        const bool no_mount_point = errno == EINVAL;
        const std::string what = fault("cannot make the mounts of pods private");
        const char* const help =
            "; / is no mount point here, as in a plain chroot: bind its folder "
            "on itself (`mount --bind DIR DIR`) before the chroot";
        throw Error(Reason::forbidden, no_mount_point ? what + help : what);
    }
    Netlink net;
    net.set_up("lo");
    net.add_bridge(pod_bridge);
    net.add_address(pod_bridge, "10.244.0.1", 16);
    net.set_up(pod_bridge);
    net.add_local_route("10.244.0.0", 24);  // The nodes' own addresses.
    net.add_local_route("10.96.0.0", 12);   // Services.
}

}  // namespace muster::agent

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

namespace {
// Each pair of links is a net of its own, so that all may have the same.
constexpr HardwareAddress kGatewayHardware{0x02, 0, 0x0a, 0xf4, 0, 1};
constexpr HardwareAddress kPodHardware{0x02, 0, 0x0a, 0xf4, 0, 2};
}  // namespace

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
    net.add_address("lo", pod_gateway, 32);
    net.add_unreachable_route("10.244.0.0", 16);  // But for the pods that are there.
    net.add_local_route("10.244.0.0", 24);        // The nodes' own addresses.
    net.add_local_route("10.96.0.0", 12);         // Services.
}

void join_pod(const std::string& name, const std::string& ip, pid_t pid) {
    Netlink net;
    net.add_pair({name, kGatewayHardware}, {"eth0", kPodHardware}, pid);
    net.leave_without_ipv6(name);
    net.set_up_without_questions(name);
    net.forward_from(name);
    net.add_neighbor(ip, name, kPodHardware);
    net.add_route(ip, name, pod_gateway);
}

void make_network_of_pod(const std::string& ip) {
    Netlink net;
    net.set_up("lo");
    net.leave_without_ipv6("eth0");
    net.add_address("eth0", ip, 32);
    net.set_up_without_questions("eth0");
    net.add_neighbor(pod_gateway, "eth0", kGatewayHardware);
    net.add_route(pod_gateway, "eth0", "");
    net.add_default_route(pod_gateway, "eth0");
    // The gateway is no router for groups: each would be a neighbor of its own.
    net.add_unreachable_route("224.0.0.0", 4);
}

}  // namespace muster::agent

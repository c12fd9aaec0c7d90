// agent/user_namespace.cpp - see user_namespace.h.
#include "agent/user_namespace.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/files.h"
#include "base/error.h"

namespace muster::agent {

namespace {

// The kernel takes a map in one write of less than a page.
constexpr std::size_t kMapLimit = 4095;

[[noreturn]] void fail(const std::string& what) {
    throw Error(Reason::internal_error, what + ": " + std::strerror(errno));
}

void write_map(const std::string& path, const std::vector<IdExtent>& extents) {
    const std::string text = map_text(extents);
    if (text.size() > kMapLimit)
        throw Error(Reason::invalid,
                    "the pod names " + std::to_string(extents.size()) +
                        " different users or groups; a pod can have about a hundred");
    const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        fail("cannot map the users of a pod");
}

/// A process in a fresh user namespace, for as long as this lives.
class Occupant {
public:
    explicit Occupant(uid_t maker) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe");
        const Descriptor ours(ends[0]);
        Descriptor theirs(ends[1]);
        pid_ = ::fork();
        if (pid_ < 0) fail("cannot fork");
        if (pid_ == 0) occupy(theirs.get(), maker);
        theirs.reset();
        int fault = EPIPE;
        if (::read(ours.get(), &fault, sizeof(fault)) != sizeof(fault) || fault != 0) {
            end();
            errno = fault;
            fail("cannot make a user namespace for a pod");
        }
    }
    ~Occupant() { end(); }
    Occupant(const Occupant&) = delete;
    Occupant& operator=(const Occupant&) = delete;

    std::string folder() const { return "/proc/" + std::to_string(pid_); }

private:
    [[noreturn]] static void occupy(int told, uid_t maker) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        // The kernel makes no user namespaces in a chroot, where Muster itself may run. Entering
        // one's own mount namespace leads to its root.
        const Descriptor mounts(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
        if (mounts) ::setns(mounts.get(), CLONE_NEWNS);
        const bool made = become(maker) && ::unshare(CLONE_NEWUSER) == 0;
        const int fault = made ? 0 : errno;
        // A change of user has forgotten the one, and made its files in /proc those of the
        // machine's root, who alone could write the map.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::prctl(PR_SET_DUMPABLE, 1);
        (void)!::write(told, &fault, sizeof(fault));
        for (;;)
            ::pause();
    }
    /// The kernel counts what processes of a user namespace hold (inotify instances, timers,
    /// queues) for the user who made it, too: as root, all pods would share what the machine's root
    /// may have, and one of them could take all. All capabilities are kept: where only those who
    /// have some may make user namespaces, this one may.
    static bool become(uid_t maker) {
        // Root's processes are not counted. Where this is refused, the limit stays as it is.
        const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
        ::setrlimit(RLIMIT_NPROC, &all);
        if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || ::setresuid(maker, maker, maker) != 0)
            return false;
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        std::array<__user_cap_data_struct, 2> sets{};
        if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
        for (__user_cap_data_struct& set : sets)
            set.effective = set.permitted;
        return ::syscall(SYS_capset, &header, sets.data()) == 0;
    }
    void end() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

    pid_t pid_ = -1;
};

}  // namespace

Descriptor make_user_namespace(const IdMap& map) {
    const Occupant occupant(static_cast<uid_t>(outside_of(map.users, 0)));
    write_map(occupant.folder() + "/uid_map", map.users);
    write_map(occupant.folder() + "/gid_map", map.groups);
    Descriptor users(::open((occupant.folder() + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
    if (!users) fail("cannot open the user namespace of a pod");
    return users;
}

void enter_user_namespace(const Descriptor& users) {
    if (::setns(users.get(), CLONE_NEWUSER) != 0) fail("cannot enter the pod's user namespace");
    if (::setgroups(0, nullptr) != 0 || ::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)
        fail("cannot become a user of the pod");
}

}  // namespace muster::agent

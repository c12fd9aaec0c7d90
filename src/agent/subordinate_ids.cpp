// agent/subordinate_ids.cpp - see subordinate_ids.h.
#include "agent/subordinate_ids.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/descriptor.h"
#include "agent/files.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

constexpr std::int64_t kMostIds = 65'536;
constexpr std::int64_t kFewestIds = 16;  // Less serves no two namespaces.
constexpr std::int64_t kEndOfIds = 4'294'967'295;

/// The program that maps ids with the rights of root, found where Debian and others have it: PATH
/// may be anything.
std::string find_mapper(const std::string& name) {
    for (const char* folder : {"/usr/bin/", "/bin/", "/usr/local/bin/", "/usr/sbin/"})
        if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
    return "";
}

/// Runs newuidmap or newgidmap for a process; true when it has mapped.
bool run_mapper(const std::string& program, pid_t process, std::int64_t own,
                const SubordinateRange& range) {
    std::vector<std::string> words{program,
                                   std::to_string(process),
                                   "0",
                                   std::to_string(own),
                                   "1",
                                   "1",
                                   std::to_string(range.first),
                                   std::to_string(range.count)};
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    int status = 0;
    if (pid < 0) return false;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The ids, and who maps them.
struct Plan {
    std::string uid_mapper;
    std::string gid_mapper;
    SubordinateRange users;
    SubordinateRange groups;
    std::string problem;
};

Plan make_plan() {
    Plan plan;
    const uid_t uid = ::geteuid();
    const passwd* user = ::getpwuid(uid);
    const std::string name = user ? user->pw_name : std::to_string(uid);
    plan.uid_mapper = find_mapper("newuidmap");
    plan.gid_mapper = find_mapper("newgidmap");
    const auto users = subordinate_range(read_file("/etc/subuid").value_or(""), name, uid);
    const auto groups = subordinate_range(read_file("/etc/subgid").value_or(""), name, uid);
    if (plan.uid_mapper.empty() || plan.gid_mapper.empty()) {
        plan.problem = "newuidmap and newgidmap are missing: install the package uidmap";
    } else if (!users || !groups) {
        plan.problem = "the user " + name + " has no range in " +
                       (users ? "/etc/subgid" : "/etc/subuid") +
                       ": as root, run `usermod --add-subuids 100000-165535 --add-subgids "
                       "100000-165535 " +
                       name + "` with numbers that nobody else has there";
    } else {
        plan.users = *users;
        plan.groups = *groups;
    }
    return plan;
}

void map_only_self(uid_t uid, gid_t gid) {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
}

/// A child outside the namespace that is to be made: there newuidmap has its rights.
class Mapper {
public:
    explicit Mapper(const Plan& plan) {
        std::array<int, 2> go{};
        std::array<int, 2> done{};
        if (::pipe2(go.data(), O_CLOEXEC) != 0 || ::pipe2(done.data(), O_CLOEXEC) != 0)
            throw Error(Reason::internal_error, fault("cannot make a pipe"));
        const pid_t process = ::getpid();
        const uid_t uid = ::geteuid();
        const gid_t gid = ::getegid();
        pid_ = ::fork();
        if (pid_ < 0) throw Error(Reason::internal_error, fault("cannot fork"));
        if (pid_ == 0) {
            ::close(go[1]);
            char byte = 0;
            if (::read(go[0], &byte, 1) != 1) ::_exit(1);
            const bool mapped = run_mapper(plan.uid_mapper, process, uid, plan.users) &&
                                run_mapper(plan.gid_mapper, process, gid, plan.groups);
            (void)!::write(done[1], mapped ? "y" : "n", 1);
            ::_exit(0);
        }
        go_.reset(go[1]);
        done_.reset(done[0]);
        ::close(go[0]);
        ::close(done[1]);
    }
    ~Mapper() {
        go_.reset();
        ::waitpid(pid_, nullptr, 0);
    }
    Mapper(const Mapper&) = delete;
    Mapper& operator=(const Mapper&) = delete;

    bool map() {
        char answer = 'n';
        (void)!::write(go_.get(), "g", 1);
        return ::read(done_.get(), &answer, 1) == 1 && answer == 'y';
    }

private:
    pid_t pid_ = -1;
    Descriptor go_;
    Descriptor done_;
};

void unshare_users() {
    if (::unshare(CLONE_NEWUSER) == 0) return;
    throw Error(Reason::forbidden,
                fault("this machine does not allow Muster to make namespaces for pods") +
                    "; allow them with `sysctl -w user.max_user_namespaces=10000`, on Debian "
                    "also `sysctl -w kernel.unprivileged_userns_clone=1`, on Ubuntu also "
                    "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, in a "
                    "container with --privileged, or run muster as root");
}

}  // namespace

std::optional<SubordinateRange> subordinate_range(std::string_view text, std::string_view name,
                                                  std::int64_t id) {
    std::optional<SubordinateRange> best;
    const std::string number = std::to_string(id);
    for (const std::string_view line : split(text, '\n')) {
        const auto words = split(line, ':');
        if (words.size() != 3 || (words[0] != name && words[0] != number)) continue;
        const auto first = parse_integer(trim(words[1]));
        const auto count = parse_integer(trim(words[2]));
        if (!first || !count || *first <= 0 || *count < kFewestIds || *first >= kEndOfIds ||
            *count > kEndOfIds - *first)
            continue;
        const SubordinateRange range{*first, std::min(*count, kMostIds)};
        if (!best || range.count > best->count) best = range;
    }
    return best;
}

OwnNamespace enter_own_user_namespace() {
    const Plan plan = make_plan();
    const uid_t uid = ::geteuid();
    const gid_t gid = ::getegid();
    if (!plan.problem.empty()) {
        unshare_users();
        map_only_self(uid, gid);
        return {0, plan.problem};
    }
    Mapper mapper(plan);
    unshare_users();
    if (mapper.map()) return {std::min(plan.users.count, plan.groups.count), ""};
    // Nothing was mapped, or only the users were: then this process must say so itself.
    if (read_file("/proc/self/uid_map").value_or("").empty()) {
        map_only_self(uid, gid);
        return {0,
                "newuidmap refused the range of this user in /etc/subuid: see that it is set-uid "
                "root, or has CAP_SETUID, and that no_new_privs is not set"};
    }
    throw Error(Reason::forbidden,
                "newgidmap refused the range of this user in /etc/subgid: see that it is set-uid "
                "root, or has CAP_SETGID");
}

}  // namespace muster::agent

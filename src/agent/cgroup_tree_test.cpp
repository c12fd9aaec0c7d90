// agent/cgroup_tree_test.cpp - the end of what runs in a control group, where one can be made.
#include "agent/cgroup_tree.h"

#include <cerrno>
#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace muster::agent {
namespace {

/// A group below a mounted hierarchy, removed at the end.
struct Group {
    RunGroup run;

    explicit Group(const std::string& above, const char* needed) {
        const std::string path = above + "/muster-test-" + std::to_string(::getpid());
        if (::mkdir(path.c_str(), 0755) != 0) return;
        run.folders.push_back(path);
        if (::access((path + "/" + needed).c_str(), W_OK) == 0) return;
        remove_run_group(run);
        run.folders.clear();
    }
    ~Group() { remove_run_group(run); }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    explicit operator bool() const { return !run.folders.empty(); }

    /// A process in it that runs `body`, then stays.
    template <typename Body>
    pid_t start(const Body& body) const {
        const pid_t pid = ::fork();
        REQUIRE(pid >= 0);
        if (pid > 0) return pid;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        try {
            enter_groups(run.folders);
        } catch (const Error&) {
            ::_exit(1);
        }
        body();
        ::pause();
        ::_exit(0);
    }
};

TEST_CASE("a group is killed at once where the kernel can do that") {
    for (const char* above : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        const Group group(above, "cgroup.kill");
        if (!group) {
            MESSAGE("not tried: no group can be killed in " << std::string(above));
            continue;
        }
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        const pid_t first = group.start([&] {
            if (::fork() == 0) ::pause();  // It is found by nobody who only knows the first one.
            (void)!::write(ready[1], "1", 1);
        });
        char letter = 0;
        REQUIRE(::read(ready[0], &letter, 1) == 1);
        CHECK(holds_processes(group.run));
        CHECK(kill_run_group(group.run));
        int status = 0;
        CHECK(::waitpid(first, &status, 0) == first);
        CHECK(WTERMSIG(status) == SIGKILL);
        for (int tries = 0; tries < 10'000 && holds_processes(group.run); ++tries)
            ::poll(nullptr, 0, 1);
        CHECK_FALSE(holds_processes(group.run));
        ::close(ready[0]);
        ::close(ready[1]);
    }
    CHECK_FALSE(kill_run_group({}));
    CHECK_FALSE(holds_processes({}));
}

TEST_CASE("nothing is started in a closed group") {
    const Group group("/sys/fs/cgroup/pids", "pids.max");
    if (!group) {
        MESSAGE("not tried: no group counts processes here");
        return;
    }
    int talk[2];
    int answers[2];
    REQUIRE(::pipe(talk) == 0);
    REQUIRE(::pipe(answers) == 0);
    const pid_t first = group.start([&] {
        char letter = 0;
        (void)!::write(answers[1], "1", 1);
        (void)!::read(talk[0], &letter, 1);
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        const char forked = child < 0 && errno == EAGAIN ? 'n' : 'y';
        (void)!::write(answers[1], &forked, 1);
    });
    char letter = 0;
    REQUIRE(::read(answers[0], &letter, 1) == 1);
    close_run_group(group.run);
    REQUIRE(::write(talk[1], "1", 1) == 1);
    REQUIRE(::read(answers[0], &letter, 1) == 1);
    CHECK(letter == 'n');
    ::kill(first, SIGKILL);
    ::waitpid(first, nullptr, 0);
    for (const int fd : {talk[0], talk[1], answers[0], answers[1]})
        ::close(fd);
}

}  // namespace
}  // namespace muster::agent

// agent/removed_files_test.cpp - space that only processes hold.
#include "agent/removed_files.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/descriptor.h"

namespace muster::agent {
namespace {

constexpr std::size_t kSize = 1 << 20;

/// Writes a file and removes its name.
Descriptor write_removed() {
    char name[] = "./muster-removed-XXXXXX";
    Descriptor file(::mkostemp(name, O_CLOEXEC));
    const std::string content(kSize, 'x');
    if (::write(file.get(), content.data(), content.size()) < 0) ::_exit(1);
    ::unlink(name);
    return file;
}

TEST_CASE("a removed file counts once as long as a process of the pod holds it") {
    struct stat here {};
    REQUIRE(::stat(".", &here) == 0);
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    const pid_t pod = ::fork();
    REQUIRE(pod >= 0);
    if (pod == 0) {
        const Descriptor shared = write_removed();
        if (::fork() == 0) {  // Its child holds the same one, and another one.
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const Descriptor own = write_removed();
            if (::write(ready[1], "1", 1) < 0) ::_exit(1);
            ::pause();
        }
        ::pause();
    }
    char letter = 0;
    REQUIRE(::read(ready[0], &letter, 1) == 1);
    const DiskUse use = removed_files_of(pod, here.st_dev);
    CHECK(use.files == 2);
    CHECK(use.bytes >= std::int64_t{2 * kSize});
    CHECK(use.bytes < std::int64_t{3 * kSize});
    CHECK(removed_files_of(pod, here.st_dev + 1).files == 0);
    ::kill(pod, SIGKILL);
    ::waitpid(pod, nullptr, 0);
    CHECK(removed_files_of(pod, here.st_dev).files == 0);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_CASE("a removed file that only a thread has open counts as well") {
    struct stat here {};
    REQUIRE(::stat(".", &here) == 0);
    std::atomic<bool> holds{false};
    std::atomic<bool> over{false};
    std::thread thread([&] {
        if (::unshare(CLONE_FILES) != 0) return;
        const Descriptor own = write_removed();
        holds = true;
        while (!over)
            std::this_thread::yield();
    });
    while (!holds)
        std::this_thread::yield();
    CHECK(removed_files_of(::getpid(), here.st_dev).files == 1);
    over = true;
    thread.join();
    CHECK(removed_files_of(::getpid(), here.st_dev).files == 0);
}

TEST_CASE("a removed file that is only mapped counts where the kernel shows it") {
    if (::access("/proc/self/map_files", R_OK | X_OK) != 0) {
        MESSAGE("not tried: mapped files are not shown to this user");
        return;
    }
    struct stat here {};
    REQUIRE(::stat(".", &here) == 0);
    Descriptor file = write_removed();
    void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
    REQUIRE(mapped != MAP_FAILED);
    file.reset();
    CHECK(removed_files_of(::getpid(), here.st_dev).files == 1);
    ::munmap(mapped, 4096);
}

}  // namespace
}  // namespace muster::agent

// agent/beneath_test.cpp - no path leads out of its folder, whatever another thread does meanwhile.
#include "agent/beneath.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/files.h"
#include "base/error.h"
#include "base/random.h"

namespace muster::agent {

namespace {

/// outside/secret, and inside/ with what a pod might make.
struct Ground {
    Ground() {
        char name[] = "/tmp/muster-beneath-XXXXXX";
        REQUIRE(::mkdtemp(name));
        top = name;
        make_directories(top + "/outside/deep");
        write_file(top + "/outside/secret", "secret");
        make_directories(top + "/inside/a/b");
        write_file(top + "/inside/a/file", "own");
        link("../outside", "inside/out");
        link("..", "inside/up");
        link("/", "inside/root");
        link("/etc", "inside/etc");
        link("a", "inside/fine");
        link("nowhere", "inside/dangling");
        link("loop", "inside/loop");
        link("/proc/self/root", "inside/magic");
        link("/proc/self/fd", "inside/fds");
        inside.reset(::open((top + "/inside").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(inside);
    }
    ~Ground() { std::filesystem::remove_all(top); }
    Ground(const Ground&) = delete;
    Ground& operator=(const Ground&) = delete;

    void link(const std::string& to, const std::string& at) const {
        REQUIRE(::symlink(to.c_str(), (top + "/" + at).c_str()) == 0);
    }
    /// The true path of an open descriptor.
    static std::string name_of(const Descriptor& fd) {
        return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd.get())).string();
    }
    bool is_inside(const Descriptor& fd) const {
        const std::string name = name_of(fd);
        return name == top + "/inside" || name.starts_with(top + "/inside/");
    }

    std::string top;
    Descriptor inside;
};

/// A path of the pieces that attackers use.
std::string hostile_path(Random& random) {
    static const char* const pieces[] = {"a",    "b",    "..",   ".",        "",       "out",
                                         "up",   "root", "fine", "dangling", "loop",   "magic",
                                         "fds",  "0",    "etc",  "file",     "new",    "secret",
                                         "deep", "swap", "x\n",  "\xff",     "outside"};
    std::string path = random.below(8) == 0 ? "/" : "";
    const std::uint64_t steps = 1 + random.below(7);
    for (std::uint64_t i = 0; i < steps; ++i)
        path += std::string(i == 0 ? "" : "/") + pieces[random.below(std::size(pieces))];
    return path;
}

}  // namespace

TEST_CASE("a link or .. that leads out is refused, one that stays is followed") {
    const Ground ground;
    const auto error_of = [&](const char* path) {
        errno = 0;
        const Descriptor fd = open_within(ground.inside.get(), path, Reach::beneath, O_PATH);
        return fd ? 0 : errno;
    };
    CHECK(error_of("a/b") == 0);
    CHECK(error_of("fine/b") == 0);
    CHECK(error_of("a/../a") == 0);
    CHECK(error_of("") == 0);
    CHECK(error_of("out/secret") == EXDEV);
    CHECK(error_of("up") == EXDEV);
    CHECK(error_of("..") == EXDEV);
    CHECK(error_of("a/../../outside") == EXDEV);
    CHECK(error_of("/etc/passwd") == EXDEV);
    CHECK(error_of("root/etc") == EXDEV);
    CHECK(error_of("loop") == ELOOP);
    CHECK(error_of("dangling") == ENOENT);
}

TEST_CASE("in a root every path stays in it") {
    const Ground ground;
    const auto open = [&](const char* path) {
        return open_within(ground.inside.get(), path, Reach::in_root, O_PATH);
    };
    CHECK(ground.is_inside(open("/a/b")));
    CHECK(ground.is_inside(open("../../..")));
    CHECK(ground.is_inside(open("root/a")));
    CHECK(ground.is_inside(open("up")));
    CHECK_FALSE(open("out/secret"));
    CHECK_FALSE(open("etc/passwd"));
    CHECK_FALSE(open("magic/etc"));
}

TEST_CASE("what is missing is made where it belongs, with the mode that was asked for") {
    const Ground ground;
    ::umask(077);
    const Descriptor made =
        make_within(ground.inside.get(), "fine/new/deeper", Reach::beneath, {.mode = 0777});
    ::umask(022);
    CHECK(Ground::name_of(made) == ground.top + "/inside/a/new/deeper");
    struct stat status {};
    REQUIRE(::fstat(made.get(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0777);
    make_within(ground.inside.get(), "a/fresh", Reach::beneath, {.kind = Place::Kind::file});
    CHECK(read_file(ground.top + "/inside/a/fresh") == "");
    make_within(ground.inside.get(), "/muster-fresh/new", Reach::in_root, {});
    CHECK(std::filesystem::exists(ground.top + "/inside/muster-fresh/new"));
    CHECK_FALSE(std::filesystem::exists("/muster-fresh"));
    for (const char* path : {"out/new", "up/new", "dangling/new", "a/file/new", "loop/new"})
        CHECK_THROWS_AS(make_within(ground.inside.get(), path, Reach::beneath, {}), Error);
    CHECK_THROWS_AS(
        make_within(ground.inside.get(), "a", Reach::beneath, {.kind = Place::Kind::file}), Error);
    CHECK_FALSE(std::filesystem::exists(ground.top + "/outside/new"));
}

TEST_CASE("hostile paths are opened inside or not at all, and make nothing outside") {
    const Ground ground;
    Random random(20261124);
    for (int i = 0; i < 20'000; ++i) {
        const std::string path = hostile_path(random);
        CAPTURE(path);
        const Reach reach = random.below(2) == 0 ? Reach::beneath : Reach::in_root;
        if (const Descriptor fd = open_within(ground.inside.get(), path, reach, O_PATH))
            REQUIRE(ground.is_inside(fd));
        Descriptor made;
        try {
            made = make_within(ground.inside.get(), path, reach, {});
        } catch (const Error&) {
            continue;
        }
        REQUIRE(ground.is_inside(made));
        const std::string read = read_within(ground.inside.get(), path, 100, End::first);
        REQUIRE(read != "secret");
    }
    CHECK(read_file(ground.top + "/outside/secret") == "secret");
    CHECK(std::distance(std::filesystem::recursive_directory_iterator(ground.top + "/outside"),
                        {}) == 2);
}

TEST_CASE("a thread that swaps links while the other resolves does not get it out") {
    const Ground ground;
    std::atomic<bool> done = false;
    std::thread attacker([&] {
        const std::string swap = ground.top + "/inside/swap";
        const std::string folder = ground.top + "/inside/held";
        while (!done) {
            ::mkdir(folder.c_str(), 0755);
            ::rename(folder.c_str(), swap.c_str());
            ::rmdir(swap.c_str());
            (void)!::symlink("../outside", swap.c_str());
            ::unlink(swap.c_str());
            (void)!::symlink("/", swap.c_str());
            ::unlink(swap.c_str());
        }
    });
    int made = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::string path = i % 3 == 0 ? "swap" : i % 3 == 1 ? "swap/../swap/x" : "swap/x";
        if (const Descriptor fd =
                open_within(ground.inside.get(), path, Reach::beneath, O_PATH | O_DIRECTORY))
            CHECK(ground.is_inside(fd));
        try {
            const Descriptor fd = make_within(ground.inside.get(), path, Reach::beneath, {});
            CHECK(ground.is_inside(fd));
            ++made;
        } catch (const Error&) {
        }
        remove_within(ground.inside.get(), "swap");
    }
    done = true;
    attacker.join();
    CHECK(made > 0);
    CHECK(read_file(ground.top + "/outside/secret") == "secret");
    CHECK_FALSE(std::filesystem::exists(ground.top + "/outside/x"));
    CHECK_FALSE(std::filesystem::exists("/x"));
}

TEST_CASE("a folder that cannot be written is opened up once, by its descriptor") {
    const Ground ground;
    int asked = 0;
    // A folder of /proc takes nothing new.
    const Descriptor proc(::open("/proc/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CHECK_THROWS_AS(
        make_within(proc.get(), "muster", Reach::beneath, {}, [&asked](int) { ++asked; }), Error);
    CHECK(asked <= 1);
}

TEST_CASE("a tree is removed through no link, however deep it is") {
    const Ground ground;
    Descriptor at(::fcntl(ground.inside.get(), F_DUPFD_CLOEXEC, 3));
    for (int depth = 0; depth < 3000; ++depth) {
        REQUIRE(::mkdirat(at.get(), "deeper", 0755) == 0);
        at.reset(::openat(at.get(), "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(at);
        REQUIRE(::symlinkat("/etc", at.get(), "etc") == 0);
    }
    CHECK(disk_use_within(ground.inside.get(), "deeper").files == 2 * 3000);
    CHECK(remove_within(ground.inside.get(), "deeper"));
    CHECK_FALSE(std::filesystem::exists(ground.top + "/inside/deeper"));
    CHECK(remove_within(ground.inside.get(), "out"));
    CHECK(std::filesystem::exists(ground.top + "/outside/secret"));
    CHECK(remove_within(ground.inside.get(), "never was"));
}

TEST_CASE("a folder that is moved while it is emptied does not lead the removal out of its tree") {
    // The names above the place that it is moved to are those that it was reached through.
    const Ground ground;
    make_directories(ground.top + "/stop/own/nk");
    make_directories(ground.top + "/inside/stop/own/nk");
    write_file(ground.top + "/stop/other", "precious");
    for (int round = 0; round < 20; ++round) {
        const std::string deep = ground.top + "/inside/stop/own/nk";
        make_directories(deep);
        for (int i = 0; i < 3000; ++i)
            write_file(deep + "/" + std::to_string(i), "");
        std::thread attacker([&] {
            while (std::filesystem::exists(deep + "/1500"))
                if (!std::filesystem::exists(deep + "/5")) break;
            ::rename(deep.c_str(), (ground.top + "/stop/nk").c_str());
        });
        remove_within(ground.inside.get(), "stop");
        attacker.join();
        CHECK(read_file(ground.top + "/stop/other") == "precious");
        CHECK(std::filesystem::exists(ground.top + "/outside/secret"));
        std::filesystem::remove_all(ground.top + "/stop/nk");
    }
}

TEST_CASE("a process that holds a folder cannot keep it alive by making files in it") {
    if (::geteuid() != 0) {
        MESSAGE("not tried: only root takes folders from other users");
        return;
    }
    const Ground ground;
    for (int round = 0; round < 20; ++round) {
        const std::string held = ground.top + "/inside/pod/volume";
        make_directories(held);
        REQUIRE(::chown(held.c_str(), 600'000'000, 600'000'000) == 0);
        for (int i = 0; i < 300; ++i)
            write_file(held + "/" + std::to_string(i), "");
        const Descriptor folder(::open(held.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        std::atomic<bool> makes{false};
        std::atomic<bool> over{false};
        std::thread pod([&] {
            // The system call changes this thread alone; the C library's function changes them all.
            if (::syscall(SYS_setresuid, 600'000'000, 600'000'000, 600'000'000) != 0) return;
            for (int i = 0; !over; ++i) {
                if (::mkdirat(folder.get(), ("new" + std::to_string(i)).c_str(), 0777) != 0) break;
                makes = true;
            }
        });
        while (!makes)
            std::this_thread::yield();
        CHECK(remove_within(ground.inside.get(), "pod"));
        over = true;
        pod.join();
    }
}

TEST_CASE("a folder that its owner closed to himself is removed") {
    const Ground ground;
    const std::string closed = ground.top + "/inside/closed";
    make_directories(closed + "/deeper");
    write_file(closed + "/deeper/file", "");
    const bool root = ::geteuid() == 0;
    for (const std::string& each : {closed + "/deeper", closed, ground.top + "/inside"}) {
        if (root) REQUIRE(::chown(each.c_str(), 1000, 1000) == 0);
        if (each.ends_with("/inside")) break;
        REQUIRE(::chmod(each.c_str(), 0) == 0);
    }
    if (root) REQUIRE(::seteuid(1000) == 0);
    const bool removed = remove_within(ground.inside.get(), "closed");
    if (root) REQUIRE(::seteuid(0) == 0);
    CHECK(removed);
}

TEST_CASE("disk use counts what is in a folder, and nothing that a link leads to") {
    const Ground ground;
    write_file(ground.top + "/inside/a/large", std::string(1 << 20, 'x'));
    const DiskUse use = disk_use_within(ground.inside.get(), "a");
    CHECK(use.bytes >= 1 << 20);
    CHECK(use.bytes < 2 << 20);
    CHECK(use.files == 4);
    CHECK(disk_use_within(ground.inside.get(), "out").files == 1);
    CHECK(disk_use_within(ground.inside.get(), "never was").files == 0);
}

TEST_CASE("only so much of a regular file is read, from its end where that is wanted") {
    const Ground ground;
    write_file(ground.top + "/inside/words", "one two three");
    const auto read = [&](const char* name, std::size_t limit, End end) {
        return read_within(ground.inside.get(), name, limit, end);
    };
    CHECK(read("words", 5, End::last) == "three");
    CHECK(read("words", 3, End::first) == "one");
    CHECK(read("words", 100, End::last) == "one two three");
    REQUIRE(::truncate((ground.top + "/inside/words").c_str(), std::int64_t{1} << 40) == 0);
    CHECK(read("words", 4096, End::last) == std::string(4096, '\0'));
    REQUIRE(::mkfifo((ground.top + "/inside/pipe").c_str(), 0600) == 0);
    CHECK(read("pipe", 10, End::first).empty());
    CHECK(read("out/secret", 10, End::first).empty());
    CHECK(read("a", 10, End::first).empty());
}

}  // namespace muster::agent

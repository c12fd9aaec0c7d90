// store/rocksdb_journal_test.cpp - what was answered is there again, after a restart, a kill -9 and
// a crash in between; folders that cannot be used are refused with what to do.
#include "store/rocksdb_journal.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "store/pumped_loop.h"
#include "store/store.h"
#include "store/temporary_folder.h"

namespace muster::store {
namespace {

namespace fs = std::filesystem;

std::string refusal(const std::string& folder) {
    PumpedLoop loop;
    try {
        const RocksdbJournal journal(folder, loop);
    } catch (const Error& error) {
        return error.what();
    }
    return "opened";
}

TEST_CASE("a restart finds every value, every revision, and where the counting stood") {
    const TemporaryFolder folder;
    PumpedLoop loop;
    int answered = 0;
    const auto count = [&answered] { ++answered; };
    {
        Store store(std::make_unique<RocksdbJournal>(folder.data(), loop));
        CHECK(store.revision() == 0);
        const std::string bytes("x\0\xff", 3);
        CHECK(store.stage("a", make_bytes(bytes), 0, count) == Staged::accepted);
        CHECK(store.stage("b", make_bytes(std::string(3 << 20, 'b')), 0, count) ==
              Staged::accepted);
        CHECK(store.stage("b", make_bytes(std::string(3 << 20, 'c')), 2, count) ==
              Staged::accepted);
        CHECK(store.stage("c", make_bytes(""), 0, count) == Staged::accepted);
        CHECK(store.stage("d", make_bytes("d"), 0, count) == Staged::accepted);
        CHECK(store.stage("d", nullptr, 5, count) == Staged::accepted);
        CHECK(store.find("a") == nullptr);
        loop.run_until([&] { return answered == 6; });
        CHECK(*store.find("a")->value == bytes);
    }
    const Store store(std::make_unique<RocksdbJournal>(folder.data(), loop));
    CHECK(store.revision() == 6);
    CHECK(store.find("a")->value->size() == 3);
    CHECK(store.find("b")->revision == 3);
    CHECK(*store.find("b")->value == std::string(3 << 20, 'c'));
    CHECK(store.find("c")->value->empty());
    CHECK(store.find("d") == nullptr);
}

TEST_CASE("what waits is written when the journal is closed") {
    const TemporaryFolder folder;
    PumpedLoop loop;
    {
        Store store(std::make_unique<RocksdbJournal>(folder.data(), loop));
        for (int i = 0; i < 1000; ++i)
            CHECK(store.stage("k" + std::to_string(i), make_bytes("v"), 0, {}) == Staged::accepted);
    }
    const Store store(std::make_unique<RocksdbJournal>(folder.data(), loop));
    CHECK(store.count("") == 1000);
}

TEST_CASE("folders that cannot be used are refused with what to do") {
    const TemporaryFolder folder;
    PumpedLoop loop;
    std::ofstream(fs::path(folder.data() + ".txt")) << "x";
    CHECK(refusal(folder.data() + ".txt").ends_with("it is a file; name a folder with --data"));

    fs::create_directory(folder.data());
    std::ofstream(fs::path(folder.data()) / "notes.txt") << "x";
    CHECK(refusal(folder.data())
              .ends_with("it holds other files; name a new or empty folder with --data"));
    fs::remove(fs::path(folder.data()) / "notes.txt");

    const RocksdbJournal journal(folder.data(), loop);
    CHECK(refusal(folder.data()).find("it is in use by ") != std::string::npos);
}

TEST_CASE("the folder is for its owner only") {
    const TemporaryFolder folder;
    CHECK(refusal(folder.data()) == "opened");
    struct stat status = {};
    REQUIRE(stat(folder.data().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
}

void tell(int pipe, const std::string& line) {
    if (write(pipe, line.data(), line.size()) < 0) std::_Exit(1);
}

// The child of the test below: writes without end. It tells the pipe each removal before it is
// staged, and each write when it is answered.
TEST_CASE("child: write until killed" * doctest::skip()) {
    const int pipe = std::atoi(std::getenv("MUSTER_TEST_PIPE"));
    const std::string folder = std::getenv("MUSTER_TEST_FOLDER");
    Random random(static_cast<std::uint64_t>(getpid()));
    PumpedLoop loop;
    Store store(std::make_unique<RocksdbJournal>(folder, loop));
    std::size_t in_flight = 0;
    for (;;) {
        const std::string key = "k" + std::to_string(random.below(40));
        const Entry before = store.newest(key);
        const bool removal = before.value && random.below(5) == 0;
        const std::string revision = std::to_string(store.next_revision());
        const std::string line = " " + key + " " + revision + " .\n";
        if (removal) tell(pipe, "removing" + line);
        const Staged staged = store.stage(
            key,
            removal ? nullptr : make_bytes(revision + "." + std::string(random.below(3000), 'x')),
            before.value ? before.revision : 0, [&in_flight, pipe, line, removal] {
                --in_flight;
                tell(pipe, (removal ? "removed" : "written") + line);
            });
        REQUIRE(staged == Staged::accepted);
        ++in_flight;
        const std::size_t wanted = random.below(64);
        loop.run_until([&] { return in_flight <= wanted; });
    }
}

/// Runs the child until it has answered some writes, kills it, and returns what it answered.
std::string answers_of_killed_child(const std::string& folder, std::size_t bytes_wanted) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t child = fork();
    if (child == 0) {
        setenv("MUSTER_TEST_PIPE", std::to_string(ends[1]).c_str(), 1);
        setenv("MUSTER_TEST_FOLDER", folder.c_str(), 1);
        close(STDOUT_FILENO);
        execl("/proc/self/exe", "store_test", "--no-skip", "-tc=child: write until killed",
              nullptr);
        std::_Exit(1);
    }
    REQUIRE(child > 0);
    close(ends[1]);
    std::string answers;
    std::array<char, 4096> buffer{};
    bool killed = false;
    for (;;) {
        const ssize_t count = read(ends[0], buffer.data(), buffer.size());
        if (count <= 0) break;
        answers.append(buffer.data(), static_cast<std::size_t>(count));
        if (!killed && answers.size() >= bytes_wanted) killed = kill(child, SIGKILL) == 0;
    }
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    return answers;
}

/// What a parent knows of a key: the newest answered write and the newest attempt to remove it.
struct Known {
    std::int64_t written = 0;
    std::int64_t removed = 0;
    std::int64_t removing = 0;
};

TEST_CASE("what was answered before a kill -9 is there after it") {
    const TemporaryFolder folder;
    Random random(9);
    std::map<std::string, Known, std::less<>> keys;
    std::int64_t newest = 0;
    for (int round = 0; round < 6; ++round) {
        const std::string answers =
            answers_of_killed_child(folder.data(), 200 + random.below(20'000));
        for (const std::string_view line : split(answers, '\n')) {
            const std::vector<std::string_view> words = split(line, ' ');
            if (words.size() != 4) continue;  // Cut off by the kill.
            Known& known = keys[std::string(words[1])];
            const std::int64_t revision = parse_integer(words[2]).value();
            // Never given out before, by this child or an earlier one.
            REQUIRE(revision > newest);
            if (words[0] == "removing") known.removing = revision;
            if (words[0] == "removed") known.removed = revision;
            if (words[0] == "written") known.written = revision;
        }
        PumpedLoop loop;
        const Store store(std::make_unique<RocksdbJournal>(folder.data(), loop));
        newest = store.revision();
        for (const auto& [key, known] : keys) {
            const Entry* entry = store.find(key);
            REQUIRE(newest >= std::max(known.written, known.removed));
            if (entry) {
                REQUIRE(entry->revision >= std::max(known.written, known.removed));
                REQUIRE(entry->value->starts_with(std::to_string(entry->revision) + "."));
            } else {
                REQUIRE(known.removing >= known.written);
            }
        }
    }
}

}  // namespace
}  // namespace muster::store

// store/unreadable_test.cpp - files that the system does not let be read, or that are no files, are
// named at the start, and no repair gives them up.
#include <filesystem>
#include <functional>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "store/damaged_folder.h"
#include "store/data_folder.h"
#include "store/read_only_view.h"
#include "store/temporary_folder.h"

namespace muster::store {
namespace {

/// Refused by the start, the look and the repair in the same words, and left as it is.
void check_unreadable(const std::string& folder, const std::string& words) {
    const std::string names = names_in(folder);
    const std::string said = start(folder);
    CAPTURE(said);
    CHECK(says(said, words));
    CHECK(!says(said, "muster store repair"));
    CHECK(!says(said, "\n"));
    CHECK(ReadOnlyView(folder, ReadOnlyView::Contents::keep).verdict().kind ==
          Verdict::Kind::unreadable);
    CHECK_THROWS_WITH_AS(repair_store(folder), doctest::Contains(words.c_str()), Error);
    CHECK(names_in(folder) == names);
    CHECK(names_in(fs::path(folder).parent_path().string()) == "away data");
}

/// As check_unreadable, with something else in place of a file.
void check_in_place(const std::string& folder, const fs::path& file,
                    const std::function<void(const fs::path&)>& make, const std::string& words) {
    CAPTURE(file.string());
    const fs::path away = fs::path(folder).parent_path() / "away";
    fs::rename(file, away);
    make(file);
    check_unreadable(folder, "the file " + file.filename().string() + " cannot be read (" + words);
    fs::remove(file);
    fs::rename(away, file);
}

TEST_CASE("a file that cannot be opened is named, and nothing is given up for it") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    const auto loop = [](const fs::path& path) { fs::create_symlink(path.filename(), path); };
    for (const fs::path& file : {newest(folder.data(), ".sst"), newest(folder.data(), ".log"),
                                 manifest_of(folder.data()), folder.data() / fs::path("CURRENT")})
        check_in_place(folder.data(), file, loop, "Too many levels of symbolic links)");
    CHECK(start(folder.data()) == "at 60");
}

TEST_CASE("a log that the disk fails to read is not taken for its end, nor a table for damaged") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    // Reading there is answered with EIO.
    const auto broken = [](const fs::path& path) { fs::create_symlink("/proc/self/mem", path); };
    check_in_place(folder.data(), newest(folder.data(), ".log"), broken, "Input/output error)");
    const fs::path table = newest(folder.data(), ".sst");
    const fs::path away = folder.path() + "/away";
    fs::rename(table, away);
    broken(table);
    CHECK_THROWS_WITH_AS(repair_store(folder.data()), doctest::Contains("Input/output error"),
                         Error);
    fs::remove(table);
    fs::rename(away, table);
    CHECK(start(folder.data()) == "at 60");
}

TEST_CASE("with too many open files nothing is repaired, and later it starts") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const int next = dup(STDIN_FILENO);
    REQUIRE(next >= 0);
    close(next);
    for (rlim_t more = 1; more < 12; ++more) {
        CAPTURE(more);
        rlimit few = before;
        few.rlim_cur = static_cast<rlim_t>(next) + more;
        REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
        std::string said;
        try {
            said = repair_store(folder.data()).was_whole ? "whole" : "repaired";
        } catch (const Error& error) {
            said = error.what();
        }
        REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
        CAPTURE(said);
        CHECK((said == "whole" || says(said, "Too many open files")));
        CHECK(names_in(folder.path()) == "data");
    }
    CHECK(start(folder.data()) == "at 60");
}

TEST_CASE("what is no file is refused by its name, and nothing waits for it") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 60);
    const auto pipe = [](const fs::path& path) { REQUIRE(mkfifo(path.c_str(), 0600) == 0); };
    const auto directory = [](const fs::path& path) { fs::create_directory(path); };
    const auto device = [](const fs::path& path) { fs::create_symlink("/dev/zero", path); };
    const auto socket_file = [](const fs::path& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.string().copy(address.sun_path, sizeof address.sun_path - 1);
        const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        REQUIRE(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        close(listener);
    };
    const fs::path data = folder.data();
    for (const fs::path& file : {newest(data, ".log"), manifest_of(data), data / "CURRENT",
                                 data / "ANSWERED", data / "IDENTITY", data / "LOCK"}) {
        check_in_place(data, file, pipe, "it is a named pipe, not a file)");
        check_in_place(data, file, directory, "it is a folder, not a file)");
        check_in_place(data, file, device, "it is a device, not a file)");
        check_in_place(data, file, socket_file, "it is a socket, not a file)");
    }
    CHECK(start(data) == "at 60");
}

TEST_CASE("the file that asks for room takes no other file's place, and follows no link") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 5);
    const fs::path room = fs::path(folder.data()) / "room";
    const fs::path mine = folder.path() + "/mine";
    write_file(mine, "mine");
    fs::create_symlink(mine, room);
    CHECK(says(start(folder.data()), "room cannot be made (it is a symbolic link, not a file)"));
    fs::remove(room);
    fs::create_directory(room);
    CHECK(says(start(folder.data()), "room cannot be made (it is a folder, not a file)"));
    fs::remove(room);
    fs::create_hard_link(mine, room);  // As one that a killed process has left.
    CHECK(start(folder.data()) == "at 5");
    CHECK(read_file(mine) == "mine");
    CHECK(!fs::exists(room));
}

}  // namespace
}  // namespace muster::store

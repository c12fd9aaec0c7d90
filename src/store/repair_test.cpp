// store/repair_test.cpp - what a repair and a new store leave behind: everything that was there,
// and nothing half.
#include "store/repair.h"

#include <csignal>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "base/error.h"
#include "store/damaged_folder.h"
#include "store/data_folder.h"
#include "store/new_store.h"
#include "store/temporary_folder.h"

namespace muster::store {
namespace {

TEST_CASE("a repair removes nothing that was there, and keeps the damaged files byte by byte") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    fs::remove(fs::path(folder.data()) / "CURRENT");
    std::map<fs::path, std::string> damaged;
    for (const auto& entry : fs::directory_iterator(folder.data()))
        damaged[entry.path().filename()] = read_file(entry.path());
    const std::set<std::string> others = {"data.new", "data.repaired", "data.rebuilt",
                                          "data.damaged-1"};
    for (const std::string& other : others) {
        fs::create_directory(folder.path() + "/" + other);
        write_file(folder.path() + "/" + other + "/kept", other);
    }
    fs::create_symlink("nowhere", folder.path() + "/data.damaged-2");
    const Repaired repaired = repair_store(folder.data());
    CHECK(repaired.damaged_copy == folder.data() + ".damaged-3");
    for (const std::string& other : others)
        CHECK(read_file(folder.path() + "/" + other + "/kept") == other);
    for (const auto& [name, bytes] : damaged) {
        CAPTURE(name.string());
        CHECK((read_file(repaired.damaged_copy / name) == bytes));
    }
    CHECK(names_in(folder.path()) ==
          "data data.damaged-1 data.damaged-2 data.damaged-3 data.new "
          "data.rebuilt data.repaired");
}

/// No file of this process can grow beyond a size, as on a full disk.
class FullDisk {
public:
    FullDisk() {
        REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
        rlimit limit = before_;
        limit.rlim_cur = 100'000;
        REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

private:
    rlimit before_{};
    void (*handler_)(int) = SIG_DFL;
};

TEST_CASE("without room a repair and a new store end in words and leave nothing behind") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    const std::string current = read_file(fs::path(folder.data()) / "CURRENT");
    for (const char* missing : {"CURRENT", "ANSWERED"}) {
        CAPTURE(missing);
        fs::remove(fs::path(folder.data()) / missing);
        {
            const FullDisk full;
            CHECK_THROWS_WITH_AS(repair_store(folder.data()), doctest::Contains("File too large"),
                                 Error);
            CHECK_THROWS_WITH_AS(NewStore(folder.path() + "/other"),
                                 doctest::Contains("/other: File too large"), Error);
        }
        CHECK(names_in(folder.path()) == "data");
        write_file(fs::path(folder.data()) / "CURRENT", current);
    }
}

TEST_CASE("after a repair the counting goes on above every record that was kept") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    for (const std::int64_t highest : {std::int64_t{3'000'000}, std::int64_t{1} << 52}) {
        fs::remove_all(folder.data());
        {
            NewStore target(folder.data());
            target.put({"a", make_bytes("x"), highest});
            target.finish(9);
        }
        fs::remove(fs::path(folder.data()) / "ANSWERED");
        CHECK(repair_store(folder.data()).revision == highest + revisions_skipped_by_repair);
    }
    {
        fs::remove_all(folder.data());
        NewStore target(folder.data());
        target.put({"a", make_bytes("x"), std::numeric_limits<std::int64_t>::max()});
        target.finish(9);
    }
    fs::remove(fs::path(folder.data()) / "ANSWERED");
    CHECK_THROWS_WITH_AS(repair_store(folder.data()), doctest::Contains("there are none left"),
                         Error);
}

TEST_CASE("the command that repairs can be copied into a shell") {
    CHECK(repair_command("/a/b-1.2/store") ==
          "`muster store repair --accept-loss --data /a/b-1.2`");
    CHECK(repair_command("/a b/$(c)'d/store") ==
          R"(`muster store repair --accept-loss --data '/a b/$(c)'\''d'`)");
}

TEST_CASE(
    "a store that is made of records has their values and revisions, and is there whole or not") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    {
        NewStore half(folder.data());
        half.put({"a", make_bytes("x"), 3});
    }
    CHECK(!fs::exists(folder.data()));
    CHECK(fs::is_empty(folder.path()));
    NewStore whole(folder.data());
    whole.put({"b", make_bytes(std::string("\0\n", 2)), 3});
    whole.put({"a", make_bytes(""), 7});
    whole.finish(9);
    PumpedLoop loop;
    const Store store(std::make_unique<RocksdbJournal>(folder.data(), loop));
    CHECK(store.revision() == 9);
    CHECK(*store.find("b")->value == std::string("\0\n", 2));
    CHECK(store.find("a")->revision == 7);
    CHECK_THROWS_WITH_AS(NewStore(folder.data()), doctest::Contains("it is not empty"), Error);
}

}  // namespace
}  // namespace muster::store

// apps/store/store_commands_test.cpp - a backup is whole or not there, and takes no other's place.
#include "apps/store/store_commands.h"

#include <filesystem>
#include <utility>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "apps/store/export_file.h"
#include "apps/up/data_directory.h"
#include "base/error.h"
#include "store/new_store.h"
#include "store/read_only_view.h"
#include "store/temporary_folder.h"

namespace muster::storage {
namespace {

namespace fs = std::filesystem;
using store::TemporaryFolder;

void make_data(const std::string& folder) {
    const up::DataDirectory data(folder);
    fs::create_directory(data.path() + "/pki");
    up::write_secret_file(data.path() + "/pki/ca.key", "secret");
    store::NewStore target(data.store_path());
    target.put({"/a", make_bytes("{}"), 3});
    target.finish(5);
}

std::string only_file(const std::string& folder) {
    std::string names;
    for (const auto& entry : fs::directory_iterator(folder))
        names += entry.path().filename().string() + " ";
    return names;
}

TEST_CASE("a backup is for its owner only, and removes nothing that was there") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    make_data(folder.data());
    fs::create_directory(folder.path() + "/b.new");
    up::write_secret_file(folder.path() + "/b.new/kept", "mine");
    const std::string place = folder.path() + "/b";
    CHECK(run_backup({folder.data(), place, false}) == 0);
    CHECK(up::read_file(folder.path() + "/b.new/kept") == "mine");
    CHECK(up::read_file(place + "/pki/ca.key") == "secret");
    struct stat found {};
    REQUIRE(stat(place.c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0700);
    const store::ReadOnlyView view(place + "/store", store::ReadOnlyView::Contents::keep);
    CHECK(view.verdict().kind == store::Verdict::Kind::whole);
    CHECK(view.verdict().readable == 5);
}

TEST_CASE("a backup that cannot be put in its place leaves nothing") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    make_data(folder.data());
    fs::create_directory(folder.path() + "/backups");
    fs::create_symlink("nowhere", folder.path() + "/backups/b");
    CHECK_THROWS_AS(run_backup({folder.data(), folder.path() + "/backups/b", false}), Error);
    CHECK(only_file(folder.path() + "/backups") == "b ");
}

TEST_CASE("what no server can serve is not imported, and the line is named") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    const std::string good =
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}})";
    const std::pair<const char*, std::string> faults[] = {
        {"/core/configmaps/default/b", good},
        {"/core/configmaps/default/a", "[1]"},
        {"/core/configmaps/default/a", ""},
        {"/core/configmaps//a", good},
        {"/nonsense", good},
    };
    const std::string file = folder.path() + "/export";
    const auto write = [&file](const std::string& key, const std::string& value) {
        std::string text;
        ExportWriter writer([&text](std::string_view more) { text += more; }, 9);
        writer.put({key, make_bytes(value), 3});
        writer.finish();
        up::write_secret_file(file, text);
    };
    for (const auto& [key, value] : faults) {
        CAPTURE(key);
        write(key, value);
        CHECK_THROWS_WITH_AS(run_import({folder.data(), file, false}),
                             doctest::Contains((file + ", line 2: key \"" + key).c_str()), Error);
        CHECK(!fs::exists(folder.data()));
    }
    write("/core/configmaps/default/a", good);
    CHECK(run_import({folder.data(), file, false}) == 0);
}

TEST_CASE("a store that is gone is a loss for every command, until it is accepted") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    make_data(folder.data());
    const std::string store = folder.data() + "/store";
    for (const bool is_emptied : {false, true}) {
        CAPTURE(is_emptied);
        fs::remove_all(store);
        if (is_emptied) {
            fs::create_directory(store);
            up::write_secret_file(store + "/LOCK", "");
            up::write_secret_file(folder.data() + "/kubeconfig", "x");
        }
        CHECK(run_check({folder.data(), "", false}) == 1);
        CHECK(run_repair({folder.data(), "", false}) == 1);
        CHECK_THROWS_WITH_AS(run_export({folder.data(), folder.path() + "/x", false}),
                             doctest::Contains("its objects are lost"), Error);
        CHECK_THROWS_WITH_AS(run_backup({folder.data(), folder.path() + "/x", false}),
                             doctest::Contains("its objects are lost"), Error);
        CHECK(run_repair({folder.data(), "", true}) == 0);
        CHECK(run_check({folder.data(), "", false}) == 0);
        const store::ReadOnlyView view(store, store::ReadOnlyView::Contents::keep);
        CHECK(view.verdict().readable > 1'790'000'000'000);
        CHECK(fs::exists(store + ".damaged-1") == is_emptied);
    }
}

}  // namespace
}  // namespace muster::storage

// store/damage_test.cpp - files of the data folder are damaged in every way: what was answered and
// is lost is said at the start and never served without a repair; what was never answered is not
// missed.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <rocksdb/db.h>

#include "base/error.h"
#include "store/damaged_folder.h"
#include "store/disk_format.h"
#include "store/read_only_view.h"
#include "store/temporary_folder.h"

namespace muster::store {
namespace {

constexpr std::string_view lost = "writes that were answered are lost: revisions up to 60 were ";

TEST_CASE(
    "a log that is damaged, cut off or removed is refused, and a repair keeps what is sound") {
    struct Fault {
        const char* name;
        std::function<void(const fs::path& log)> make;
        std::size_t kept_min;
        std::size_t kept_max;
    };
    const auto part = [](const fs::path& log, double share) {
        return static_cast<std::size_t>(static_cast<double>(fs::file_size(log)) * share);
    };
    const Fault faults[] = {
        {"a byte at its start", [](const fs::path& log) { flip(log, 20); }, 30, 30},
        {"a byte in its middle", [&](const fs::path& log) { flip(log, part(log, 0.5)); }, 43, 47},
        {"a byte at its end", [](const fs::path& log) { flip(log, fs::file_size(log) - 5); }, 59,
         59},
        {"zeros",
         [&](const fs::path& log) {
             std::string bytes = read_file(log);
             const std::size_t begin = part(log, 0.6);
             std::fill(bytes.begin() + static_cast<long>(begin),
                       bytes.begin() + static_cast<long>(begin) + 3000, '\0');
             write_file(log, bytes);
         },
         45, 49},
        {"zeros to its end",
         [&](const fs::path& log) {
             std::string bytes = read_file(log);
             std::fill(bytes.begin() + static_cast<long>(part(log, 0.6)), bytes.end(), '\0');
             write_file(log, bytes);
         },
         45, 49},
        {"cut off", [&](const fs::path& log) { fs::resize_file(log, part(log, 0.5)); }, 43, 47},
        {"cut off by a byte",
         [](const fs::path& log) { fs::resize_file(log, fs::file_size(log) - 1); }, 59, 59},
        {"empty", [](const fs::path& log) { fs::resize_file(log, 0); }, 30, 30},
        {"removed", [](const fs::path& log) { fs::remove(log); }, 30, 30},
    };
    for (const Fault& fault : faults) {
        CAPTURE(fault.name);
        const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
        fill(folder.data(), 0, 30);
        fill(folder.data(), 30, 60);
        fault.make(newest(folder.data(), ".log"));
        check_refused(folder.data(), lost, fault.kept_min, fault.kept_max);
    }
}

TEST_CASE(
    "an older log that is removed or damaged is a gap, also when all later writes are there") {
    for (const bool removed : {true, false}) {
        const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
        fill(folder.data(), 0, 20);
        fill(folder.data(), 20, 40);
        const fs::path older = newest(folder.data(), ".log");
        fill(folder.data(), 40, 60);
        REQUIRE(older != newest(folder.data(), ".log"));
        if (removed) {
            fs::remove(older);
        } else {
            flip(older, fs::file_size(older) / 2);
        }
        check_refused(folder.data(), lost, removed ? 20 : 28, removed ? 20 : 32);
    }
}

TEST_CASE("a record of a log that is there twice is refused in words, and a repair loses nothing") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 60);
    const fs::path log = newest(folder.data(), ".log");
    const std::string sound = read_file(log);
    // The last records are equally long.
    const std::size_t size = sound.find("rk59") - sound.find("rk58");
    write_file(log, sound + sound.substr(sound.size() - size));
    check_refused(folder.data(), "a record of a log is there twice", 60, 60);
}

TEST_CASE("a log that is there again under a newer number is refused in words, and repaired") {
    for (const bool is_in_tables : {false, true}) {
        CAPTURE(is_in_tables);
        const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
        fill(folder.data(), 0, 60);
        const fs::path log = newest(folder.data(), ".log");
        const std::string copy = read_file(log);
        if (is_in_tables) {
            rocksdb::DB* opened = nullptr;
            REQUIRE(rocksdb::DB::Open(database_options(), folder.data(), &opened).ok());
            const std::unique_ptr<rocksdb::DB> database(opened);
            REQUIRE(database->Flush({}).ok());
        }
        write_file(log.parent_path() / "000099.log", copy);
        check_refused(folder.data(), "a record of a log is there twice", 60, 60);
    }
}

TEST_CASE("where the database ends early in its logs a repair keeps all, and a look says it") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 0);
    const fs::path older = newest(folder.data(), ".log");
    fill(folder.data(), 0, 60);
    flip(older, 20);  // Its only record says what the folder is.
    const ReadOnlyView view(folder.data(), ReadOnlyView::Contents::keep);
    CHECK(view.verdict().sentence == start(folder.data()));
    check_refused(folder.data(), "it was read up to revision 60, then only up to 0", 60, 60);
}

TEST_CASE("the last log of a young folder that is removed is a loss, not a new folder") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 60);
    fs::remove(newest(folder.data(), ".log"));
    check_refused(folder.data(), "everything is there only up to revision 0 ", 0, 0);
}

TEST_CASE("a manifest that was cut in half is refused, and a repair finds the tables again") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    const fs::path manifest = manifest_of(folder.data());
    fs::resize_file(manifest, fs::file_size(manifest) / 2);
    const std::string said = start(folder.data());
    CAPTURE(said);
    CHECK((says(said, lost) || says(said, "the database is damaged (")));
    const Repaired repaired = check_refused(folder.data(), said, 60, 60);
    CHECK(repaired.lost_tables);
}

TEST_CASE("a folder without the file CURRENT is damaged, not new") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    fs::remove(fs::path(folder.data()) / "CURRENT");
    check_refused(folder.data(), "the database is damaged (the file CURRENT is missing)", 60, 60);
}

TEST_CASE("a table that is damaged is said to be damaged, and a repair keeps the others") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    const fs::path table = newest(folder.data(), ".sst");
    flip(table, fs::file_size(table) / 2);
    check_refused(folder.data(), "the database is damaged (Corruption", 1, 59);
}

TEST_CASE("a table that is missing is said to be damage") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    fs::remove(newest(folder.data(), ".sst"));
    check_refused(folder.data(), "the database is damaged (", 1, 59);
}

TEST_CASE(
    "where the file ANSWERED cannot be opened it is not called damaged, and nothing is repaired") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 60);
    const fs::path answered = fs::path(folder.data()) / "ANSWERED";
    const fs::path away = folder.path() + "/away";
    fs::rename(answered, away);
    for (const bool without_current : {false, true}) {
        fs::create_symlink("ANSWERED", answered);
        if (without_current) fs::remove(fs::path(folder.data()) / "CURRENT");
        const std::string said = start(folder.data());
        CAPTURE(said);
        if (!without_current) {
            CHECK(says(said, "the file ANSWERED cannot be read (Too many levels of symbolic "));
            CHECK(!says(said, "repair"));
        }
        CHECK_THROWS_WITH_AS(repair_store(folder.data()),
                             doctest::Contains("the file ANSWERED cannot be read"), Error);
        fs::remove(answered);
        if (without_current) continue;
        fs::copy_file(away, answered);
        CHECK(start(folder.data()) == "at 60");
        fs::remove(answered);
    }
}

TEST_CASE("without the file ANSWERED, or with a damaged one, nothing is proved and it says so") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 60);
    const fs::path answered = fs::path(folder.data()) / "ANSWERED";
    const std::string sound = read_file(answered);
    fs::remove(answered);
    CHECK(says(start(folder.data()), "the file ANSWERED is missing, so nothing proves"));
    write_file(answered, std::string(sound.size(), '\0'));
    CHECK(says(start(folder.data()), "the file ANSWERED is damaged, so nothing proves"));
    write_file(answered, "");
    CHECK(says(start(folder.data()), "the file ANSWERED is damaged"));
    write_file(answered, sound);
    CHECK(start(folder.data()) == "at 60");
    // One slot may be torn when the power fails.
    write_file(answered, sound);
    flip(answered, 10);
    CHECK(start(folder.data()) == "at 60");
    fs::remove(answered);
    check_refused(folder.data(), "put that file back, or accept what is there", 60, 60);
}

TEST_CASE(
    "a folder of an older Muster, without the file ANSWERED, starts, and has it from then on") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 60);
    {
        rocksdb::DB* opened = nullptr;
        REQUIRE(rocksdb::DB::Open(database_options(), folder.data(), &opened).ok());
        const std::unique_ptr<rocksdb::DB> database(opened);
        rocksdb::WriteOptions durably;
        durably.sync = true;
        REQUIRE(database->Delete(durably, answered_key).ok());
        REQUIRE(database->Flush({}).ok());
    }
    fs::remove(fs::path(folder.data()) / "ANSWERED");
    CHECK(start(folder.data()) == "at 60");
    fs::remove(fs::path(folder.data()) / "ANSWERED");
    CHECK(says(start(folder.data()), "the file ANSWERED is missing"));
}

TEST_CASE("a torn last record that nobody was answered is not missed") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 60);
    const fs::path log = newest(folder.data(), ".log");
    const std::string sound = read_file(log);
    // As a kill or a power cut in the middle of a write leaves it.
    for (const std::size_t torn : {1U, 6U, 7U, 60U, 500U}) {
        write_file(log, sound + sound.substr(sound.size() - 600, torn));
        CHECK(start(folder.data()) == "at 60");
    }
    write_file(log, sound + std::string(5000, '\0'));
    CHECK(start(folder.data()) == "at 60");
    fill(folder.data(), 60, 70);
    CHECK(start(folder.data()) == "at 70");
}

TEST_CASE(
    "after a power cut the file ANSWERED is older than the log, wherever that ends: it starts") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 30);
    const std::string before = read_file(fs::path(folder.data()) / "ANSWERED");
    fill(folder.data(), 30, 60);
    const fs::path log = newest(folder.data(), ".log");
    const fs::path copy = folder.path() + "/cut";
    for (std::size_t size = 0; size <= fs::file_size(log); size += 997) {
        fs::remove_all(copy);
        fs::copy(folder.data(), copy);
        write_file(copy / "ANSWERED", before);
        fs::resize_file(copy / log.filename(), size);
        CAPTURE(size);
        CHECK(start(copy.string()).starts_with("at "));
    }
}

TEST_CASE("a look beside a process that writes tables all the time finds no loss") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill(folder.data(), 0, 1);
    std::atomic<bool> done = false;
    std::thread writer([&] {
        PumpedLoop loop;
        Store store(std::make_unique<RocksdbJournal>(folder.data(), loop));
        while (!done) {
            bool answered = false;
            (void)store.stage("k", make_bytes(std::string(1 << 20, 'x')),
                              store.newest("k").revision, [&answered] { answered = true; });
            loop.run_until([&answered] { return answered; });
        }
    });
    for (int i = 0; i < 20; ++i) {
        const ReadOnlyView view(folder.data(), ReadOnlyView::Contents::keep);
        CAPTURE(view.verdict().sentence);
        CHECK(view.verdict().kind == Verdict::Kind::whole);
    }
    done = true;
    writer.join();
}

TEST_CASE("a folder is read beside the process that writes there") {
    const TemporaryFolder folder(TemporaryFolder::Place::in_memory);
    fill_tables(folder.data());
    PumpedLoop loop;
    Store store(std::make_unique<RocksdbJournal>(folder.data(), loop));
    for (int i = 0; i < 5; ++i) {
        bool answered = false;
        REQUIRE(store.stage("more" + std::to_string(i), make_bytes("x"), 0,
                            [&answered] { answered = true; }) == Staged::accepted);
        loop.run_until([&answered] { return answered; });
        REQUIRE(store.stage("k" + std::to_string(i), nullptr,
                            store.newest("k" + std::to_string(i)).revision,
                            {}) == Staged::accepted);
        loop.run_until([&] { return store.revision() == 62 + 2 * i; });
        const ReadOnlyView view(folder.data(), ReadOnlyView::Contents::keep);
        CHECK(view.verdict().kind == Verdict::Kind::whole);
        CHECK(view.verdict().readable == store.revision());
        std::vector<std::string> keys;
        view.each([&](const Record& record) { keys.push_back(record.key); });
        CHECK(keys.size() == 60);
        CHECK(std::is_sorted(keys.begin(), keys.end()));
    }
    CHECK_THROWS_WITH_AS(repair_store(folder.data()),
                         doctest::Contains("it is in use by this process"), Error);
}

}  // namespace
}  // namespace muster::store

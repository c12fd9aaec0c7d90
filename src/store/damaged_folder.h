// store/damaged_folder.h - for tests: a store folder is filled, damaged, started and repaired.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "store/pumped_loop.h"
#include "store/repair.h"
#include "store/rocksdb_journal.h"
#include "store/store.h"

namespace muster::store {

namespace fs = std::filesystem;

inline std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline void flip(const fs::path& path, std::size_t at) {
    std::string bytes = read_file(path);
    REQUIRE(at < bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    write_file(path, bytes);
}

/// The newest file with this extension that is not empty.
inline fs::path newest(const std::string& folder, const std::string& extension) {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == extension && entry.file_size() > 0 &&
            (found.empty() || entry.path().filename() > found.filename())) {
            found = entry.path();
        }
    }
    REQUIRE(!found.empty());
    return found;
}

inline fs::path manifest_of(const std::string& folder) {
    return fs::path(folder) / std::string(trim(read_file(fs::path(folder) / "CURRENT")));
}

/// Writes keys one after the other, each in a group of its own.
inline void fill(const std::string& folder, int from, int to, std::size_t size = 1000) {
    PumpedLoop loop;
    Store store(std::make_unique<RocksdbJournal>(folder, loop));
    for (int i = from; i < to; ++i) {
        bool answered = false;
        const std::string key = "k" + std::to_string(i);
        REQUIRE(store.stage(key, make_bytes(std::string(size, static_cast<char>('a' + i % 26))), 0,
                            [&answered] { answered = true; }) == Staged::accepted);
        loop.run_until([&answered] { return answered; });
    }
}

/// Why it does not start; the newest revision when it does.
inline std::string start(const std::string& folder) {
    PumpedLoop loop;
    try {
        const Store store(std::make_unique<RocksdbJournal>(folder, loop));
        return "at " + std::to_string(store.revision());
    } catch (const Error& error) {
        return error.what();
    }
}

inline bool says(const std::string& sentence, std::string_view words) {
    return sentence.find(words) != std::string::npos;
}

/// The names in a folder, in order.
inline std::string names_in(const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
        names.insert(entry.path().filename().string());
    return join(std::vector<std::string>(names.begin(), names.end()), " ");
}

/// Enough for several tables.
inline void fill_tables(const std::string& folder) {
    fill(folder, 0, 60, 300'000);
    REQUIRE(newest(folder, ".sst") != fs::path());
}

/// Refused, twice, in one sentence that says what to do; the repair keeps `kept` keys, and it
/// starts.
inline Repaired check_refused(const std::string& folder, std::string_view words,
                              std::size_t kept_min, std::size_t kept_max) {
    for (int i = 0; i < 2; ++i) {
        const std::string said = start(folder);
        CAPTURE(said);
        CHECK(says(said, words));
        CHECK(says(said, "muster store repair --accept-loss --data " +
                             fs::path(folder).parent_path().string() + "`"));
        CHECK(!says(said, "in use"));
        CHECK(!says(said, "\n"));
    }
    const Repaired repaired = repair_store(folder);
    CHECK(!repaired.was_whole);
    CHECK(repaired.objects >= kept_min);
    CHECK(repaired.objects <= kept_max);
    CHECK(repaired.revision >= 60 + revisions_skipped_by_repair);
    CHECK(fs::exists(repaired.damaged_copy));
    CHECK(start(folder) == "at " + std::to_string(repaired.revision));
    CHECK(repair_store(folder).was_whole);
    return repaired;
}

}  // namespace muster::store

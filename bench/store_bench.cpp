// bench/store_bench.cpp - durable writes, restarts and watchers of store/, beside the raw disk.
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "base/random.h"
#include "base/verify.h"
#include "bench/figures.h"
#include "store/memory_journal.h"
#include "store/pumped_loop.h"
#include "store/rocksdb_journal.h"
#include "store/store.h"

namespace muster::bench {
namespace {

namespace fs = std::filesystem;
using store::Store;

/// Looks like an object: words that repeat, numbers that do not.
std::string object_like(Random& random, std::size_t size) {
    std::string text;
    while (text.size() < size)
        text += R"({"name":"SETTING","value":")" + std::to_string(random.next()) + "\"},";
    text.resize(size);
    return text;
}

double resident_megabytes() {
    std::ifstream file("/proc/self/statm");
    double total = 0;
    double resident = 0;
    file >> total >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

/// What the disk itself gives this minute: appends of 5 KB, each synced.
void raw_disk(const Figures& figures, const std::string& folder) {
    const std::string name = folder + ".raw";
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    VERIFY(file >= 0);
    const std::string block(5'000, 'x');
    int writes = 0;
    const double start = wall_seconds();
    while (wall_seconds() - start < 1) {
        VERIFY(write(file, block.data(), block.size()) > 0);
        VERIFY(fdatasync(file) == 0);
        ++writes;
    }
    figures.report("raw disk: synced appends of 5 KB", writes / (wall_seconds() - start), "/s");
    close(file);
    fs::remove(name);
}

void durable_writes(const Figures& figures, const std::string& folder, int in_flight_max) {
    store::PumpedLoop loop;
    Store store(std::make_unique<store::RocksdbJournal>(folder, loop));
    Random random(1);
    int in_flight = 0;
    int writes = 0;
    const double start = wall_seconds();
    while (wall_seconds() - start < 2) {
        const std::string key = "/pods/default/pod-" + std::to_string(random.below(5'000));
        const store::Staged staged =
            store.stage(key, make_bytes(object_like(random, 5'000)), store.newest(key).revision,
                        [&in_flight] { --in_flight; });
        VERIFY(staged == store::Staged::accepted);
        ++in_flight;
        ++writes;
        loop.run_until([&] { return in_flight < in_flight_max; });
    }
    loop.run_until([&] { return in_flight == 0; });
    figures.report("store: durable writes of 5 KB, " + std::to_string(in_flight_max) + " in flight",
                   writes / (wall_seconds() - start), "/s");
}

void restart(const Figures& figures, const std::string& folder) {
    store::PumpedLoop loop;
    {
        Store store(std::make_unique<store::RocksdbJournal>(folder, loop));
        Random random(2);
        for (int i = 0; i < 22'000; ++i) {
            VERIFY(store.stage("/pods/default/pod-" + std::to_string(i),
                               make_bytes(object_like(random, 1'000)), 0,
                               {}) == store::Staged::accepted);
        }
    }
    const double before = resident_megabytes();
    const double start = wall_seconds();
    const Store store(std::make_unique<store::RocksdbJournal>(folder, loop));
    figures.report("store: restart with 22,000 objects of 1 KB", (wall_seconds() - start) * 1e3,
                   "ms");
    figures.report("store: memory for them", resident_megabytes() - before, "MB");
    VERIFY(store.count("") == 22'000);
}

void watchers(const Figures& figures) {
    Store store(std::make_unique<store::MemoryJournal>());
    long told = 0;
    for (int i = 0; i < 100; ++i)
        store.watch("/pods/", 0, [&told](const store::Change&) { ++told; });
    for (int i = 0; i < 1'000; ++i)
        store.watch("/pods/ns-" + std::to_string(i) + "/", 0, [](const store::Change&) {});
    const Bytes value = make_bytes(std::string(1'000, 'x'));
    store::Revision revision = 0;
    figures.report_cpu("store: a write in memory, 100 of 1,100 watchers", [&] {
        VERIFY(store.stage("/pods/default/a", value, revision, {}) == store::Staged::accepted);
        revision = store.revision();
    });
    VERIFY(told > 0);
}

}  // namespace

void bench_store(const Figures& figures, const std::string& folder) {
    raw_disk(figures, folder);
    for (const int in_flight : {1, 64, 512}) {
        fs::remove_all(folder);
        durable_writes(figures, folder, in_flight);
    }
    fs::remove_all(folder);
    restart(figures, folder);
    fs::remove_all(folder);
    watchers(figures);
}

}  // namespace muster::bench

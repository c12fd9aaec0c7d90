// store/rocksdb_journal.h - the journal on disk: a RocksDB database in the data folder.
#pragma once

#include <memory>
#include <string>

#include "base/loop.h"
#include "store/journal.h"

namespace muster::store {

/// The exit code of a process whose disk failed: nothing that was answered may be lost, so nothing
/// may be answered any more.
constexpr int disk_failure_exit_code = 74;

/// Writes on a thread of its own, all that waits in one synchronous write; `durable` runs on the
/// loop. Memory is spared: what is live is in the store's memory anyway.
class RocksdbJournal : public Journal {
public:
    /// Opens the folder, or makes it (for its owner only). Throws Error, with what to do, when it
    /// is in use, read-only, damaged, or not Muster's.
    RocksdbJournal(const std::string& folder, Loop& loop);
    /// Writes what waits; its `durable` calls are still posted.
    ~RocksdbJournal() override;

    std::int64_t load_all(const Load& load) override;
    void append(std::vector<Record> records, Durable durable) override;
    /// At most 20 ms old.
    Room room() override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace muster::store

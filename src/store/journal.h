// store/journal.h - the seam between the store and the disk: batches in, a call when they are
// durable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "store/room.h"

namespace muster::store {

/// No store counts further: beyond it numbers of JSON are not exact.
constexpr std::int64_t revision_max = std::int64_t{1} << 53;

/// One write on its way to disk. A null value removes the key.
struct Record {
    std::string key;
    Bytes value;
    std::int64_t revision = 0;
};

/// Where records become durable. Real one: store/rocksdb_journal.h. Simulated one: sim/ (crashes at
/// any point).
class Journal {
public:
    using Load = std::function<void(Record)>;
    using Durable = std::function<void()>;

    virtual ~Journal() = default;

    /// Calls `load` for each live key and returns the newest revision ever given out. Called once,
    /// first.
    virtual std::int64_t load_all(const Load& load) = 0;

    /// Makes the records durable together with what else is waiting (group commit), in order, all
    /// or nothing, then runs `durable` on the store's thread. On a disk failure the process ends.
    virtual void append(std::vector<Record> records, Durable durable) = 0;

    /// What the disk has room for, beside what is appended already. The caller heeds it: a disk
    /// that gets full all the same has failed.
    virtual Room room() { return Room::plenty; }
};

}  // namespace muster::store

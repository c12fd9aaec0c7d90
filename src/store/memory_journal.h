// store/memory_journal.h - a disk in memory, for tests and the simulator: it can lose what was not
// yet durable.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "store/journal.h"

namespace muster::store {

/// What is durable. Outlives the journals that write it, as a disk outlives a process.
struct MemoryDisk {
    std::map<std::string, Record> records;
    std::int64_t revision = 0;
    Room room = Room::plenty;
};

/// Writes become durable in a later task of the loop, or at once when there is no loop.
class MemoryJournal : public Journal {
public:
    explicit MemoryJournal(std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>(),
                           Loop* loop = nullptr)
        : disk_(std::move(disk)), loop_(loop) {}

    std::int64_t load_all(const Load& load) override;
    void append(std::vector<Record> records, Durable durable) override;
    Room room() override { return disk_->room; }

    /// What is not yet durable is lost, and nothing becomes durable any more.
    void crash() { *powered_ = false; }

private:
    std::shared_ptr<MemoryDisk> disk_;
    Loop* loop_;
    std::shared_ptr<bool> powered_ = std::make_shared<bool>(true);
};

}  // namespace muster::store

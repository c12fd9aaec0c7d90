// store/memory_journal.cpp - a disk in memory.
#include "store/memory_journal.h"

namespace muster::store {
namespace {

void write(MemoryDisk& disk, std::vector<Record> records) {
    for (Record& record : records) {
        disk.revision = record.revision;
        if (record.value) {
            disk.records[record.key] = std::move(record);
        } else {
            disk.records.erase(record.key);
        }
    }
}

}  // namespace

std::int64_t MemoryJournal::load_all(const Load& load) {
    for (const auto& [key, record] : disk_->records)
        load(record);
    return disk_->revision;
}

void MemoryJournal::append(std::vector<Record> records, Durable durable) {
    if (!loop_) {
        if (!*powered_) return;
        write(*disk_, std::move(records));
        durable();
        return;
    }
    loop_->post([disk = disk_, powered = powered_, records = std::move(records),
                 durable = std::move(durable)]() mutable {
        if (!*powered) return;
        write(*disk, std::move(records));
        durable();
    });
}

}  // namespace muster::store

// store/log_groups.h - the groups of writes that the database's logs hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/wal_filter.h>
#include <rocksdb/write_batch.h>

namespace muster::store {

/// What the keys are after some groups; absent: removed.
using Overlay = std::map<std::string, std::optional<std::string>, std::less<>>;

/// One record of a log: the revisions it gave out.
struct LogGroup {
    std::int64_t last = 0;
    std::int64_t count = 0;     // The revisions are last - count + 1 to last.
    bool sound = false;         // It names its newest revision.
    rocksdb::WriteBatch batch;  // Empty unless kept.
};

/// Reads the logs while a database opens, and keeps their writes out of it.
class LogGroups : public rocksdb::WalFilter {
public:
    /// Keys of "meta/" are kept always.
    explicit LogGroups(bool keep) : keep_(keep) {}

    const char* Name() const override { return "muster.LogGroups"; }
    WalProcessingOption LogRecordFound(unsigned long long log_number, const std::string& log,
                                       const rocksdb::WriteBatch& batch,
                                       rocksdb::WriteBatch* new_batch,
                                       bool* batch_changed) override;

    const std::vector<LogGroup>& all() const { return groups_; }
    const Overlay& settings() const { return settings_; }
    /// A record does not come after all writes of the one before it: it is there twice, or in the
    /// wrong order. The database would end the process while it opens.
    bool has_repeated_record() const { return has_repeated_record_; }

private:
    bool keep_;
    bool has_repeated_record_ = false;
    std::uint64_t next_number_ = 0;  // Of the database's own count of writes.
    std::vector<LogGroup> groups_;
    Overlay settings_;  // "meta/..." other than the revision.
};

/// Does a group's writes.
void lay_over(Overlay& overlay, const LogGroup& group);

}  // namespace muster::store

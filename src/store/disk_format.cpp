// store/disk_format.cpp - the options of the database.
#include "store/disk_format.h"

#include <algorithm>
#include <cstdarg>
#include <memory>

#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/table.h>

#include "base/bytes.h"
#include "store/data_folder.h"

namespace muster::store {
namespace {

rocksdb::CompressionType compression() {
    const auto supported = rocksdb::GetSupportedCompressions();
    for (const rocksdb::CompressionType type : {rocksdb::kZSTD, rocksdb::kSnappyCompression}) {
        if (std::find(supported.begin(), supported.end(), type) != supported.end()) return type;
    }
    return rocksdb::kNoCompression;
}

/// A reader leaves the folder as it is: also the file LOG of the one who writes.
class SilentLog : public rocksdb::Logger {
public:
    using rocksdb::Logger::Logv;
    void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

}  // namespace

Record record_of(const std::string& folder, const rocksdb::Slice& key,
                 const rocksdb::Slice& value) {
    if (value.size() < revision_size)
        refuse_folder(folder, explain_damage(folder, "a record without a revision"));
    return {std::string(key.data() + 1, key.size() - 1),
            make_bytes(std::string(value.data() + revision_size, value.size() - revision_size)),
            revision_of(value)};
}

rocksdb::Options database_options() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = compression();
    // Twice as many as usual: putting files together costs more than the few reads ever give back.
    options.level0_file_num_compaction_trigger = 8;
    options.write_buffer_size = 4 << 20;
    options.max_write_buffer_number = 2;
    options.db_write_buffer_size = 8 << 20;
    options.max_total_wal_size = 32 << 20;
    options.avoid_flush_during_recovery = true;
    options.max_open_files = 64;
    options.max_background_jobs = 2;
    options.stats_dump_period_sec = 0;
    options.stats_persist_period_sec = 0;
    options.keep_log_file_num = 2;
    options.max_log_file_size = 1 << 20;
    options.info_log_level = rocksdb::WARN_LEVEL;
    rocksdb::BlockBasedTableOptions table;
    table.no_block_cache = true;
    table.block_size = 32 << 10;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

rocksdb::Options read_only_options() {
    rocksdb::Options options = database_options();
    options.create_if_missing = false;
    options.max_open_files = -1;  // All at once: what the writer removes later stays readable.
    options.info_log = std::make_shared<SilentLog>();
    return options;
}

}  // namespace muster::store

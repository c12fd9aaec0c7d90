// store/rocksdb_journal.cpp - group commits into RocksDB, and reading them back.
#include "store/rocksdb_journal.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/pace.h"
#include "store/data_folder.h"

namespace muster::store {
namespace {

// On disk. Keys: "r" + the record's key; "meta/..." for the rest. Values of records: the revision,
// 8 bytes, little endian, then the bytes. Do not change without a new format.
constexpr char record_prefix = 'r';
constexpr const char* format_key = "meta/format";
constexpr const char* format = "muster store 1";
constexpr const char* revision_key = "meta/revision";
constexpr std::size_t revision_size = sizeof(std::int64_t);

// One write is at most about this large, so that a burst does not need its size twice.
constexpr std::size_t batch_bytes_max = 4 << 20;
// In a burst so many writes are as quick as the disk, then there is one each span.
constexpr int writes_at_once = 16;
constexpr Duration write_span = milliseconds(2);

void put_revision(std::string& out, std::int64_t revision) {
    char bytes[revision_size];
    std::memcpy(bytes, &revision, revision_size);
    out.assign(bytes, revision_size);
}

std::int64_t revision_of(const rocksdb::Slice& value) {
    std::int64_t revision = 0;
    std::memcpy(&revision, value.data(), revision_size);
    return revision;
}

rocksdb::CompressionType compression() {
    const auto supported = rocksdb::GetSupportedCompressions();
    for (const rocksdb::CompressionType type : {rocksdb::kZSTD, rocksdb::kSnappyCompression}) {
        if (std::find(supported.begin(), supported.end(), type) != supported.end()) return type;
    }
    return rocksdb::kNoCompression;
}

/// Small: the state is in memory, the database is only written, and read once.
rocksdb::Options options() {
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

[[noreturn]] void refuse(const std::string& folder, const std::string& why) {
    throw Error(Reason::service_unavailable, "data folder " + folder + ": " + why);
}

}  // namespace

struct RocksdbJournal::State {
    struct Write {
        std::vector<Record> records;
        Durable durable;
    };

    State(std::string opened_folder, Loop& store_loop)
        : folder(std::move(opened_folder)), loop(store_loop) {}

    void open();
    void run();
    void rest();
    void commit(rocksdb::WriteBatch& batch, std::int64_t revision);
    void must(const rocksdb::Status& status) const;

    std::string folder;
    Loop& loop;
    std::unique_ptr<rocksdb::DB> database;
    Mailbox<Write> mailbox;
    Pace pace{write_span, writes_at_once};
    std::thread writer;
};

void RocksdbJournal::State::open() {
    prepare_data_folder(folder);
    rocksdb::DB* opened = nullptr;
    rocksdb::Status status = rocksdb::DB::Open(options(), folder, &opened);
    database.reset(opened);
    if (!status.ok()) refuse(folder, explain_disk_fault(folder, status.ToString()));

    std::string found;
    status = database->Get({}, format_key, &found);
    if (status.IsNotFound()) {
        const std::unique_ptr<rocksdb::Iterator> any(database->NewIterator({}));
        any->SeekToFirst();
        if (any->Valid())
            refuse(folder, "its database is not Muster's; name a new or empty folder with --data");
        rocksdb::WriteOptions durably;
        durably.sync = true;
        status = database->Put(durably, format_key, format);
        found = format;
    }
    if (!status.ok()) refuse(folder, explain_disk_fault(folder, status.ToString()));
    if (found != format)
        refuse(folder, "it was written in the format \"" + found +
                           "\", which this Muster does not read; use the Muster that wrote it");
}

/// The writer's thread: whatever came while the last write was under way goes into the next.
void RocksdbJournal::State::run() {
    for (;;) {
        std::vector<Write> writes = mailbox.take_all();
        if (writes.empty()) return;
        std::size_t next = 0;
        while (next < writes.size()) {
            rocksdb::WriteBatch batch;
            std::vector<Durable> done;
            std::int64_t revision = 0;
            for (; next < writes.size() && batch.GetDataSize() < batch_bytes_max; ++next) {
                for (const Record& record : writes[next].records) {
                    const std::string key = record_prefix + record.key;
                    revision = record.revision;
                    std::string revision_bytes;
                    put_revision(revision_bytes, revision);
                    if (record.value) {
                        const rocksdb::Slice name(key);
                        const rocksdb::Slice parts[] = {revision_bytes, *record.value};
                        must(batch.Put(rocksdb::SliceParts(&name, 1),
                                       rocksdb::SliceParts(parts, 2)));
                    } else {
                        must(batch.Delete(key));
                    }
                }
                done.push_back(std::move(writes[next].durable));
            }
            commit(batch, revision);
            const bool burst = done.size() > 1;
            loop.post([done = std::move(done)] {
                for (const Durable& durable : done)
                    durable();
            });
            if (burst) rest();
        }
    }
}

/// Several write at once: who comes within a moment shares the next write, which costs the disk,
/// and those who hear of it, as much for one as for many. One who writes alone is never slowed.
void RocksdbJournal::State::rest() {
    rocksdb::Env& machine = *rocksdb::Env::Default();
    const Duration pause = pace.take(nanoseconds(static_cast<std::int64_t>(machine.NowNanos())));
    if (pause.nanoseconds > 0)
        machine.SleepForMicroseconds(static_cast<int>(pause.nanoseconds / 1000));
}

void RocksdbJournal::State::commit(rocksdb::WriteBatch& batch, std::int64_t revision) {
    std::string revision_bytes;
    put_revision(revision_bytes, revision);
    must(batch.Put(revision_key, revision_bytes));
    rocksdb::WriteOptions durably;
    durably.sync = true;
    must(database->Write(durably, &batch));
}

void RocksdbJournal::State::must(const rocksdb::Status& status) const {
    if (status.ok()) return;
    // After a failed fsync nobody knows what is on disk: only a restart does.
    log_error("store", "data folder " + folder + ": a write failed, so Muster stops: " +
                           explain_disk_fault(folder, status.ToString()));
    std::_Exit(disk_failure_exit_code);
}

RocksdbJournal::RocksdbJournal(const std::string& folder, Loop& loop)
    : state_(std::make_unique<State>(folder, loop)) {
    state_->open();
    state_->writer = std::thread([state = state_.get()] { state->run(); });
}

RocksdbJournal::~RocksdbJournal() {
    state_->mailbox.close();
    if (state_->writer.joinable()) state_->writer.join();
}

std::int64_t RocksdbJournal::load_all(const Load& load) {
    rocksdb::ReadOptions reading;
    reading.fill_cache = false;
    reading.readahead_size = 2 << 20;
    const std::unique_ptr<rocksdb::Iterator> at(state_->database->NewIterator(reading));
    const auto damaged = [&](const std::string& what) {
        refuse(state_->folder, explain_disk_fault(state_->folder, "Corruption: " + what));
    };
    for (at->Seek(rocksdb::Slice(&record_prefix, 1));
         at->Valid() && at->key().starts_with(rocksdb::Slice(&record_prefix, 1)); at->Next()) {
        const rocksdb::Slice value = at->value();
        if (value.size() < revision_size) damaged("a record without a revision");
        load({std::string(at->key().data() + 1, at->key().size() - 1),
              make_bytes(std::string(value.data() + revision_size, value.size() - revision_size)),
              revision_of(value)});
    }
    if (!at->status().ok())
        refuse(state_->folder, explain_disk_fault(state_->folder, at->status().ToString()));
    std::string newest;
    const rocksdb::Status status = state_->database->Get(reading, revision_key, &newest);
    if (status.IsNotFound()) return 0;
    if (!status.ok()) refuse(state_->folder, explain_disk_fault(state_->folder, status.ToString()));
    if (newest.size() != revision_size) damaged("the newest revision");
    return revision_of(newest);
}

void RocksdbJournal::append(std::vector<Record> records, Durable durable) {
    state_->mailbox.put({std::move(records), std::move(durable)});
}

}  // namespace muster::store

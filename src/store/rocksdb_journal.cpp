// store/rocksdb_journal.cpp - group commits into RocksDB, and reading them back.
#include "store/rocksdb_journal.h"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/pace.h"
#include "store/answered_file.h"
#include "store/data_folder.h"
#include "store/disk_format.h"
#include "store/disk_room.h"
#include "store/read_only_view.h"

namespace muster::store {
namespace {

// One write is at most about this large, so that a burst does not need its size twice.
constexpr std::size_t batch_bytes_max = 4 << 20;
// What a record takes beside its key and value, about.
constexpr std::size_t bytes_a_record = 128;
// In a burst so many writes are as quick as the disk, then there is one each span.
constexpr int writes_at_once = 16;
constexpr Duration write_span = milliseconds(2);

/// What was read back after a kill may be in the kernel's memory only, and is served from now on.
void sync_logs(const std::string& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".log") continue;
        const int log = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
        const bool synced = log >= 0 && fdatasync(log) == 0;
        const int error = errno;
        if (log >= 0) close(log);
        if (!synced) refuse_folder(folder, explain_disk_fault(folder, error));
    }
}

}  // namespace

struct RocksdbJournal::State {
    struct Write {
        std::vector<Record> records;
        Durable durable;
        std::size_t size = 0;
    };

    State(std::string opened_folder, Loop& store_loop)
        : folder(std::move(opened_folder)), loop(store_loop), room(folder) {}

    void open();
    void run();
    void rest();
    void commit(rocksdb::WriteBatch& batch, std::int64_t revision);
    void mark();
    std::int64_t newest_revision() const;
    void must_open(const rocksdb::Status& status) const;
    void must(const rocksdb::Status& status) const;
    [[noreturn]] void fail(const std::string& why) const;

    std::string folder;
    Loop& loop;
    std::optional<FolderClaim> claim;
    std::unique_ptr<rocksdb::DB> database;
    std::optional<AnsweredFile> answered;
    DiskRoom room;
    Mailbox<Write> mailbox;
    Pace pace{write_span, writes_at_once};
    std::thread writer;
};

void RocksdbJournal::State::open() {
    prepare_data_folder(folder);
    const Verdict verdict = ReadOnlyView(folder, ReadOnlyView::Contents::judge_only).verdict();
    if (!verdict.sentence.empty()) throw Error(Reason::service_unavailable, verdict.sentence);
    claim.emplace(folder);
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(database_options(), folder, &opened);
    database.reset(opened);
    must_open(status);
    const std::int64_t revision = newest_revision();
    if (revision < verdict.readable)
        refuse_folder(folder, explain_early_end(folder, verdict.readable, revision));
    if (revision >= revision_max)
        refuse_folder(folder, "its newest revision is " + std::to_string(revision) +
                                  ", and no store counts beyond " + std::to_string(revision_max) +
                                  "; restore a backup");
    sync_logs(folder);
    answered.emplace(folder, revision,
                     [this](int error) { fail(explain_disk_fault(folder, error)); });
    mark();
}

/// What the folder is, and that it has a file ANSWERED from now on.
void RocksdbJournal::State::mark() {
    std::string found;
    const rocksdb::Status status = database->Get({}, answered_key, &found);
    if (status.ok()) return;
    if (!status.IsNotFound()) must_open(status);
    rocksdb::WriteBatch batch;
    must_open(batch.Put(format_key, format_text));
    must_open(batch.Put(answered_key, "1"));
    rocksdb::WriteOptions durably;
    durably.sync = true;
    must_open(database->Write(durably, &batch));
}

std::int64_t RocksdbJournal::State::newest_revision() const {
    std::string newest;
    const rocksdb::Status status = database->Get({}, revision_key, &newest);
    if (status.IsNotFound()) return 0;
    must_open(status);
    if (newest.size() != revision_size)
        refuse_folder(folder, explain_damage(folder, "the newest revision"));
    return revision_of(newest);
}

void RocksdbJournal::State::must_open(const rocksdb::Status& status) const {
    if (!status.ok()) refuse_folder(folder, explain_disk_fault(folder, status));
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
            std::size_t size = 0;
            for (; next < writes.size() && batch.GetDataSize() < batch_bytes_max; ++next) {
                for (const Record& record : writes[next].records) {
                    const std::string key = record_prefix + record.key;
                    revision = record.revision;
                    const std::string number = revision_bytes(revision);
                    if (record.value) {
                        const rocksdb::Slice name(key);
                        const rocksdb::Slice parts[] = {number, *record.value};
                        must(batch.Put(rocksdb::SliceParts(&name, 1),
                                       rocksdb::SliceParts(parts, 2)));
                    } else {
                        must(batch.Delete(key));
                    }
                }
                done.push_back(std::move(writes[next].durable));
                size += writes[next].size;
            }
            commit(batch, revision);
            answered->write(revision);
            room.was_written(size);
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
    must(batch.Put(revision_key, revision_bytes(revision)));
    rocksdb::WriteOptions durably;
    durably.sync = true;
    must(database->Write(durably, &batch));
}

void RocksdbJournal::State::must(const rocksdb::Status& status) const {
    if (!status.ok()) fail(explain_disk_fault(folder, status));
}

void RocksdbJournal::State::fail(const std::string& why) const {
    // After a failed fsync nobody knows what is on disk: only a restart does.
    log_error("store", "data folder " + folder + ": a write failed, so Muster stops: " + why);
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
    for (at->Seek(rocksdb::Slice(&record_prefix, 1));
         at->Valid() && at->key().starts_with(rocksdb::Slice(&record_prefix, 1)); at->Next()) {
        load(record_of(state_->folder, at->key(), at->value()));
    }
    state_->must_open(at->status());
    return state_->newest_revision();
}

void RocksdbJournal::append(std::vector<Record> records, Durable durable) {
    std::size_t size = 0;
    for (const Record& record : records)
        size += bytes_a_record + record.key.size() + (record.value ? record.value->size() : 0);
    state_->room.will_be_written(size);
    state_->mailbox.put({std::move(records), std::move(durable), size});
}

Room RocksdbJournal::room() {
    return state_->room.now();
}

}  // namespace muster::store

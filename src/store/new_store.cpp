// store/new_store.cpp - large unlogged batches, one flush, one rename.
#include "store/new_store.h"

#include <filesystem>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "store/answered_file.h"
#include "store/data_folder.h"
#include "store/disk_format.h"
#include "store/half_folder.h"

namespace muster::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t batch_bytes_max = 4 << 20;

}  // namespace

struct NewStore::State {
    explicit State(const std::string& place) : folder(place), half(place) {}

    void must(const rocksdb::Status& status) const {
        if (!status.ok()) refuse_folder(folder, explain_disk_fault(folder, status));
    }
    void write() {
        rocksdb::WriteOptions unlogged;
        unlogged.disableWAL = true;
        must(database->Write(unlogged, &batch));
        batch.Clear();
    }

    std::string folder;
    HalfFolder half;  // Before the database, which writes there.
    std::unique_ptr<rocksdb::DB> database;
    rocksdb::WriteBatch batch;
};

NewStore::NewStore(const std::string& folder) {
    std::error_code failed;
    if (fs::exists(folder, failed) && !(fs::is_directory(folder, failed) && fs::is_empty(folder)))
        refuse_folder(folder, "it is not empty; name a new or empty folder");
    state_ = std::make_unique<State>(folder);
    check_room(state_->half.path(), folder);
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::Open(database_options(), state_->half.path(), &opened);
    state_->database.reset(opened);
    state_->must(status);
}

NewStore::~NewStore() = default;

void NewStore::put(const Record& record) {
    const std::string key = record_prefix + record.key;
    const std::string number = revision_bytes(record.revision);
    const rocksdb::Slice name(key);
    const rocksdb::Slice parts[] = {number, *record.value};
    state_->must(state_->batch.Put(rocksdb::SliceParts(&name, 1), rocksdb::SliceParts(parts, 2)));
    if (state_->batch.GetDataSize() >= batch_bytes_max) state_->write();
}

void NewStore::finish(std::int64_t revision) {
    State& state = *state_;
    state.must(state.batch.Put(format_key, format_text));
    state.must(state.batch.Put(answered_key, "1"));
    state.must(state.batch.Put(revision_key, revision_bytes(revision)));
    state.write();
    state.must(state.database->Flush({}));
    state.must(state.database->Close());
    state.database = nullptr;
    {
        const AnsweredFile answered(state.half.path(), revision, [](int) {});
    }
    state.half.put();
}

}  // namespace muster::store

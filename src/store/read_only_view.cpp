// store/read_only_view.cpp - opens the database without its logs, reads those beside it, and
// compares both with what was answered.
#include "store/read_only_view.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/text.h"
#include "store/data_folder.h"
#include "store/disk_format.h"
#include "store/log_groups.h"
#include "store/plain_file.h"

namespace muster::store {
namespace {

namespace fs = std::filesystem;
using Kind = Verdict::Kind;

constexpr int looks_max = 100;
constexpr int between_looks_microseconds = 50'000;

/// Whether the system did not let a file be read that is there.
bool is_unreadable(const rocksdb::Status& status) {
    return status.IsIOError() && !status.IsPathNotFound();
}

std::string unreadable_sentence(const std::string& folder, const std::string& what) {
    return "data folder " + folder + ": " + explain_unreadable_file(what);
}

Verdict unreadable(const std::string& folder, const std::string& what) {
    Verdict verdict;
    verdict.kind = Kind::unreadable;
    verdict.sentence = unreadable_sentence(folder, what);
    return verdict;
}

std::string unreadable_database(const rocksdb::Status& status) {
    return "the database cannot be read (" + status.ToString() + ")";
}

Verdict damaged(const std::string& folder, const rocksdb::Status& status) {
    if (is_unreadable(status)) return unreadable(folder, unreadable_database(status));
    const std::string why = explain_disk_fault(folder, status);
    const bool is_damage = status.IsCorruption() || status.IsPathNotFound();
    Verdict verdict;
    verdict.kind = Kind::damaged;
    verdict.sentence =
        "data folder " + folder + ": " + (is_damage ? why : "the database cannot be read: " + why);
    return verdict;
}

/// The names, sizes and times of the files: as long as they are the same, nothing was written.
std::string state_of_files(const std::string& folder) {
    std::set<std::string> files;
    std::error_code failed;
    fs::directory_iterator entry(folder, failed);
    for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
        struct stat found {};
        const bool is_there = stat(entry->path().c_str(), &found) == 0;
        files.insert(entry->path().filename().string() + " " + std::to_string(is_there) + " " +
                     std::to_string(found.st_size) + " " + std::to_string(found.st_mtim.tv_sec) +
                     "." + std::to_string(found.st_mtim.tv_nsec));
    }
    return join(std::vector<std::string>(files.begin(), files.end()), "\n");
}

std::string loss_sentence(const std::string& folder, std::int64_t readable, std::int64_t answered) {
    return "data folder " + folder + ": writes that were answered are lost: revisions up to " +
           std::to_string(answered) +
           " were given out, and everything is there only up to revision " +
           std::to_string(readable) + " (a log is damaged, cut off or missing); " +
           what_to_do_about_loss(folder);
}

std::string no_proof_sentence(const std::string& folder, std::int64_t readable,
                              Answered::State state) {
    return "data folder " + folder + ": the file ANSWERED is " +
           (state == Answered::State::absent ? "missing" : "damaged") +
           ", so nothing proves that all answered writes are there (they can be read up to "
           "revision " +
           std::to_string(readable) + "); put that file back, or accept what is there with " +
           repair_command(folder);
}

}  // namespace

struct ReadOnlyView::State {
    State(std::string looked_at, Contents contents)
        : folder(std::move(looked_at)), keep(contents == Contents::keep) {}

    rocksdb::Status open();
    rocksdb::Status get(const char* key, std::string& value, bool& found) const;
    rocksdb::Status check_format();
    rocksdb::Status judge(const Answered& answered);
    void read_as_a_start_does();

    std::string folder;
    bool keep;
    Verdict verdict;
    std::unique_ptr<LogGroups> groups;  // Before the database, which refers to it.
    std::unique_ptr<rocksdb::DB> database;
    Overlay overlay;
};

rocksdb::Status ReadOnlyView::State::open() {
    database = nullptr;
    overlay.clear();
    groups = std::make_unique<LogGroups>(keep);
    rocksdb::Options options = read_only_options();
    options.wal_filter = groups.get();
    // What comes behind damage is read as well: it proves that the damage is not the end.
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, folder, &opened);
    database.reset(opened);
    return status;
}

/// A setting as the logs say, else as the tables do.
rocksdb::Status ReadOnlyView::State::get(const char* key, std::string& value, bool& found) const {
    const auto in_logs = groups->settings().find(key);
    found = true;
    if (in_logs != groups->settings().end() && in_logs->second) {
        value = *in_logs->second;
        return rocksdb::Status::OK();
    }
    const rocksdb::Status status = database->Get({}, key, &value);
    found = !status.IsNotFound();
    return found ? status : rocksdb::Status::OK();
}

/// A database of nobody is one that was made, and nothing was written to it yet.
rocksdb::Status ReadOnlyView::State::check_format() {
    std::string format;
    bool found = false;
    rocksdb::Status status = get(format_key, format, found);
    if (!status.ok() || (found && format == format_text)) return status;
    if (found) {
        verdict.kind = Kind::foreign;
        verdict.sentence = "data folder " + folder + ": it was written in the format \"" + format +
                           "\", which this Muster does not read; use the Muster that wrote it";
        return status;
    }
    const std::unique_ptr<rocksdb::Iterator> any(database->NewIterator({}));
    any->SeekToFirst();
    if (!any->status().ok()) return any->status();
    if (any->Valid()) {
        verdict.kind = Kind::foreign;
        verdict.sentence = "data folder " + folder +
                           ": its database is not Muster's; name a new or empty folder with --data";
    }
    return status;
}

rocksdb::Status ReadOnlyView::State::judge(const Answered& answered) {
    std::string newest;
    rocksdb::Status status = database->Get({}, revision_key, &newest);
    if (status.IsNotFound()) {
        newest = revision_bytes(0);
        status = rocksdb::Status::OK();
    }
    if (!status.ok()) return status;
    if (newest.size() != revision_size) return rocksdb::Status::Corruption("the newest revision");
    std::int64_t readable = revision_of(newest);
    std::int64_t given_out = answered.revision;
    bool has_gap = false;
    // A log is dropped when all of it is in the tables: none has what they have.
    const std::int64_t in_tables = readable;
    bool is_repeated = groups->has_repeated_record();
    for (const LogGroup& group : groups->all()) {
        has_gap = has_gap || !group.sound || group.last - group.count > readable;
        given_out = std::max(given_out, group.last);
        is_repeated = is_repeated || (group.sound && group.count > 0 && group.last <= in_tables);
        if (has_gap || (group.last <= readable && group.count > 0)) continue;
        if (keep) lay_over(overlay, group);
        readable = group.last;
    }
    std::string kept_since;
    bool keeps_answered = false;
    status = get(answered_key, kept_since, keeps_answered);
    if (!status.ok()) return status;
    const bool is_proof_missing = answered.state == Answered::State::damaged ||
                                  (answered.state == Answered::State::absent && keeps_answered);
    verdict.readable = readable;
    verdict.answered = given_out;
    if (has_gap || given_out > readable) {
        verdict.kind = Kind::loss;
        verdict.sentence = loss_sentence(folder, readable, given_out);
    } else if (is_repeated) {
        verdict.kind = Kind::repeated;
        verdict.sentence =
            "data folder " + folder + ": " +
            explain_damage(folder, "a record of a log is there twice, or out of its order");
    } else if (is_proof_missing) {
        verdict.kind = Kind::proof_missing;
        verdict.sentence = no_proof_sentence(folder, readable, answered.state);
    } else {
        verdict.kind = Kind::whole;
    }
    return status;
}

/// The view goes on behind damage. The database does not, and once it is opened for writing it
/// gives up what comes there.
void ReadOnlyView::State::read_as_a_start_does() {
    rocksdb::DB* opened = nullptr;
    rocksdb::Status status = rocksdb::DB::OpenForReadOnly(read_only_options(), folder, &opened);
    const std::unique_ptr<rocksdb::DB> own(opened);
    std::string newest;
    if (status.ok()) status = own->Get({}, revision_key, &newest);
    const bool is_new = status.IsNotFound();
    if (is_unreadable(status)) {
        verdict = damaged(folder, status);
        return;
    }
    std::string why;
    if (!status.ok() && !is_new) {
        why = explain_disk_fault(folder, status);
    } else {
        const std::int64_t read = newest.size() == revision_size ? revision_of(newest) : 0;
        if (read < verdict.readable) why = explain_early_end(folder, verdict.readable, read);
    }
    if (why.empty()) return;
    verdict.kind = Kind::repeated;
    verdict.sentence = "data folder " + folder + ": " + why;
}

ReadOnlyView::ReadOnlyView(const std::string& folder, Contents contents)
    : state_(std::make_unique<State>(folder, contents)) {
    for (int looks = 1; looks <= looks_max; ++looks) {
        const std::string before = state_of_files(folder);
        look();
        if (state_->verdict.kind == Kind::whole || state_of_files(folder) == before) return;
        rocksdb::Env::Default()->SleepForMicroseconds(between_looks_microseconds);
    }
    state_->verdict = unreadable(folder, "the database changes too quickly to be looked at");
}

ReadOnlyView::~ReadOnlyView() = default;

void ReadOnlyView::look() {
    State& state = *state_;
    state.verdict = {};
    if (const std::string what = find_unreadable(state.folder, false); !what.empty()) {
        state.verdict = unreadable(state.folder, what);
        return;
    }
    std::error_code failed;
    if (!fs::exists(fs::path(state.folder) / "CURRENT", failed)) {
        if (has_orphaned_files(state.folder)) {
            state.verdict =
                damaged(state.folder, rocksdb::Status::Corruption("the file CURRENT is missing"));
        }
        return;
    }
    // Before the database is read: what is answered meanwhile may be missing there.
    const Answered answered = read_answered(state.folder);
    if (answered.state == Answered::State::unreadable) {
        state.verdict.kind = Kind::unreadable;
        state.verdict.sentence =
            "data folder " + state.folder + ": " + explain_unreadable(answered);
        return;
    }
    rocksdb::Status status = state.open();
    if (status.ok()) status = state.check_format();
    if (status.ok() && state.verdict.kind != Kind::foreign) status = state.judge(answered);
    if (!status.ok()) state.verdict = damaged(state.folder, status);
    if (state.verdict.kind == Kind::whole) state.read_as_a_start_does();
}

const Verdict& ReadOnlyView::verdict() const {
    return state_->verdict;
}

void ReadOnlyView::each(const Journal::Load& load) const {
    const auto tell = [&](const rocksdb::Slice& key, const rocksdb::Slice& value) {
        load(record_of(state_->folder, key, value));
    };
    const rocksdb::Slice prefix(&record_prefix, 1);
    rocksdb::ReadOptions reading;
    reading.fill_cache = false;
    reading.readahead_size = 2 << 20;
    const std::unique_ptr<rocksdb::Iterator> at(state_->database->NewIterator(reading));
    at->Seek(prefix);
    auto over = state_->overlay.lower_bound(std::string_view(&record_prefix, 1));
    const auto is_over = [&] {
        return over != state_->overlay.end() && over->first.front() == record_prefix;
    };
    const auto is_in_tables = [&] { return at->Valid() && at->key().starts_with(prefix); };
    while (is_in_tables() || is_over()) {
        const int order = !is_over()        ? -1
                          : !is_in_tables() ? 1
                                            : at->key().compare(rocksdb::Slice(over->first));
        if (order < 0) {
            tell(at->key(), at->value());
        } else if (over->second) {
            tell(over->first, *over->second);
        }
        if (order <= 0) at->Next();
        if (order >= 0) ++over;
    }
    if (is_unreadable(at->status()))
        throw UnreadableError(
            Reason::service_unavailable,
            unreadable_sentence(state_->folder, unreadable_database(at->status())));
    if (!at->status().ok())
        refuse_folder(state_->folder, explain_disk_fault(state_->folder, at->status()));
}

bool ReadOnlyView::has_unknown_tables() const {
    if (!state_->database) return false;
    std::vector<rocksdb::LiveFileMetaData> tables;
    state_->database->GetLiveFilesMetaData(&tables);
    std::set<std::string, std::less<>> known;
    for (const rocksdb::LiveFileMetaData& table : tables)
        known.insert(fs::path(table.name).filename().string());
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(state_->folder, failed)) {
        if (entry.path().extension() == ".sst" &&
            !known.contains(entry.path().filename().string())) {
            return true;
        }
    }
    return false;
}

}  // namespace muster::store

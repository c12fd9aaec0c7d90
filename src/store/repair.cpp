// store/repair.cpp - reads what is sound; what cannot even be opened is rebuilt from its tables
// first.
#include "store/repair.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <rocksdb/db.h>

#include "base/error.h"
#include "base/verify.h"
#include "store/answered_file.h"
#include "store/data_folder.h"
#include "store/disk_format.h"
#include "store/half_folder.h"
#include "store/new_store.h"
#include "store/plain_file.h"
#include "store/read_only_view.h"

namespace muster::store {
namespace {

namespace fs = std::filesystem;
using Kind = Verdict::Kind;
using View = std::unique_ptr<ReadOnlyView>;

View look_at(const std::string& folder) {
    return std::make_unique<ReadOnlyView>(folder, ReadOnlyView::Contents::keep);
}

struct Counted {
    std::size_t records = 0;
    std::int64_t newest = 0;  // The highest revision of a record.
};

bool has_records(Kind kind) {
    return kind == Kind::whole || kind == Kind::loss || kind == Kind::repeated ||
           kind == Kind::proof_missing;
}

/// Absent when the records cannot be read, or not all; `fault` says why when a table is damaged.
/// Throws UnreadableError.
std::optional<Counted> count_of(const ReadOnlyView& view, std::string& fault) {
    if (!has_records(view.verdict().kind)) return std::nullopt;
    Counted counted;
    try {
        view.each([&counted](const Record& record) {
            ++counted.records;
            counted.newest = std::max(counted.newest, record.revision);
        });
    } catch (const UnreadableError&) {
        throw;
    } catch (const Error& error) {
        fault = error.what();
        return std::nullopt;
    }
    return counted;
}

/// A second folder with the same files, which the database may rebuild: it never changes a file
/// that is there, it only adds and removes names. Removed at the end.
class Rebuilt {
public:
    explicit Rebuilt(const std::string& folder) : half_(folder + ".rebuilt") {
        // The database would give up what it cannot read, for whatever reason.
        if (const std::string what = find_unreadable(folder, true); !what.empty())
            refuse_folder(folder, explain_unreadable_file(what));
        std::error_code failed;
        for (const auto& entry : fs::directory_iterator(folder)) {
            const std::string name = entry.path().filename().string();
            if (!entry.is_regular_file() || name == "LOCK" || name.starts_with("LOG")) continue;
            fs::create_hard_link(entry.path(), fs::path(path()) / name, failed);
            if (failed) fs::copy_file(entry.path(), fs::path(path()) / name, failed);
            if (failed) refuse_folder(folder, explain_disk_fault(folder, failed.value()));
        }
        check_room(path(), folder);
        rocksdb::Options options = database_options();
        options.info_log = read_only_options().info_log;
        const rocksdb::Status status = rocksdb::RepairDB(path(), options);
        if (status.IsNoSpace()) refuse_folder(folder, explain_disk_fault(folder, status));
        if (!status.ok()) {
            refuse_folder(folder, "nothing can be read of its database (" + status.ToString() +
                                      "); restore a backup");
        }
    }

    const std::string& path() const { return half_.path(); }

private:
    HalfFolder half_;
};

std::string free_name(const std::string& folder) {
    for (int i = 1;; ++i) {
        const std::string name = folder + ".damaged-" + std::to_string(i);
        std::error_code failed;
        const fs::file_type type = fs::symlink_status(name, failed).type();
        if (type == fs::file_type::not_found) return name;
        if (type == fs::file_type::none)
            refuse_folder(folder, explain_disk_fault(folder, failed.value()));
    }
}

/// The repaired store is in `kept`, and afterwards the damaged one is. At no moment there is no
/// folder: a start in between would make an empty one.
void put_in_place(const std::string& folder, const std::string& kept) {
    if (renameat2(AT_FDCWD, kept.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) != 0) {
        const int error = errno;
        refuse_folder(folder, "it is unchanged; the repaired one is " + kept +
                                  " and cannot be put in its place: " +
                                  explain_disk_fault(folder, error) + "; exchange both by hand");
    }
    if (!sync_folder(fs::path(folder).parent_path().string())) {
        const int error = errno;
        refuse_folder(folder, "it is repaired, and the damaged one is " + kept +
                                  ", but their names may not be on the disk: " +
                                  explain_disk_fault(folder, error));
    }
}

/// Above all that were given out.
std::int64_t revision_after(const std::string& folder, std::int64_t given_out) {
    if (given_out > revision_max - revisions_skipped_by_repair) {
        refuse_folder(folder, "its highest revision is " + std::to_string(given_out) +
                                  ", and there are none left to go on with; restore a backup");
    }
    return given_out + revisions_skipped_by_repair;
}

}  // namespace

Repaired repair_store(const std::string& folder) {
    if (is_in_use(folder)) prepare_data_folder(folder);  // It says who has it.
    Repaired done;
    View view = look_at(folder);
    const FolderClaim claim(folder);
    const Verdict verdict = view->verdict();
    done.fault = verdict.sentence;
    if (verdict.kind == Kind::empty)
        refuse_folder(folder, "there is no database; `muster up` makes one");
    if (verdict.kind == Kind::foreign) throw Error(Reason::invalid, verdict.sentence);
    const Answered answered = read_answered(folder);
    if (verdict.kind == Kind::unreadable)
        throw Error(Reason::service_unavailable, verdict.sentence);
    if (answered.state == Answered::State::unreadable)
        refuse_folder(folder, explain_unreadable(answered));
    std::optional<Counted> count = count_of(*view, done.fault);
    if (verdict.kind == Kind::whole && count) {
        done.was_whole = true;
        done.objects = count->records;
        done.readable = done.revision = verdict.readable;
        return done;
    }
    std::int64_t given_out = std::max(verdict.answered, answered.revision);
    std::optional<Rebuilt> rebuilt;
    if (!count || (verdict.kind == Kind::loss && view->has_unknown_tables())) {
        rebuilt.emplace(folder);
        View other = look_at(rebuilt->path());
        std::string ignored;
        const std::optional<Counted> found = count_of(*other, ignored);
        if (found && (!count || other->verdict().readable > verdict.readable)) {
            // A rebuild takes all tables that it finds, also those that no longer counted.
            done.lost_tables = true;
            count = found;
            view = std::move(other);
        } else if (!count) {
            refuse_folder(folder, "nothing can be read of its database; restore a backup");
        }
    }
    done.readable = view->verdict().readable;
    given_out = std::max({given_out, done.readable, view->verdict().answered, count->newest});
    done.revision = revision_after(folder, given_out);
    done.damaged_copy = free_name(folder);
    {
        NewStore target(done.damaged_copy);
        view->each([&](const Record& record) {
            ++done.objects;
            target.put(record);
        });
        target.finish(done.revision);
    }
    view = nullptr;
    put_in_place(folder, done.damaged_copy);
    return done;
}

Repaired replace_lost_store(const std::string& folder, std::int64_t revision) {
    VERIFY(!has_database(folder));
    if (is_in_use(folder)) prepare_data_folder(folder);  // It says who has it.
    const FolderClaim claim(folder);
    Repaired done;
    done.revision = revision;
    std::error_code failed;
    const bool is_free = !fs::exists(folder, failed) ||
                         (fs::is_directory(folder, failed) && fs::is_empty(folder, failed));
    if (!is_free) done.damaged_copy = free_name(folder);
    NewStore(is_free ? folder : done.damaged_copy).finish(revision);
    if (!is_free) put_in_place(folder, done.damaged_copy);
    return done;
}

}  // namespace muster::store

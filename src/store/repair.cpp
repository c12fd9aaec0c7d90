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
#include <sys/stat.h>

#include "base/error.h"
#include "store/data_folder.h"
#include "store/disk_format.h"
#include "store/new_store.h"
#include "store/read_only_view.h"

namespace muster::store {
namespace {

namespace fs = std::filesystem;
using Kind = Verdict::Kind;
using View = std::unique_ptr<ReadOnlyView>;

View look_at(const std::string& folder) {
    return std::make_unique<ReadOnlyView>(folder, ReadOnlyView::Contents::keep);
}

/// The number of records; absent when a table is damaged, and then `fault` says which.
std::optional<std::size_t> count_of(const ReadOnlyView& view, std::string& fault) {
    std::size_t count = 0;
    try {
        view.each([&count](const Record&) { ++count; });
    } catch (const Error& error) {
        fault = error.what();
        return std::nullopt;
    }
    return count;
}

/// A second folder with the same files, which the database may rebuild: it never changes a file
/// that is there, it only adds and removes names.
class Rebuilt {
public:
    explicit Rebuilt(const std::string& folder) : path_(folder + ".rebuilt") {
        std::error_code failed;
        fs::remove_all(path_, failed);
        if (mkdir(path_.c_str(), 0700) != 0)
            refuse_folder(folder, explain_disk_fault(folder, errno));
        for (const auto& entry : fs::directory_iterator(folder)) {
            const std::string name = entry.path().filename().string();
            if (!entry.is_regular_file() || name == "LOCK" || name.starts_with("LOG")) continue;
            fs::create_hard_link(entry.path(), fs::path(path_) / name, failed);
            if (failed) fs::copy_file(entry.path(), fs::path(path_) / name);
        }
        rocksdb::Options options = database_options();
        options.info_log = read_only_options().info_log;
        const rocksdb::Status status = rocksdb::RepairDB(path_, options);
        if (!status.ok()) {
            refuse_folder(folder, "nothing can be read of its database (" + status.ToString() +
                                      "); restore a backup");
        }
    }
    ~Rebuilt() {
        std::error_code failed;
        fs::remove_all(path_, failed);
    }
    Rebuilt(const Rebuilt&) = delete;
    Rebuilt& operator=(const Rebuilt&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

std::string free_name(const std::string& folder) {
    for (int i = 1;; ++i) {
        const std::string name = folder + ".damaged-" + std::to_string(i);
        std::error_code failed;
        if (!fs::exists(name, failed)) return name;
    }
}

/// At no moment there is no folder: a start in between would make an empty one.
void exchange(const std::string& folder, const std::string& repaired, const std::string& kept) {
    if (renameat2(AT_FDCWD, repaired.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) != 0 ||
        rename(repaired.c_str(), kept.c_str()) != 0) {
        const int error = errno;
        refuse_folder(folder, "the repaired folder " + repaired + " cannot be put in its place: " +
                                  explain_disk_fault(folder, error) + "; rename both by hand");
    }
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
    std::optional<std::size_t> count;
    if (verdict.kind != Kind::damaged) count = count_of(*view, done.fault);
    if (verdict.kind == Kind::whole && count) {
        done.was_whole = true;
        done.objects = *count;
        done.readable = done.revision = verdict.readable;
        return done;
    }
    std::int64_t given_out = std::max(verdict.answered, read_answered(folder).revision);
    std::optional<Rebuilt> rebuilt;
    if (!count || (verdict.kind == Kind::loss && view->has_unknown_tables())) {
        rebuilt.emplace(folder);
        View other = look_at(rebuilt->path());
        std::string ignored;
        const bool can_be_read =
            other->verdict().kind != Kind::damaged && count_of(*other, ignored);
        if (can_be_read && (!count || other->verdict().readable > verdict.readable)) {
            done.lost_tables = !count;
            view = std::move(other);
        } else if (!count) {
            refuse_folder(folder, "nothing can be read of its database; restore a backup");
        }
    }
    done.readable = view->verdict().readable;
    given_out = std::max({given_out, done.readable, view->verdict().answered});
    done.revision = given_out + revisions_skipped_by_repair;
    const std::string repaired = folder + ".repaired";
    std::error_code failed;
    fs::remove_all(repaired, failed);
    {
        NewStore target(repaired);
        view->each([&](const Record& record) {
            ++done.objects;
            target.put(record);
        });
        target.finish(done.revision);
    }
    view = nullptr;
    done.damaged_copy = free_name(folder);
    exchange(folder, repaired, done.damaged_copy);
    return done;
}

}  // namespace muster::store

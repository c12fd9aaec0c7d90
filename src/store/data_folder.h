// store/data_folder.h - the folder that holds the database: made, checked, and its faults
// explained.
#pragma once

#include <cstdint>
#include <string>

#include <rocksdb/status.h>

namespace muster::store {

/// Makes the folder when it is absent. Throws Error when it cannot be used: not a folder, not
/// writable, holds something else, has lost the file that names what the others are, or is in use
/// by another process, which is named.
void prepare_data_folder(const std::string& folder);

/// The database ends the process when the disk is full while it opens or is rebuilt: whether there
/// is room is asked before, with a file `room` in the folder `inside`. Throws Error that names
/// `folder`.
void check_room(const std::string& inside, const std::string& folder);

/// Whether a process, also this one, has the database open for writing.
bool is_in_use(const std::string& folder);

/// The names in the folder are on the disk from here on. False with errno when they may not be.
bool sync_folder(const std::string& folder);

/// A folder that this process has open. The database's own lock knows only other processes.
class FolderClaim {
public:
    /// Throws Error when this process has it already.
    explicit FolderClaim(const std::string& folder);
    ~FolderClaim();
    FolderClaim(const FolderClaim&) = delete;
    FolderClaim& operator=(const FolderClaim&) = delete;

private:
    std::string name_;
};

/// What a failure of the disk means for the one who runs Muster, and what to do: by its number.
std::string explain_disk_fault(const std::string& folder, int error);
/// The same of the database.
std::string explain_disk_fault(const std::string& folder, const rocksdb::Status& fault);
/// The same of something that was read and cannot be right.
std::string explain_damage(const std::string& folder, const std::string& what);

/// The same of a database that ends early in its own logs.
std::string explain_early_end(const std::string& folder, std::int64_t readable, std::int64_t read);

/// The command that keeps what can be read, as a shell takes it.
std::string repair_command(const std::string& folder);

/// What to do about a folder that has lost something.
std::string what_to_do_about_loss(const std::string& folder);

/// The one sentence that refuses a folder. Always throws.
[[noreturn]] void refuse_folder(const std::string& folder, const std::string& why);

/// Whether there is a database, sound or damaged, or may be one that cannot be seen.
bool has_database(const std::string& folder);

/// Whether files of a database are there that a folder without CURRENT cannot have by itself: a
/// process that ends while it makes a database leaves none of them.
bool has_orphaned_files(const std::string& folder);

}  // namespace muster::store

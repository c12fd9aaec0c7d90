// store/data_folder.cpp - checks of the data folder before the database is opened.
#include "store/data_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/shell_text.h"
#include "store/plain_file.h"

namespace muster::store {
namespace {

namespace fs = std::filesystem;

/// The folders that this process has open. One for the process, as the database's lock is: that is
/// the process's too, so a second opening would get it again, and closing any descriptor of the
/// file LOCK would let go of it. Guarded, as stores are opened and looked at on any thread.
struct Claims {
    std::mutex mutex;
    std::set<std::string, std::less<>> names;
};

Claims& claims() {
    static Claims all;
    return all;
}

std::string name_of(const std::string& folder) {
    std::error_code failed;
    const fs::path name = fs::weakly_canonical(folder, failed);
    return failed ? folder : name.string();
}

bool is_claimed(const std::string& folder) {
    const std::lock_guard lock(claims().mutex);
    return claims().names.contains(name_of(folder));
}

/// The process that holds a lock on the file; absent when none does. Not for a file that this
/// process has locked: closing it would let go of that lock.
std::optional<pid_t> holder_of(const std::string& lock_file) {
    const int file = open(lock_file.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return std::nullopt;
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool known = fcntl(file, F_GETLK, &lock) == 0;
    close(file);
    if (!known || lock.l_type == F_UNLCK) return std::nullopt;
    return lock.l_pid;
}

std::string name_of_process(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name.empty() ? "another program" : name;
}

[[noreturn]] void refuse_in_use(const std::string& folder, const std::string& whom) {
    refuse_folder(
        folder, "it is in use by " + whom + "; stop that one, or name another folder with --data");
}

void check_files(const std::string& folder) {
    std::error_code error;
    if (const std::string what = find_unreadable(folder, false); !what.empty())
        refuse_folder(folder, explain_unreadable_file(what));
    if (fs::exists(fs::path(folder) / "CURRENT", error)) return;
    if (has_orphaned_files(folder)) {
        refuse_folder(folder, explain_damage(folder, "the file CURRENT is missing"));
    }
    if (!fs::is_empty(folder, error) && !fs::exists(fs::path(folder) / "LOCK", error))
        refuse_folder(folder, "it holds other files; name a new or empty folder with --data");
}

}  // namespace

void refuse_folder(const std::string& folder, const std::string& why) {
    throw Error(Reason::service_unavailable, "data folder " + folder + ": " + why);
}

void check_room(const std::string& inside, const std::string& folder) {
    constexpr off_t needed = 1 << 20;
    const std::string path = inside + "/room";
    // One that a killed process has left. Its name goes, not what it may share with another name.
    if (PlainFile(path, O_RDONLY | O_NOFOLLOW).is_open()) unlink(path.c_str());
    const PlainFile file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (!file.is_open() && (file.error() == EINVAL || file.error() == EEXIST))
        refuse_folder(folder, "the file " + path + " cannot be made (" + file.problem() +
                                  "); remove what is there");
    const int error = file.is_open() ? posix_fallocate(file.descriptor(), 0, needed) : file.error();
    if (file.is_open()) unlink(path.c_str());
    if (error != 0) refuse_folder(folder, explain_disk_fault(folder, error));
}

void prepare_data_folder(const std::string& folder) {
    std::error_code error;
    if (!fs::exists(folder, error)) {
        fs::create_directories(fs::path(folder).parent_path(), error);
        if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
            refuse_folder(folder, explain_disk_fault(folder, errno));
    }
    if (!fs::is_directory(folder, error))
        refuse_folder(folder, "it is a file; name a folder with --data");
    if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
        refuse_folder(folder, explain_disk_fault(folder, errno));
    if (is_claimed(folder)) refuse_in_use(folder, "this process");
    if (const std::optional<pid_t> holder = holder_of(folder + "/LOCK")) {
        refuse_in_use(folder,
                      "process " + std::to_string(*holder) + " (" + name_of_process(*holder) + ")");
    }
    check_files(folder);
    check_room(folder, folder);
}

bool is_in_use(const std::string& folder) {
    return is_claimed(folder) || holder_of(folder + "/LOCK").has_value();
}

bool sync_folder(const std::string& folder) {
    const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = fd >= 0 && fsync(fd) == 0;
    const int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return synced;
}

FolderClaim::FolderClaim(const std::string& folder) : name_(name_of(folder)) {
    const std::lock_guard lock(claims().mutex);
    if (!claims().names.insert(name_).second) refuse_in_use(folder, "this process");
}

FolderClaim::~FolderClaim() {
    const std::lock_guard lock(claims().mutex);
    claims().names.erase(name_);
}

bool has_database(const std::string& folder) {
    struct stat found {};
    if (lstat((folder + "/CURRENT").c_str(), &found) == 0 || errno != ENOENT) return true;
    std::error_code failed;
    const fs::directory_iterator readable(folder, failed);
    return (failed && failed.value() != ENOENT) || has_orphaned_files(folder);
}

bool has_orphaned_files(const std::string& folder) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const fs::path path = entry.path();
        if (path.extension() == ".sst" || path.extension() == ".log" ||
            path.filename() == "ANSWERED") {
            return true;
        }
    }
    return false;
}

std::string explain_disk_fault(const std::string& folder, int error) {
    const std::string shown = std::strerror(error);
    switch (error) {
        case ENOSPC:
        case EDQUOT:
            return "the disk is full (" + shown + "); free some space on the disk of " + folder;
        case EROFS:
            return "the file system is read-only (" + shown +
                   "); name a writable folder with --data";
        case EACCES:
        case EPERM:
            return "it may not be written (" + shown +
                   "); give its owner the rights, or name another folder with --data";
        default:
            return shown;
    }
}

std::string explain_disk_fault(const std::string& folder, const rocksdb::Status& fault) {
    const std::string shown = fault.ToString();
    if (fault.IsCorruption() || fault.IsPathNotFound()) return explain_damage(folder, shown);
    if (fault.IsNoSpace()) return explain_disk_fault(folder, ENOSPC);
    // The database ends what the system said with its words for the number.
    for (const int error : {EDQUOT, EROFS, EACCES, EPERM}) {
        if (fault.IsIOError() && shown.ends_with(std::string(": ") + std::strerror(error)))
            return explain_disk_fault(folder, error);
    }
    return shown;
}

std::string explain_damage(const std::string& folder, const std::string& what) {
    return "the database is damaged (" + what + "); " + what_to_do_about_loss(folder);
}

std::string explain_early_end(const std::string& folder, std::int64_t readable, std::int64_t read) {
    return explain_damage(folder, "it was read up to revision " + std::to_string(readable) +
                                      ", then only up to " + std::to_string(read));
}

std::string repair_command(const std::string& folder) {
    return "`muster store repair --accept-loss --data " +
           shell_quoted(fs::path(folder).parent_path().string()) + "`";
}

std::string what_to_do_about_loss(const std::string& folder) {
    return "restore a backup, or start with what can still be read after " + repair_command(folder);
}

}  // namespace muster::store

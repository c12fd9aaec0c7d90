// store/data_folder.cpp - checks of the data folder before the database is opened.
#include "store/data_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace muster::store {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& folder, const std::string& why) {
    throw Error(Reason::service_unavailable, "data folder " + folder + ": " + why);
}

/// The process that holds a lock on the file; absent when none does.
std::optional<pid_t> holder_of(const std::string& lock_file) {
    const int file = open(lock_file.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool known = fcntl(file, F_GETLK, &lock) == 0;
    close(file);
    if (!known || lock.l_type == F_UNLCK) return std::nullopt;
    return lock.l_pid;
}

std::string name_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name.empty() ? "another program" : name;
}

/// The database ends the process when the disk is full while it opens: it is asked before.
void check_room(const std::string& folder) {
    constexpr off_t needed = 1 << 20;
    const std::string path = folder + "/room";
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int error = fd < 0 ? errno : posix_fallocate(fd, 0, needed);
    if (fd >= 0) close(fd);
    unlink(path.c_str());
    if (error != 0) refuse(folder, explain_disk_fault(folder, std::strerror(error)));
}

}  // namespace

void prepare_data_folder(const std::string& folder) {
    std::error_code error;
    if (!fs::exists(folder, error)) {
        fs::create_directories(fs::path(folder).parent_path(), error);
        if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
            refuse(folder, explain_disk_fault(folder, std::strerror(errno)));
    }
    if (!fs::is_directory(folder, error)) refuse(folder, "it is a file; name a folder with --data");
    if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
        refuse(folder, explain_disk_fault(folder, std::strerror(errno)));
    const bool has_database = fs::exists(fs::path(folder) / "CURRENT", error);
    const bool is_empty = fs::is_empty(folder, error);
    if (!has_database && !is_empty && !fs::exists(fs::path(folder) / "LOCK", error))
        refuse(folder, "it holds other files; name a new or empty folder with --data");
    if (const std::optional<pid_t> holder = holder_of(folder + "/LOCK")) {
        refuse(folder, "it is in use by process " + std::to_string(*holder) + " (" +
                           name_of(*holder) +
                           "); stop that one, or name another folder with --data");
    }
    check_room(folder);
}

std::string explain_disk_fault(const std::string& folder, std::string_view fault) {
    const auto speaks_of = [&](std::string_view words) {
        return fault.find(words) != std::string_view::npos;
    };
    const std::string shown(fault);
    if (speaks_of("No space left") || speaks_of("quota exceeded"))
        return "the disk is full (" + shown + "); free some space on the disk of " + folder;
    if (speaks_of("Read-only file system"))
        return "the file system is read-only (" + shown + "); name a writable folder with --data";
    if (speaks_of("Permission denied"))
        return "it may not be written (" + shown +
               "); give its owner the rights, or name another folder with --data";
    if (speaks_of("lock"))
        return "it is in use by another Muster (" + shown +
               "); stop that one, or name another folder with --data";
    if (speaks_of("Corruption"))
        return "the database is damaged (" + shown +
               "); restore the folder from a copy, or start with an empty one";
    return shown;
}

}  // namespace muster::store

// apps/up/data_directory.cpp - makes, checks and locks the data folder, and keeps the keys in it.
#include "apps/up/data_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace muster::up {
namespace {

/// Its presence says that a folder is ours.
constexpr const char* marker = "muster-data";
constexpr const char* lock_name = "lock";
constexpr const char* marker_text = "This folder holds the state of Muster. Format 1.\n";
constexpr Duration server_valid = hours(24 * 3650);
constexpr Duration client_valid = hours(24 * 365);
constexpr Duration renewed_before = hours(24 * 90);

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::invalid, text);
}

std::string reason() {
    return std::strerror(errno);
}

/// A folder that was there keeps its rights: it may be another program's.
void make_private_folder(const std::string& path) {
    std::error_code failed;
    const bool made = std::filesystem::create_directories(path, failed);
    if (failed) refuse("cannot make the folder " + path + ": " + failed.message());
    if (made) chmod(path.c_str(), 0700);
}

/// Root of a user namespace takes files of the machine's root for a stranger's.
bool is_root_of_machine() {
    std::ifstream map("/proc/self/uid_map");
    std::int64_t inside = -1;
    std::int64_t outside = -1;
    std::int64_t count = 0;
    map >> inside >> outside >> count;
    return inside == 0 && outside == 0 && count == 4'294'967'295;
}

/// Who owns the folder, or one above it, or may write there, could put another one with other keys
/// in its place. Asked of what is there of the path, links followed; of those above when we are
/// root.
void check_owners(const std::string& path, uid_t us) {
    std::error_code failed;
    std::filesystem::path folder = std::filesystem::weakly_canonical(path, failed);
    if (failed) refuse("cannot use the folder " + path + ": " + failed.message());
    const bool looks_above = us == 0 && is_root_of_machine();
    for (bool is_above = false; looks_above || !is_above; is_above = true) {
        struct stat found {};
        const bool there = stat(folder.c_str(), &found) == 0;
        const std::string name = folder.string();
        // Root can do everything anyway.
        if (there && found.st_uid != us && found.st_uid != 0) {
            refuse("the data folder " + path + " is not safe: " + name + " belongs to user " +
                   std::to_string(found.st_uid) +
                   ", who could exchange the keys in it; choose another folder with --data, or "
                   "take this one with chown");
        }
        const bool open_to_others = (found.st_mode & (S_IWGRP | S_IWOTH)) != 0;
        if (there && is_above && open_to_others && (found.st_mode & S_ISVTX) == 0) {
            refuse("the data folder " + path + " is not safe: others may write to " + name +
                   ", and so exchange it; choose another folder with --data, or take that right "
                   "away with chmod go-w " +
                   name);
        }
        if (folder == folder.root_path()) return;
        folder = folder.parent_path();
    }
}

std::string absolute(const std::string& path) {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(path, failed).lexically_normal();
    if (failed) refuse("cannot use the folder " + path + ": " + failed.message());
    std::string text = whole.string();
    while (text.size() > 1 && text.ends_with('/'))
        text.pop_back();
    return text;
}

int lock(const std::string& folder) {
    const std::string path = folder + "/" + lock_name;
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) refuse("cannot write to the data folder " + folder + ": " + reason());
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    close(fd);
    refuse("the data folder " + folder +
           " is in use by another Muster; stop that one, or choose another folder with --data");
}

net::KeyPair read_pair(const std::string& base) {
    if (!file_exists(base + ".crt") || !file_exists(base + ".key")) return {};
    return {read_file(base + ".crt"), read_file(base + ".key")};
}

void write_pair(const std::string& base, const net::KeyPair& pair) {
    write_secret_file(base + ".key", pair.key_pem);
    write_secret_file(base + ".crt", pair.certificate_pem);
}

}  // namespace

std::string usual_data_directory() {
    if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state == '/')
        return std::string(state) + "/muster";
    const char* home = std::getenv("HOME");
    if (!home || *home == '\0') {
        const passwd* user = getpwuid(getuid());
        home = user ? user->pw_dir : "/tmp";
    }
    return std::string(home) + "/.local/state/muster";
}

bool file_exists(const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
}

std::string read_file(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw Error(Reason::not_found, "cannot read " + path + ": " + reason());
    std::string text;
    char buffer[8192];
    ssize_t got = 0;
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(got));
    const int error = errno;
    close(fd);
    if (got < 0) throw Error(Reason::invalid, "cannot read " + path + ": " + std::strerror(error));
    return text;
}

void write_secret_file(const std::string& path, const std::string& text) {
    const std::string half = path + ".new";
    unlink(half.c_str());
    const int fd = open(half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) refuse("cannot write " + path + ": " + reason());
    std::size_t written = 0;
    while (written < text.size()) {
        const auto step = write(fd, text.data() + written, text.size() - written);
        if (step < 0) break;
        written += static_cast<std::size_t>(step);
    }
    const bool good = written == text.size() && fsync(fd) == 0;
    const int error = errno;
    close(fd);
    if (!good) refuse("cannot write " + path + ": " + std::strerror(error));
    if (rename(half.c_str(), path.c_str()) != 0) refuse("cannot write " + path + ": " + reason());
}

DataDirectory::DataDirectory(const std::string& path) : path_(absolute(path)) {
    check_owners(path_, geteuid());
    was_there_ = file_exists(path_);
    make_private_folder(path_);
    check_owners(path_, geteuid());  // It is made now, and nobody came between.
    const std::string mark = path_ + "/" + marker;
    if (!file_exists(mark)) {
        std::error_code failed;
        if (!std::filesystem::is_empty(path_, failed) && !failed)
            refuse("the folder " + path_ +
                   " is not empty and not a data folder of Muster; choose another one with --data");
        chmod(path_.c_str(), 0700);  // Empty, and ours from here on.
        write_secret_file(mark, marker_text);
    } else if (read_file(mark) != marker_text) {
        refuse("the data folder " + path_ +
               " was written by another version of Muster; choose "
               "another one with --data");
    }
    lock_fd_ = lock(path_);
}

DataDirectory::~DataDirectory() {
    close(lock_fd_);
}

void DataDirectory::remove_if_empty() const {
    namespace fs = std::filesystem;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(path_, failed)) {
        const std::string name = entry.path().filename().string();
        if (name != marker && name != lock_name) return;
    }
    if (failed) return;
    for (const char* name : {marker, lock_name})
        fs::remove(path_ + "/" + name, failed);
    if (!was_there_) fs::remove(path_, failed);
}

Keys load_keys(const DataDirectory& data, const net::Subject& server, Time now) {
    const std::string folder = data.path() + "/pki";
    make_private_folder(folder);
    Keys keys;
    keys.authority = read_pair(folder + "/ca");
    if (!net::is_intact(keys.authority, keys.authority.certificate_pem)) {
        if (!keys.authority.certificate_pem.empty())
            refuse("the certificate authority in " + folder +
                   " is damaged; restore ca.crt and ca.key, or remove both to get new ones");
        keys.authority = net::make_authority("muster-ca", now);
        write_pair(folder + "/ca", keys.authority);
    }
    keys.server = read_pair(folder + "/server");
    const std::string& authority_pem = keys.authority.certificate_pem;
    if (!net::still_serves(keys.server, authority_pem, server, now, renewed_before)) {
        keys.server = net::make_server_certificate(keys.authority, server, now, server_valid);
        write_pair(folder + "/server", keys.server);
    }
    net::Subject admin;
    admin.common_name = "kubernetes-admin";
    admin.organizations = {"system:masters"};
    keys.admin = read_pair(folder + "/admin");
    if (!net::still_serves(keys.admin, authority_pem, {}, now, renewed_before)) {
        keys.admin = net::make_client_certificate(keys.authority, admin, now, client_valid);
        write_pair(folder + "/admin", keys.admin);
    }
    const std::string signing = folder + "/service-accounts.key";
    if (!file_exists(signing)) write_secret_file(signing, net::make_signing_key());
    keys.token_signing_key = read_file(signing);
    return keys;
}

}  // namespace muster::up

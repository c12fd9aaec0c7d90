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
#include "store/data_folder.h"
#include "store/plain_file.h"

namespace muster::up {
namespace {

/// Its presence says that a folder is ours.
constexpr const char* marker = "muster-data";
constexpr const char* lock_name = "lock";
constexpr std::size_t state_file_bytes_max = 1 << 20;
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
    store::PlainFile file(path, O_RDWR | O_CREAT);
    if (!file.is_open() && file.error() == EINVAL)
        refuse("the data folder " + folder + ": its file " + lock_name + " cannot be opened (" +
               file.problem() + "); remove what is there");
    if (!file.is_open())
        refuse("cannot write to the data folder " + folder + ": " + file.problem());
    if (flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0) return file.release();
    refuse("the data folder " + folder +
           " is in use by another Muster; stop that one, or choose another folder with --data");
}

net::KeyPair read_pair(const std::string& base) {
    return {read_state_file(base + ".crt").value_or(""),
            read_state_file(base + ".key").value_or("")};
}

/// The authority; empty when there is none yet. Throws Error that says which part is missing.
net::KeyPair read_authority(const std::string& folder) {
    const auto certificate = read_state_file(folder + "/ca.crt");
    const auto key = read_state_file(folder + "/ca.key");
    if (!certificate && !key) return {};
    // The key alone is what an ended start leaves, before anything is signed with it.
    const bool has_signed =
        file_exists(folder + "/server.crt") || file_exists(folder + "/admin.crt");
    if (!certificate && !has_signed) return {};
    net::KeyPair authority{certificate.value_or(""), key.value_or("")};
    if (certificate && key && net::is_intact(authority, *certificate)) return authority;
    const std::string what = !certificate ? ": ca.crt is missing"
                             : !key       ? ": ca.key is missing"
                                          : "";
    refuse("the certificate authority in " + folder + " is damaged" + what +
           "; restore ca.crt and ca.key from a backup, or remove both to get new ones (then all "
           "kubeconfigs and certificates must be given out again)");
}

std::string read_signing_key(const std::string& path) {
    if (!file_exists(path)) write_secret_file(path, net::make_signing_key());
    std::string key = read_state_file(path).value_or("");
    if (net::is_signing_key(key)) return key;
    refuse("the file " + path +
           " is damaged: it is no private EC P-256 key; restore it from a backup, or remove it to "
           "get a new one (then all tokens of service accounts must be given out again)");
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

std::optional<std::string> read_state_file(const std::string& path) {
    const store::PlainFile file(path, O_RDONLY);
    if (!file.is_open() && file.error() == ENOENT) return std::nullopt;
    if (!file.is_open()) refuse("cannot read " + path + ": " + file.problem());
    std::string text;
    char buffer[8192];
    ssize_t got = 0;
    while ((got = read(file.descriptor(), buffer, sizeof buffer)) > 0) {
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > state_file_bytes_max)
            refuse("cannot read " + path + ": it is too large to be a file of Muster's");
    }
    if (got < 0) refuse("cannot read " + path + ": " + reason());
    return text;
}

std::string explain_lost_store(const std::string& data) {
    const std::string folder = absolute(data);
    const std::string store = folder + "/store";
    if (!file_exists(folder + "/" + marker) || store::has_database(store)) return "";
    // The folder `store` is made before the keys, and filled before the kubeconfig is written.
    const bool was_served = file_exists(folder + "/kubeconfig") ||
                            (!file_exists(store) && file_exists(folder + "/pki"));
    if (!was_served) return "";
    return "data folder " + folder + ": its objects are lost, as " + store + " is " +
           (file_exists(store) ? "empty" : "missing") +
           "; restore a backup, or start without any object after " + store::repair_command(store);
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
        make_private_folder(store_path());
    } else if (read_state_file(mark) != marker_text) {
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
        const bool is_ours = name == marker || name == lock_name;
        if (!is_ours && !(entry.path() == store_path() && fs::is_empty(entry.path(), failed)))
            return;
    }
    if (failed) return;
    for (const std::string& name : {std::string(marker), std::string(lock_name), store_path()})
        fs::remove(fs::path(path_) / name, failed);
    if (!was_there_) fs::remove(path_, failed);
}

Keys load_keys(const DataDirectory& data, const net::Subject& server, Time now) {
    const std::string folder = data.path() + "/pki";
    make_private_folder(folder);
    Keys keys;
    keys.authority = read_authority(folder);
    if (keys.authority.certificate_pem.empty()) {
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
    keys.token_signing_key = read_signing_key(folder + "/service-accounts.key");
    return keys;
}

}  // namespace muster::up

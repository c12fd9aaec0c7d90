// store/plain_file.cpp - asks for the kind of a file before and after it is opened.
#include "store/plain_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::store {
namespace {

namespace fs = std::filesystem;

std::string_view kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a named pipe";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISLNK(mode)) return "a symbolic link";
    return "a device";
}

enum class Look { kind, open, read };

/// How much of a file of this name must be readable. Never the file LOCK: closing it would let go
/// of a lock that this process holds.
Look look_of(const fs::path& name, bool reads_tables) {
    const std::string text = name.string();
    if (name.extension() == ".log" || text.starts_with("MANIFEST-") || text == "CURRENT")
        return Look::read;
    if (name.extension() == ".sst") return reads_tables ? Look::read : Look::open;
    return Look::kind;
}

/// Why it cannot be read to its end; empty when it can.
std::string read_problem(int descriptor) {
    std::array<char, 1 << 16> buffer{};
    for (;;) {
        const ssize_t got = read(descriptor, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::strerror(errno);
        if (got == 0) return "";
    }
}

std::string problem_of(const fs::path& path, Look look) {
    const std::string name = path.filename().string();
    const auto unreadable = [&name](const std::string& why) {
        return "the file " + name + " cannot be read (" + why + ")";
    };
    if (look == Look::kind) {
        struct stat found {};
        if (stat(path.c_str(), &found) != 0 || S_ISREG(found.st_mode)) return "";
        // The database has folders of its own, such as that of what a rebuild leaves out.
        const bool is_of_database =
            name == "LOCK" || name == "IDENTITY" || name.starts_with("OPTIONS-");
        if (!S_ISDIR(found.st_mode) || is_of_database)
            return unreadable("it is " + std::string(kind_of(found.st_mode)) + ", not a file");
        return "";
    }
    const PlainFile file(path.string(), O_RDONLY);
    if (!file.is_open()) return file.error() == ENOENT ? "" : unreadable(file.problem());
    if (look == Look::open) return "";
    const std::string why = read_problem(file.descriptor());
    return why.empty() ? "" : unreadable(why);
}

}  // namespace

PlainFile::PlainFile(const std::string& path, int flags) {
    struct stat found {};
    const int asked =
        (flags & O_NOFOLLOW) != 0 ? lstat(path.c_str(), &found) : stat(path.c_str(), &found);
    if (asked == 0 && !is_plain(found.st_mode)) return;
    descriptor_ = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (descriptor_ < 0) {
        error_ = errno;
        problem_ = std::strerror(error_);
    } else if (fstat(descriptor_, &found) != 0 || !is_plain(found.st_mode)) {
        close(release());
    }
}

PlainFile::~PlainFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

int PlainFile::release() {
    return std::exchange(descriptor_, -1);
}

bool PlainFile::is_plain(mode_t mode) {
    if (S_ISREG(mode)) return true;
    error_ = EINVAL;
    problem_ = "it is " + std::string(kind_of(mode)) + ", not a file";
    return false;
}

std::string find_unreadable(const std::string& folder, bool reads_tables) {
    std::error_code failed;
    fs::directory_iterator entry(folder, failed);
    for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
        const fs::path& path = entry->path();
        if (path.filename() == "ANSWERED") continue;
        std::string problem = problem_of(path, look_of(path.filename(), reads_tables));
        if (!problem.empty()) return problem;
    }
    if (failed && failed.value() != ENOENT)
        return "the folder cannot be read (" + failed.message() + ")";
    return "";
}

std::string explain_unreadable_file(const std::string& what) {
    return what + "; it may be sound: remove the cause, then try again";
}

}  // namespace muster::store

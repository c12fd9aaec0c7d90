// agent/files.cpp - see files.h.
#include "agent/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/descriptor.h"
#include "base/error.h"

namespace muster::agent {

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
    throw Error(Reason::internal_error,
                "cannot " + what + " " + path + ": " + std::strerror(errno));
}

void write_all(const Descriptor& fd, std::string_view content, const std::string& path) {
    while (!content.empty()) {
        const ssize_t wrote = ::write(fd.get(), content.data(), content.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) fail("write", path);
        content.remove_prefix(static_cast<std::size_t>(wrote));
    }
}

}  // namespace

std::string fault(const std::string& what) {
    return what + ": " + std::strerror(errno);
}

std::optional<std::string> read_file(const std::string& path) {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return std::nullopt;
    std::string content;
    char piece[16 << 10];
    for (;;) {
        const ssize_t got = ::read(fd.get(), piece, sizeof(piece));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) return content;
        content.append(piece, static_cast<std::size_t>(got));
    }
}

void write_file(const std::string& path, std::string_view content) {
    const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd) fail("open", path);
    write_all(fd, content, path);
}

namespace {

enum class Durably { no, yes };

void replace(const std::string& path, std::string_view content, mode_t mode, Durably durably) {
    const std::string fresh = path + ".new";
    {
        const Descriptor fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
        if (!fd) fail("open", fresh);
        ::fchmod(fd.get(), mode);
        write_all(fd, content, fresh);
        if (durably == Durably::yes && ::fsync(fd.get()) != 0) fail("write to the disk", fresh);
    }
    if (::rename(fresh.c_str(), path.c_str()) != 0) fail("replace", path);
    if (durably == Durably::no) return;
    const std::string above = path.substr(0, path.rfind('/'));
    const Descriptor folder(::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fsync(folder.get()) != 0) fail("write to the disk", above);
}

}  // namespace

void replace_file(const std::string& path, std::string_view content, mode_t mode) {
    replace(path, content, mode, Durably::no);
}

void replace_file_durably(const std::string& path, std::string_view content, mode_t mode) {
    replace(path, content, mode, Durably::yes);
}

void make_directories(const std::string& path, mode_t mode) {
    for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
        const std::string part = path.substr(0, at);
        if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST && errno != EROFS) {
            struct stat status {};
            if (::stat(part.c_str(), &status) != 0) fail("make the folder", part);
        }
        if (at == std::string::npos) break;
    }
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) fail("make the folder", path);
}

void remove_tree(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

}  // namespace muster::agent
